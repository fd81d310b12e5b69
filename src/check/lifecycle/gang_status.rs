use std::collections::BTreeSet;

use conformance_contract::ruling::Ruling;
use conformance_contract::violation::{Code, Violation};
use conformance_expect::{Gang, Group};
use conformance_facts::health::{is_bound, is_healthy, is_ready};
use conformance_history::{Change, History, Live, Pod, condition, text};
use serde_json::Value;

use super::census::Census;
use crate::{Shown, none, violation};

const WRONG_CONDITIONS: Code = Code::new("wrong-pod-gang-conditions");
const PHASE_STAYS_PENDING: Code = Code::new("phase-stays-pending");

/// Returns the PodCliques that had their minimum bound between their last creation and the entry `until`.
pub fn ever_bound(history: &History, gangs: &[Gang], until: usize) -> BTreeSet<String> {
    let groups: Vec<_> = gangs.iter().flat_map(|gang| &gang.groups).collect();
    let (mut census, mut ever_bound) = (Census::default(), BTreeSet::new());
    for version in history.versions().filter(|version| version.index < until) {
        if !census.apply(version) {
            continue;
        }
        if version.kind() == "PodClique" && version.change == Change::Deleted {
            ever_bound.remove(version.name());
        }
        let of_pod = groups.iter().filter(|group| version.pod().pod_clique() == Some(&group.clique));
        let bound = of_pod.filter(|group| census.bound(&group.clique) >= group.min);
        ever_bound.extend(bound.map(|group| group.clique.clone()));
    }
    ever_bound
}

/// `Unhealthy` must be True if a PodClique in `ever_bound` has fewer healthy pods than its minimum.
pub fn faults(live: &Live, gang: &Gang, ever_bound: &BTreeSet<String>) -> Vec<String> {
    let Some(found) = gang.find(live) else { return vec![format!("PodGang {} does not exist", gang.name)] };
    let all = |predicate| gang.groups.iter().all(|group| has(live, group, predicate));
    let (scheduled, ready) = (all(is_bound), all(is_ready));
    let unhealthy =
        gang.groups.iter().any(|group| ever_bound.contains(&group.clique) && !has(live, group, is_healthy));
    let is = |type_: &str| condition(found, type_).is_some_and(|condition| condition["status"] == "True");
    let wanted = [("Scheduled", scheduled), ("Ready", ready), ("Unhealthy", unhealthy)];
    let described = format!("PodGang {}", text(&found["metadata"]["name"]));
    wanted
        .into_iter()
        .filter(|(type_, wanted)| is(type_) != *wanted)
        .map(|(type_, wanted)| format!("{described}: {type_} is {}, want {wanted}", !wanted))
        .collect()
}

/// Describes a wrong phase: it must not be Pending if every podgroup has its minimum bound.
pub fn phase_fault(live: &Live, gang: &Gang) -> Option<String> {
    let found = gang.find(live)?;
    let phase = &found["status"]["phase"];
    let is_scheduled = gang.groups.iter().all(|group| has(live, group, is_bound));
    (is_scheduled && (phase.is_null() || phase == "Pending")).then(|| {
        let name = text(&found["metadata"]["name"]);
        format!("PodGang {name}: phase is {} although it is scheduled", phase_text(phase))
    })
}

