//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs (minimum 2) loses one pod together with its node, for three
//! termination delays. A second gang of 2 pods, both required, has a termination delay of 10 s. One of its
//! pods crashes and recovers in time, then crashes permanently.

use std::time::Duration;

use super::{replica, requires_recreation};
use crate::prelude::*;

marks! {
    WAITED = "three delays after the loss";
    FOR_GOOD = "breached for good";
}

const CLIQUE: &str = "tolerates-loss-0-worker";
const RECOVERS: &str = "recovers-0-worker";
/// The delay is long enough that a pod recovers within it on a slow machine.
const LONG_DELAY: Duration = Duration::from_secs(10);

pub(crate) const CASE: Case = case!("A short breach or a loss above the minimum terminates no gang")
    .clauses(&[TERM_03])
    .nodes(&[nodes(3).gpus(8)])
    .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for set in ["tolerates-loss", "recovers"] {
        test.submit(set).await?;
    }
    test.until_converged("tolerates-loss").await?;
    test.until_started("recovers").await?;
    let pods = test.pods_of(RECOVERS);
    let first = pods.first().cloned().unwrap_or_default();
    test.set_pod_status(&first, Containers::Crashing).await?;
    test.until_breach_is("True", RECOVERS).await?;
    test.set_pod_status(&first, Containers::Ready).await?;
    test.until_breach_is("False", RECOVERS).await?;
    test.mark(FOR_GOOD, Value::Null);
    test.set_pod_status(&first, Containers::Crashing).await?;
    let clock = test.start_clock("2s").await?;
    let lost = test.pods_of(CLIQUE).first().cloned().unwrap_or_default();
    test.delete_pod_and_cordon_node(&lost).await?;
    test.run_clock(&clock, 3, WAITED).await?;
    test.until_recreated("recovers", TERM_02, &[RECOVERS], &pods, true).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TERM_03, || {
        let (tolerating, recovering) =
            (replica(history, "tolerates-loss", 0)?, replica(history, "recovers", 0)?);
        let held = history.upto(history.waited_for(SharedMark::Converged)?);
        for replica in [&tolerating, &recovering] {
            precondition(TERM_05, termination::times(&held, replica, &replica.scope(), 0))?;
        }
        requires_recreation(history, &recovering)?;
        let for_good = history.waited_for(FOR_GOOD)?;
        termination::times(&history.upto(for_good), &recovering, &recovering.scope(), 0)?;
        history.at(WAITED, |waited| {
            termination::times(&history.upto(waited), &tolerating, &tolerating.scope(), 0)?;
            termination::not_before_the_delay(history, &recovering, &recovering.scope(), LONG_DELAY)
        })
    })]
}
