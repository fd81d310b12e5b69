//! 2 nodes x 8 GPUs. A low gang of 2 pods x 8 GPUs runs. A high gang of 2 pods x 8 GPUs waits with
//! `preemptionPolicy: Never`, and without it is bound in place of the low gang.

use conformance_check::preemption::EVICTED_BY_NEVER;

use super::{HIGH, LOW, NEVER, begin, submit, submit_and_bind, submit_and_wait, victim};
use crate::prelude::*;

marks! {
    RUNNING = "the low gang runs";
    WAITED = "the gang that never preempts has waited";
    BOUND = "the gang that preempts is bound";
}

const VICTIM: &str = "interruptible";
const NEVER_PREEMPTS: &str = "patient";

pub(crate) const CASE: Case = case!("A gang with preemptionPolicy Never evicts nobody", restored)
    .clauses(&[PRE_07])
    .nodes(&[nodes(2).gpus(8)])
    .isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    begin(test).await?;
    submit(test, VICTIM, &LOW).await?;
    test.until_converged(VICTIM).await?;
    test.mark(RUNNING, Value::Null);
    submit_and_wait(test, NEVER_PREEMPTS, &NEVER).await?;
    test.mark(WAITED, Value::Null);
    test.remove_set(NEVER_PREEMPTS).await?;
    submit_and_bind(test, "urgent", &HIGH).await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(PRE_07, || {
        let running = victim(history, VICTIM, RUNNING)?;
        history.at(WAITED, |waited| running.stays(waited, &EVICTED_BY_NEVER))?;
        // The eviction for the other gang proves that this scheduler preempts.
        history.reached(BOUND).map(drop)
    })]
}