fn has(live: &Live, group: &Group, predicate: fn(Pod<'_>) -> bool) -> bool {
    let of_group = live.pods().filter(|pod| pod.pod_clique() == Some(&group.clique));
    of_group.filter(|pod| predicate(*pod)).count() >= group.min
}

fn phase_text(phase: &Value) -> &str {
    phase.as_str().unwrap_or("not set")
}

pub fn conditions_at(history: &History, gangs: &[Gang], until: usize) -> Ruling {
    let (live, ever_bound) = (&history.before(until), ever_bound(history, gangs, until));
    none(gangs.iter().flat_map(|gang| {
        let all = faults(live, gang, &ever_bound).into_iter();
        all.map(move |fault| shown_fault(WRONG_CONDITIONS, fault, live, gang))
    }))
}

pub fn phases_at(history: &History, gangs: &[Gang], until: usize) -> Ruling {
    let live = &history.before(until);
    none(gangs.iter().filter_map(|gang| {
        let fault = phase_fault(live, gang)?;
        Some(shown_fault(PHASE_STAYS_PENDING, fault, live, gang))
    }))
}

fn shown_fault(code: Code, fault: String, live: &Live, gang: &Gang) -> Violation {
    let found = violation(code, fault);
    match gang.find(live) {
        Some(object) => found.shown_by_object("its status", object),
        None => found,
    }
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, one_clique, one_clique_gang, worker};
    use serde_json::json;

    use super::*;
    use crate::messages;

    fn history(states: [&str; 2], status: &Value) -> (History, Vec<Gang>) {
        let bound = (0..2).map(|index| worker("w", index, Some("n")));
        recorded(Story::flat().all_added(bound), states, status)
    }

    fn recorded(before: Story, states: [&str; 2], status: &Value) -> (History, Vec<Gang>) {
        let pods = states.into_iter().enumerate().map(|(index, state)| {
            let mut pod = worker("w", index, (state != "gated").then_some("n"));
            match state {
                "ready" => pod["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]}),
                "broken" => pod["status"] = json!({"containerStatuses": [{"started": true, "ready": false}]}),
                "terminating" => pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
                _ => {}
            }
            pod
        });
        let mut gang = one_clique_gang("w", 2);
        gang["status"] = status.clone();
        let story = before.submitted(one_clique("w", 2)).all_added(pods).added(gang);
        (story.end(), conformance_expect::gangs(&one_clique("w", 2)))
    }

    fn check((history, gangs): &(History, Vec<Gang>)) -> Ruling {
        conditions_at(history, gangs, history.entries.len())
    }

    fn status(phase: &str, conditions: [bool; 3]) -> Value {
        let types = ["Scheduled", "Ready", "Unhealthy"];
        let conditions = types
            .into_iter()
            .zip(conditions)
            .map(|(type_, is)| json!({"type": type_, "status": if is { "True" } else { "False" }}));
        json!({"phase": phase, "conditions": conditions.collect::<Vec<_>>()})
    }

    #[rstest::rstest]
    #[case::ready(["ready", "ready"], "Running", [true, true, false])]
    #[case::starting(["ready", "bound"], "Starting", [true, false, false])]
    #[case::broken(["ready", "broken"], "Running", [true, false, true])]
    #[case::one_lost(["ready", "gated"], "Pending", [false, false, true])]
    #[case::one_terminating(["ready", "terminating"], "Pending", [false, false, true])]
    fn a_wrong_condition_of_a_gang_is_a_violation(
        #[case] states: [&str; 2],
        #[case] phase: &str,
        #[case] conditions: [bool; 3],
    ) {
        assert_eq!(check(&history(states, &status(phase, conditions))), Ok(()));
        for wrong in 0..3 {
            let mut other = conditions;
            other[wrong] = !other[wrong];
            assert_eq!(messages(check(&history(states, &status(phase, other)))).len(), 1);
        }
    }

    #[test]
    fn a_gang_that_was_never_bound_is_not_unhealthy() {
        let waits = |unhealthy| {
            let status = status("Pending", [false, false, unhealthy]);
            check(&recorded(Story::flat(), ["gated", "gated"], &status))
        };
        assert_eq!(waits(false), Ok(()));
        assert_eq!(messages(waits(true)), ["PodGang w-0: Unhealthy is true, want false"]);
    }

    #[test]
    fn a_recreated_pod_clique_was_not_bound_before() {
        let clique = || json!({"kind": "PodClique", "metadata": {"name": "w-0-worker"}});
        let bound = Story::flat().added(clique()).workers("w", 2, 2);
        let waits = |story: Story| {
            check(&recorded(story, ["gated", "gated"], &status("Pending", [false, false, false])))
        };
        assert_eq!(messages(waits(bound.clone())), ["PodGang w-0: Unhealthy is false, want true"]);
        assert_eq!(waits(bound.deleted(clique()).added(clique())), Ok(()));
    }

    #[test]
    fn phase_pending_of_a_scheduled_gang_is_a_violation() {
        let phases =
            |(history, gangs): &(History, Vec<Gang>)| phases_at(history, gangs, history.entries.len());
        let pending = history(["ready", "ready"], &status("Pending", [true, true, false]));
        assert_eq!(messages(phases(&pending)), ["PodGang w-0: phase is Pending although it is scheduled"]);
        assert_eq!(check(&pending), Ok(()), "its conditions are correct");
        let silent = history(["ready", "ready"], &Value::Null);
        assert_eq!(messages(phases(&silent)), ["PodGang w-0: phase is not set although it is scheduled"]);
        assert_eq!(messages(check(&silent)).len(), 2, "Scheduled, Ready");
        assert_eq!(phases(&history(["ready", "gated"], &Value::Null)), Ok(()), "it is not scheduled");
    }
}
