pub(crate) mod broken_then_repaired;
pub(crate) mod changed_before_first_status;
pub(crate) mod changed_during_update;
pub(crate) mod controller_rolled;
pub(crate) mod freed_capacity_taken;
pub(crate) mod never_ready;
pub(crate) mod no_spare_capacity;
pub(crate) mod old_template_before_step;
pub(crate) mod on_delete;
pub(crate) mod on_delete_all_pods;
pub(crate) mod only_changed_clique;
pub(crate) mod pods_lost_during_update;
pub(crate) mod replacement_stays_in_block;
pub(crate) mod replacement_stays_in_rack;
pub(crate) mod rolling_update;
pub(crate) mod scaled_during_update;
pub(crate) mod scaled_gang_updated;
pub(crate) mod strategy_changed;
pub(crate) mod template_unchanged;
pub(crate) mod unavailable_replicas_first;

use crate::prelude::*;

/// Waits until the update has created a pod of this revision in the clique. A timeout violates `clause`.
async fn until_first_new_pod(
    test: &TestContext,
    clause: &'static str,
    clique: &str,
    revision: &str,
) -> Result<(), Stop> {
    let started = Awaited::demanded_by(clause, format!("a pod of revision {revision}"));
    test.until(started, limits::SCHEDULING, |live| {
        live.pods().any(|pod| pod.pod_clique() == Some(clique) && is_of_revision(pod, revision))
    })
    .await
}

fn rolling_rules(history: &History, set: &str, end: MarkName) -> [Finding; 5] {
    [
        finding(UPD_03, || at_any_time(history, end, || updates::one_replica_at_a_time(history, set))),
        finding(UPD_04, || at_any_time(history, end, || updates::steps_do_not_overlap(history, set))),
        finding(UPD_18, || at_any_time(history, end, || updates::progress_is_correct(history, set))),
        finding(UPD_29, || at_any_time(history, end, || updates::status_names_the_replica(history, set))),
        finding(UPD_30, || at_any_time(history, end, || updates::minimum_stays(history, set))),
    ]
}

/// Returns `NotReached` if the rule is satisfied but the case did not reach the mark `end`.
fn at_any_time(history: &History, end: MarkName, rule: impl FnOnce() -> Ruling) -> Ruling {
    updates::are_admitted(history)?;
    all([rule(), history.reached(end).map(drop)])
}
