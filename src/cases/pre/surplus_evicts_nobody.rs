//! 2 nodes x 8 GPUs. Two low gangs of 1 pod x 8 GPUs run. A high gang of 2 pods x 8 GPUs needs only 1, so one
//! low gang keeps its node. A high gang that needs both pods is bound in place of both.

use conformance_check::preemption::are_spared;

use super::{HIGH, LOW, begin, submit, submit_and_bind, victim};
use crate::prelude::*;

marks! {
    ARRIVED = "the gang with a surplus pod arrives";
    PASSED = "the scheduler has tried the surplus pod";
    BOUND = "the gang that needs both nodes is bound";
}

const VICTIMS: [&str; 2] = ["first", "second"];
const ELASTIC: &str = "elastic";
const CLIQUE: &str = "elastic-0-worker";

pub(crate) const CASE: Case = case!("A pod beyond the minimum of its gang evicts no other gang", restored)
    .clauses(&[PRE_08])
    .nodes(&[nodes(2).gpus(8)])
    .isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    begin(test).await?;
    for set in VICTIMS {
        submit(test, set, &LOW).await?;
    }
    test.until_all_converged(&VICTIMS).await?;
    test.mark(ARRIVED, Value::Null);
    submit_and_bind(test, ELASTIC, &HIGH).await?;
    let released = Awaited::demanded_by(GANG_07, "the surplus pod released to the scheduler");
    test.until(released, REACTION, |live| {
        pods_of(live, CLIQUE).filter(|pod| pod.gates().is_empty()).count() == 2
    })
    .await?;
    test.scheduler_passes().await?;
    test.mark(PASSED, Value::Null);
    test.remove_set(ELASTIC).await?;
    submit_and_bind(test, "rigid", &HIGH).await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(PRE_08, || {
        let [first, second] = VICTIMS;
        let victims = [victim(history, first, ARRIVED)?, victim(history, second, ARRIVED)?];
        history.at(PASSED, |passed| are_spared(&victims, 1, passed))?;
        // The evictions for the gang that needs both nodes prove that both low gangs can be evicted.
        history.reached(BOUND).map(drop)
    })]
}
