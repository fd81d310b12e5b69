//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs of which 2 are needed. One is lost with its node, for as long as three
//! termination delays. Then two crash and recover in time; then two crash and do not.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits::REACTION;
use conformance_driver::pod_health::{Containers, uncordoned};
use conformance_history::{History, MarkName, condition};
use conformance_judge::finding;
use conformance_judge::life::termination;
use serde_json::Value;

use super::{DELAY, replica};

/// Mark: the delay has run out three times since the loss.
const WAITED: MarkName = MarkName::of_case("three delays after the loss");
/// Mark: from here on nothing heals.
const FOR_GOOD: MarkName = MarkName::of_case("breached for good");

const SET: &str = "sturdy";
const CLIQUE: &str = "sturdy-0-worker";

/// TERM-03.
pub(crate) const CASE: Case = Case::new(
    "A loss beyond the minimum, or one that heals in time, recycles nothing; a later breach gets a whole delay",
    |test| Box::pin(uncordoned(test, |test| Box::pin(drive(test)))),
    judge,
)
.clauses(&["TERM-03"])
.nodes(&[nodes(3).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_converged(SET).await?;
    let clock = test.clock("2s").await?;
    let lost = test.pods_of(CLIQUE).first().cloned().unwrap_or_default();
    let node = test.lose_pod_and_room(&lost).await?;
    test.clock_runs(&clock, 3, WAITED).await?;
    test.cordon(&node, false).await?;
    test.until_bound(3).await?;
    test.until_converged(SET).await?;
    let pods = test.pods_of(CLIQUE);
    become_all(test, &pods[1..], Containers::Crashing).await?;
    until_said(test, "True").await?;
    become_all(test, &pods[1..], Containers::Ready).await?;
    until_said(test, "False").await?;
    test.mark(FOR_GOOD, Value::Null);
    become_all(test, &pods[1..], Containers::Crashing).await?;
    test.until_recycled("sturdy", "TERM-02", &[CLIQUE], &pods, true).await
}

async fn become_all(test: &TestContext, pods: &[String], containers: Containers) -> Result<(), Stop> {
    for pod in pods {
        test.pod_becomes(pod, containers).await?;
    }
    Ok(())
}

async fn until_said(test: &TestContext, status: &str) -> Result<(), Stop> {
    let awaited = Awaited::demanded_by("TERM-01", format!("MinAvailableBreached {status}"));
    test.until(awaited, REACTION, |live| {
        let said = live.get("PodClique", CLIQUE).and_then(|found| condition(found, "MinAvailableBreached"));
        said.is_some_and(|said| said["status"] == status)
    })
    .await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("TERM-03", || {
        let replica = replica(history, SET, 0)?;
        let for_good = history.waited_for(FOR_GOOD)?;
        termination::times(&history.upto(for_good), &replica, &replica.scope(), 0)?;
        termination::nothing_else_deleted(&history.upto(for_good), &replica)?;
        history.reached(WAITED)?;
        history.reached(FOR_GOOD)?;
        termination::after_the_delay(history, &replica, &replica.scope(), DELAY)?;
        termination::times(history, &replica, &replica.scope(), 1)
    })]
}
