//! 3 nodes x 8 GPUs. A gang of low priority with 2 pods x 8 GPUs and a gang of high priority with 1 pod x 8
//! GPUs run. Another gang of high priority needs 3 pods x 8 GPUs: one short, even without the low gang. It
//! waits, and nobody is evicted. The same gang with 2 pods x 8 GPUs is bound in place of the low gang.

use conformance_check::preemption::EVICTED_WITHOUT_ROOM;

use super::{HIGH, LOW, begin, submit, submit_and_bind, submit_and_wait, victim};
use crate::prelude::*;

marks! {
    RUNNING = "the low gang and the high gang run";
    WAITED = "the gang that does not fit has waited";
    BOUND = "the gang that fits is bound";
}

const VICTIM: &str = "lower";
const PEER: &str = "peer";

pub(crate) const CASE: Case =
    case!("Nobody is evicted for a gang that would not fit afterwards either", restored)
        .clauses(&[PRE_03])
        .nodes(&[nodes(3).gpus(8)])
        .isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    begin(test).await?;
    submit(test, PEER, &HIGH).await?;
    submit(test, VICTIM, &LOW).await?;
    test.until_all_converged(&[PEER, VICTIM]).await?;
    test.mark(RUNNING, Value::Null);
    submit_and_wait(test, "too-large", &HIGH).await?;
    test.mark(WAITED, Value::Null);
    test.remove_set("too-large").await?;
    submit_and_bind(test, "fitting", &HIGH).await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(PRE_03, || {
        for running in [VICTIM, PEER] {
            let running = victim(history, running, RUNNING)?;
            history.at(WAITED, |waited| running.stays(waited, &EVICTED_WITHOUT_ROOM))?;
        }
        // The eviction for the gang that fits proves that this scheduler preempts.
        history.reached(BOUND).map(drop)
    })]
}
