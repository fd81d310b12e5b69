//! 2 nodes x 8 GPUs; 2 replicas of a clique of 3 pods (minimum 2), and of a scaling group of 2 replicas of 2
//! pods (minimum 1), each pod with a GPU: 14 of 16. One pod of the first replica's clique has crashed and is
//! Ready again, another crashes. Then every template changes once.

use conformance_contract::ruling::{Finding, Ruling};
use conformance_driver::case::{Case, Need, nodes};
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits;
use conformance_driver::pod_health::Containers;
use conformance_history::{History, MarkName};
use conformance_judge::life::updates;
use conformance_judge::{all, finding, order};
use serde_json::Value;

const UPDATED: MarkName = MarkName::of_case("every pod is new");

const SET: &str = "tide";
const CLIQUE: &str = "tide-0-front";

pub(crate) const CASE: Case = Case::new(
    "An update replaces every pod in single steps and reports its progress correctly",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&[
    "UPD-02", "UPD-03", "UPD-04", "UPD-07", "UPD-08", "UPD-18", "UPD-27", "UPD-28", "UPD-29", "UPD-30",
    "UPD-31",
])
.nodes(&[nodes(2).gpus(8)])
.needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_converged(SET).await?;
    let front = test.pods_of(CLIQUE);
    for pod in front.iter().take(2) {
        test.pod_becomes(pod, Containers::Crashing).await?;
    }
    if let Some(recovered) = front.first() {
        test.pod_becomes(recovered, Containers::Recovered).await?;
    }
    // The third pod still runs, and the recovered one is Ready.
    test.until_ready_are_counted(CLIQUE, 2).await?;
    if test.revise(SET, "2").await? {
        test.until_updated(SET, "UPD-02").await?;
        let named = Awaited::demanded_by("UPD-31", "PodGangs that reference exactly the existing pods");
        test.until(named, limits::REACTION, |live| updates::misnamed(live, SET).is_none()).await?;
        test.caught_up().await?;
        test.mark(UPDATED, Value::Null);
    }
    Ok(())
}

/// A rule that applies at any time, regardless of how far the update came.
fn at_any_time(history: &History, ruling: impl FnOnce() -> Ruling) -> Ruling {
    updates::are_admitted(history)?;
    all([ruling(), history.reached(UPDATED).map(drop)])
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("UPD-02", || {
            updates::are_admitted(history)?;
            let updated = history.waited_for(UPDATED)?;
            updates::ended(&history.upto(updated), SET)?;
            history.reached(UPDATED).map(drop)
        }),
        finding("UPD-03", || at_any_time(history, || updates::one_replica_at_a_time(history, SET))),
        finding("UPD-04", || at_any_time(history, || updates::steps_do_not_overlap(history, SET))),
        finding("UPD-07", || at_any_time(history, || updates::gangs_stay(history, SET))),
        finding("UPD-08", || {
            at_any_time(history, || {
                order::no_pod_before_its_group(history)?;
                updates::replacements_are_members(history, SET)
            })
        }),
        finding("UPD-18", || at_any_time(history, || updates::progress_is_true(history, SET))),
        finding("UPD-27", || at_any_time(history, || updates::never_ended_early(history, SET))),
        finding("UPD-28", || at_any_time(history, || updates::lowest_goes_first(history, SET))),
        finding("UPD-29", || at_any_time(history, || updates::status_names_the_replica(history, SET))),
        finding("UPD-30", || at_any_time(history, || updates::minimum_stays(history, SET))),
        finding("UPD-31", || {
            at_any_time(history, || updates::references_follow_the_pods(history, SET))?;
            updates::names_what_there_is(&history.end(), SET)
        }),
    ]
}
