//! A running gang of 3 pods, edited in steps. Its Workload is deleted. Its PodGroup is deleted, and the
//! finalizer `scheduling.k8s.io/podgroup-protection` keeps it while there are pods. The finalizer is removed,
//! so it is gone. The Workload loses its owner reference, which a create-only backend (proposal 531) cannot
//! restore.

use conformance_facts::warnings::is_warning;
use conformance_history::{controller, is_controlled_by, revision};

use super::by_hand;
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Gang resources of a running gang are restored, or a warning is reported")
        .clauses(&[GANG_12])
        .nodes(&[nodes(1)])
        .only(KUBE);

const SET: &str = "healed";

marks! { DISOWNED = "the Workload is disowned"; }

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_converged(SET).await?;
    let gang = test.base_gang(SET)?;
    let (name, group) = (gang.name.as_str(), by_hand::pod_group(test, &gang));

    by_hand::delete_until_restored(test, "Workload", name).await?;

    let lost = by_hand::uid(test, "PodGroup", &group);
    let since = newest_event(test);
    test.delete("PodGroup", &group).await?;
    test.until("a warning about the deleted PodGroup", REACTION, |live| is_told(live, since, name, &group))
        .await?;
    by_hand::release(test, &group).await?;
    by_hand::until_restored(test, "PodGroup", &group, lost).await?;

    let since = newest_event(test);
    test.mark(DISOWNED, json!({"name": name}));
    let disowned =
        revision(&test.patch("Workload", name, json!({"metadata": {"ownerReferences": null}})).await?);
    test.until("the restored owner of the Workload, or a warning", REACTION, |live| {
        let is_seen = live.get("Workload", name).is_none_or(|workload| revision(workload) >= disowned);
        is_seen && (is_owned(live, name) || is_told(live, since, name, "Workload"))
    })
    .await
}

/// The resourceVersion of the newest event. A later warning is about a later step.
fn newest_event(test: &TestContext) -> u64 {
    test.look(|live| live.of("Event").map(revision).max().unwrap_or(0))
}

fn is_told(live: &Live, since: u64, pod_gang: &str, about: &str) -> bool {
    let mut news = live.of("Event").filter(|event| revision(event) > since);
    news.any(|event| is_warning(event, pod_gang, SET, about))
}

fn is_owned(live: &Live, name: &str) -> bool {
    let (workload, pod_gang) = (live.get("Workload", name), live.get("PodGang", name));
    workload.zip(pod_gang).is_some_and(|(workload, pod_gang)| is_controlled_by(workload, pod_gang))
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding(GANG_12, || {
        history.waited_for(SharedMark::Converged)?;
        gang_resources::were_made(history, &history.gangs(SET)?)?;
        let (converged, _) = history.reached(SharedMark::Converged)?;
        let mut deleted = history.marks(SharedMark::Deleted);
        let not_yet = || Broken::NotReached("not every gang resource was deleted".into());
        let (workload, _) = deleted.next().ok_or_else(not_yet)?;
        let group = deleted.next();
        let gang = history.base(SET)?.name;
        // The owner reference is removed later, so the Workload is checked before that.
        let then = group.map_or(history.entries.len(), |(index, _)| index);
        gang_resources::restored(&history.upto(then), workload, "Workload", &gang)?;
        let (group, mark) = group.ok_or_else(not_yet)?;
        let name = mark.detail["name"].as_str().unwrap_or_default();
        gang_resources::told(history, group, &gang, SET, name)?;
        gang_resources::restored(history, group, "PodGroup", name)?;
        let (disowned, _) = history.reached(DISOWNED)?;
        let end = history.end();
        if end.get("Workload", &gang).is_none_or(|workload| controller(workload).is_none()) {
            gang_resources::told(history, disowned, &gang, SET, "Workload")?;
        }
        binding::others_untouched(history, converged, &[])
    })]
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance_contract::ruling::Ruling;
    use conformance_history::testing::{Story, its_gang, object, one_clique};

    const POD_GANG: &str = "healed-0";

    fn ruling(resources: &[(&str, &str)], mark: SharedMark) -> Ruling {
        let sent = Story::flat().submitted(one_clique(SET, 3)).added(its_gang(SET, 3));
        let made = sent.all_added(resources.iter().map(|(kind, name)| object(kind, name)));
        let runs = made.workers(SET, 3, 3).mark(mark, json!(null));
        let deleted = runs.mark(SharedMark::Deleted, json!({"kind": "Workload", "name": POD_GANG}));
        judge(&deleted.deleted(object("Workload", POD_GANG)).end()).remove(0).ruling
    }

    #[test]
    fn what_is_not_restored_is_a_violation() {
        let made = [("Workload", POD_GANG), ("PodGroup", "healed-0-healed-0-worker")];
        assert!(matches!(ruling(&made, SharedMark::Converged), Err(Broken::Violated(_))));
    }

    #[test]
    fn without_gang_resources_there_is_nothing_to_heal() {
        for mark in [SharedMark::Converged, SharedMark::WaitRanOut] {
            let ruling = ruling(&[], mark);
            assert!(matches!(ruling, Err(Broken::Premise { clause: "GANG-08", .. })), "{ruling:?}");
        }
        let ruling = ruling(&[], SharedMark::Stopped);
        assert!(matches!(ruling, Err(Broken::NotReached(_))), "they may have been on their way: {ruling:?}");
    }
}
