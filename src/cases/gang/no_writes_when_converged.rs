//! 1 node; a PodCliqueSet of 2 replicas of 6 pods (base PodGang 3 + 1 surplus, scaled 2). 10 s without
//! changes.

use conformance_check::{audit, idle_writes};
use conformance_driver::limits::QUIET;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A converged workload changes no object for 10 s, without write attempts")
        .clauses(&[GANG_11])
        .nodes(&[nodes(1)]);

const SET: &str = "resting";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    test.wait_until_idle().await?;
    test.watch_while_idle(QUIET).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(GANG_11, || {
        let (at_rest, _) = history.reached(SharedMark::OperatorIdle)?;
        let (watched, _) = history.reached(SharedMark::IdlePeriodEnded)?;
        idle_writes::quiet(history, at_rest, watched)?;
        audit::nothing_requested(history, at_rest..watched)
    })]
}
