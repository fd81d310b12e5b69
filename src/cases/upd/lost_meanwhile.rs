//! 1 node x 8 GPUs; 2 replicas of a clique of 2 pods x 1 GPU (minimum 1), and of a scaling group of 2
//! replicas of one pod without GPUs (minimum 1). Templates change. Once a pod of the first replica has been
//! replaced, a pod of the second's clique and one of its group are lost. Then they change, and again once a
//! pod has been replaced. Finally they change twice at once, and again once one replica is updated. Pods
//! created later than 5 s after a change must be new.

use conformance_contract::ruling::{Broken, Finding, Ruling};
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits;
use conformance_history::{History, MarkName, Pod, SharedMark};
use conformance_judge::life::health::is_ready;
use conformance_judge::life::updates::{self, is_of_revision};
use conformance_judge::{all, finding};
use serde_json::Value;

const REPLACED: MarkName = MarkName::of_case("the update with lost pods has ended");
const UPDATED: MarkName = MarkName::of_case("every pod is of the last template");

const SET: &str = "relay";
const CLIQUES: [&str; 2] = ["relay-0-runner", "relay-1-runner"];
const LOSERS: [&str; 2] = ["relay-1-runner", "relay-1-pair-1-mate"];

pub(crate) const CASE: Case = Case::new(
    "Pods lost during an update are replaced once; a second change takes effect",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["UPD-03", "UPD-04", "UPD-10", "UPD-15", "UPD-18", "UPD-29", "UPD-30"])
.nodes(&[nodes(1).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_converged(SET).await?;
    if !test.revise(SET, "2").await? {
        return Ok(());
    }
    until_begun(test, "2").await?;
    for clique in LOSERS {
        if let Some(lost) = test.pods_of(clique).first() {
            test.lose_pod(lost).await?;
        }
    }
    test.until_updated(SET, "UPD-15").await?;
    test.mark(REPLACED, Value::Null);
    test.revise(SET, "3").await?;
    until_begun(test, "3").await?;
    test.revise(SET, "4").await?;
    test.until_updated(SET, "UPD-10").await?;
    test.revise(SET, "5").await?;
    test.revise(SET, "6").await?;
    until_through(test, "6").await?;
    test.revise(SET, "7").await?;
    test.until_updated(SET, "UPD-10").await?;
    test.mark(UPDATED, Value::Null);
    Ok(())
}

async fn until_begun(test: &TestContext, revision: &str) -> Result<(), Stop> {
    let begun = Awaited::demanded_by("UPD-02", format!("a pod of revision {revision}"));
    test.until(begun, limits::SCHEDULING, |live| {
        live.pods().any(|pod| pod.pod_clique() == Some(CLIQUES[0]) && is_of_revision(pod, revision))
    })
    .await
}

async fn until_through(test: &TestContext, revision: &str) -> Result<(), Stop> {
    let through = Awaited::demanded_by("UPD-02", format!("a replica of revision {revision}"));
    test.until(through, limits::SCHEDULING, |live| {
        let is_new = |pod: &Pod<'_>| is_of_revision(*pod, revision) && is_ready(*pod);
        let new =
            |clique: &str| live.pods().filter(|pod| pod.pod_clique() == Some(clique)).filter(is_new).count();
        CLIQUES.iter().any(|clique| new(clique) == 2)
    })
    .await
}

/// A rule that applies at any time, regardless of how far the updates came.
fn at_any_time(history: &History, ruling: impl FnOnce() -> Ruling) -> Ruling {
    updates::are_admitted(history)?;
    all([ruling(), history.reached(UPDATED).map(drop)])
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("UPD-03", || at_any_time(history, || updates::one_replica_at_a_time(history, SET))),
        finding("UPD-04", || at_any_time(history, || updates::steps_do_not_overlap(history, SET))),
        finding("UPD-10", || {
            updates::are_admitted(history)?;
            history.reached(REPLACED)?;
            updates::made_later_is_new_or_restored(history, SET)?;
            let updated = history.waited_for(UPDATED)?;
            updates::through(&history.before(updated), SET)?;
            history.reached(UPDATED).map(drop)
        }),
        finding("UPD-15", || {
            updates::are_admitted(history)?;
            all([updates::only_old_is_taken(history, SET), updates::nothing_is_made_twice(history, SET)])?;
            history.reached(SharedMark::PodLost)?;
            updates::through(&history.before(history.waited_for(REPLACED)?), SET)?;
            history.reached(REPLACED).map(drop)?;
            match history.marks(SharedMark::PodLost).count() {
                lost if lost == LOSERS.len() => Ok(()),
                lost => Err(Broken::NotReached(format!("{lost} of {} pods were lost", LOSERS.len()))),
            }
        }),
        finding("UPD-18", || at_any_time(history, || updates::progress_is_true(history, SET))),
        finding("UPD-29", || at_any_time(history, || updates::status_names_the_replica(history, SET))),
        finding("UPD-30", || at_any_time(history, || updates::minimum_stays(history, SET))),
    ]
}
