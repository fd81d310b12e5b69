//! 1 node x 8 GPUs; a gang of 2 pods x 8 GPUs waits for room, and of a gang of 2 that runs one pod crashes while a
//! termination delay of an hour has just begun: then 10 s in which nothing happens.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits::{QUIET, REACTION};
use conformance_driver::pod_health::Containers;
use conformance_history::{History, MarkName, SharedMark, condition};
use conformance_judge::finding;
use conformance_judge::life::conditions;
use serde_json::Value;

/// Mark: from here on there is nothing to do but to wait.
const WAITING: MarkName = MarkName::of_case("everything waits");

const RUNS: &str = "runs-out-0-worker";

/// STAT-08.
pub(crate) const CASE: Case = Case::new(
    "While a gang waits and a clock runs, conditions stay as they are and nothing is written again and again",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["STAT-08"])
.nodes(&[nodes(1).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("runs-out").await?;
    test.until_converged("runs-out").await?;
    for gang in test.submit("waits").await? {
        test.until_released(&gang).await?;
    }
    if let Some(pod) = test.pods_of(RUNS).first() {
        test.pod_becomes(pod, Containers::Crashing).await?;
    }
    test.until(Awaited::demanded_by("TERM-01", "the breach said"), REACTION, |live| {
        let said = live.get("PodClique", RUNS).and_then(|found| condition(found, "MinAvailableBreached"));
        said.is_some_and(|said| said["status"] == "True")
    })
    .await?;
    // A gang that waits is tried again and again, so there is no silence to wait for.
    test.canaries().await?;
    test.mark(WAITING, Value::Null);
    test.watch_rest(QUIET).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("STAT-08", || {
        conditions::transitions_are_true(history)?;
        conditions::facts_are_said_once(history)?;
        let (waiting, _) = history.reached(WAITING)?;
        let (watched, _) = history.reached(SharedMark::WatchedForRest)?;
        conditions::no_write_loops(history, waiting, watched)
    })]
}
