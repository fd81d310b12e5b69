//! A gang of 3 pods runs. The finalizer `scheduling.k8s.io/podgroup-protection` keeps a deleted PodGroup
//! while it has pods. A create-only backend (proposal 531) cannot restore the Workload's owner reference.

use conformance_facts::warnings::is_warning;
use conformance_history::{is_owned_by, owners, revision};

use super::by_hand;
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Gang resources of a running gang are restored, or a warning is reported")
        .clauses(&[GANG_12])
        .nodes(&[nodes(1)])
        .on(Scheduler::KUBE);

const SET: &str = "healed";

marks! { DISOWNED = "the Workload is disowned"; }

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    let gang = test.base_gang(SET)?;
    let (name, group) = (gang.name.as_str(), by_hand::pod_group(test, &gang));

    by_hand::delete_until_restored(test, "Workload", name).await?;

    let deleted_uid = by_hand::uid(test, "PodGroup", &group);
    let since = newest_event(test);
    test.delete("PodGroup", &group).await?;
    test.until("a warning about the deleted PodGroup", REACTION, |live| {
        is_reported(live, since, name, &group)
    })
    .await?;
    by_hand::release(test, &group).await?;
    by_hand::until_restored(test, "PodGroup", &group, deleted_uid).await?;

    let since = newest_event(test);
    test.mark(DISOWNED, json!({"name": name}));
    let disowned =
        revision(&test.patch("Workload", name, json!({"metadata": {"ownerReferences": null}})).await?);
    test.until("the restored owner of the Workload, or a warning", REACTION, |live| {
        let is_seen = live.get("Workload", name).is_none_or(|workload| revision(workload) >= disowned);
        is_seen && (is_owned(live, name) || is_reported(live, since, name, "Workload"))
    })
    .await
}

/// The resourceVersion of the newest event. Only a later event can be a warning about the next step.
fn newest_event(test: &TestContext) -> u64 {
    test.look(|live| live.of("Event").map(revision).max().unwrap_or(0))
}

fn is_reported(live: &Live, since: u64, pod_gang: &str, about: &str) -> bool {
    let mut later = live.of("Event").filter(|event| revision(event) > since);
    later.any(|event| is_warning(event, pod_gang, SET, about))
}

fn is_owned(live: &Live, name: &str) -> bool {
    let (workload, pod_gang) = (live.get("Workload", name), live.get("PodGang", name));
    workload.zip(pod_gang).is_some_and(|(workload, pod_gang)| is_owned_by(workload, pod_gang))
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(GANG_12, || {
        history.waited_for(SharedMark::Converged)?;
        gang_resources::were_created(history, &history.gangs(SET)?)?;
        let (converged, _) = history.reached(SharedMark::Converged)?;
        let mut deleted = history.marks(SharedMark::Deleted);
        let not_deleted = || Broken::NotReached("not every gang resource was deleted".into());
        let (workload, _) = deleted.next().ok_or_else(not_deleted)?;
        let group = deleted.next();
        let gang = history.base(SET)?.name;
        // The owner reference is removed later, so the Workload is checked before that.
        let until = group.map_or(history.entries.len(), |(index, _)| index);
        gang_resources::restored(&history.upto(until), workload, "Workload", &gang)?;
        let (group, mark) = group.ok_or_else(not_deleted)?;
        let name = mark.detail["name"].as_str().unwrap_or_default();
        gang_resources::warning_reported(history, group, &gang, SET, name)?;
        gang_resources::restored(history, group, "PodGroup", name)?;
        let (disowned, _) = history.reached(DISOWNED)?;
        let end = history.end();
        if end.get("Workload", &gang).is_none_or(|workload| owners(workload).is_empty()) {
            gang_resources::warning_reported(history, disowned, &gang, SET, "Workload")?;
        }
        binding::others_untouched(history, converged, &[])
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD_GANG: &str = "healed-0";

    fn ruling(resources: &[(&str, &str)], mark: SharedMark) -> Ruling {
        let sent = Story::flat().submitted(one_clique(SET, 3)).added(one_clique_gang(SET, 3));
        let with_resources = sent.all_added(resources.iter().map(|(kind, name)| object(kind, name)));
        let runs = with_resources.workers(SET, 3, 3).mark(mark, json!(null));
        let deleted = runs.mark(SharedMark::Deleted, json!({"kind": "Workload", "name": POD_GANG}));
        check(&deleted.deleted(object("Workload", POD_GANG)).end()).remove(0).ruling
    }

    #[test]
    fn a_gang_resource_that_is_not_restored_is_a_violation() {
        let with_resources = [("Workload", POD_GANG), ("PodGroup", "healed-0-healed-0-worker")];
        assert!(matches!(ruling(&with_resources, SharedMark::Converged), Err(Broken::Violated(_))));
    }

    #[test]
    fn missing_gang_resources_break_the_precondition() {
        for mark in [SharedMark::Converged, SharedMark::WaitTimedOut] {
            let ruling = ruling(&[], mark);
            assert!(matches!(ruling, Err(Broken::Precondition { clause: "GANG-08", .. })), "{ruling:?}");
        }
        let ruling = ruling(&[], SharedMark::Stopped);
        assert!(
            matches!(ruling, Err(Broken::NotReached(_))),
            "the operator may not have created them yet: {ruling:?}"
        );
    }
}
