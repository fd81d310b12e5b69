//! 1 node; a gang of 2 pods, one of which crashes as soon as both run.

use super::{DELAY, replica};
use crate::prelude::*;

marks! { HANDLED = "early breach handled"; }

const CLIQUE: &str = "breached-early-0-worker";

pub(crate) const CASE: Case =
    case!("A gang breached as soon as it runs is terminated after terminationDelay")
        .clauses(&[TERM_02, TERM_22])
        .nodes(&[nodes(1)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge("breached-early").await?;
    let old = test.pods_of(CLIQUE);
    if let Some(pod) = old.first() {
        test.set_pod_status(pod, Containers::Crashing).await?;
    }
    test.until_recreated("breached-early", TERM_02, &[CLIQUE], &old, true).await?;
    test.mark(HANDLED, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TERM_02, || {
            let breached = replica(history, "breached-early", 0)?;
            precondition(TERM_22, termination::nothing_else_deleted(history, &breached))?;
            termination::after_the_delay(history, &breached, &breached.scope(), DELAY)?;
            termination::recreated_in_time(history, &breached, &breached.scope())?;
            history.reached(HANDLED)?;
            termination::times(history, &breached, &breached.scope(), 1)
        }),
        finding(TERM_22, || {
            let breached = replica(history, "breached-early", 0)?;
            termination::nothing_else_deleted(history, &breached)?;
            history.reached(HANDLED).map(drop)
        }),
    ]
}
