//! What PodGangs should say of themselves, recounted from the pods that there are (STAT-07).

use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Code;
use conformance_expect::Gang;
use conformance_history::{Live, Pod, condition, text};
use serde_json::Value;

use super::health::{is_bound, is_healthy, is_ready};
use crate::{Shown, none, violation};

const GANG_SAYS_OTHERWISE: Code = Code::new("pod-gang-says-otherwise");

/// What is wrong with the conditions and the phase of a PodGang that was bound whole before: `Scheduled` and `Ready` are True
/// where every podgroup has its minimum bound, and ready; `Unhealthy` is True where one has fewer healthy pods than that; and
/// one that is scheduled is not Pending.
pub fn faults(live: &Live, gang: &Gang) -> Vec<String> {
    let Some(found) = gang.find(live) else { return vec![format!("there is no PodGang {}", gang.name)] };
    let all = |holds: fn(Pod<'_>) -> bool| {
        gang.groups.iter().all(|group| {
            let its = live.pods().filter(|pod| pod.pod_clique() == Some(&group.clique));
            its.filter(|pod| holds(*pod)).count() >= group.min
        })
    };
    let (scheduled, ready, healthy) = (all(is_bound), all(is_ready), all(is_healthy));
    let is = |type_: &str| condition(found, type_).is_some_and(|condition| condition["status"] == "True");
    let wanted = [("Scheduled", scheduled), ("Ready", ready), ("Unhealthy", !healthy)];
    let of = format!("PodGang {}", text(&found["metadata"]["name"]));
    let mut faults: Vec<_> = wanted
        .into_iter()
        .filter(|(type_, wanted)| is(type_) != *wanted)
        .map(|(type_, wanted)| format!("{of}: {type_} is {}, and should be {wanted}", !wanted))
        .collect();
    let phase = &found["status"]["phase"];
    if scheduled && (phase.is_null() || phase == "Pending") {
        faults.push(format!("{of} is scheduled, and its phase is {}", shown(phase)));
    }
    faults
}

fn shown(phase: &Value) -> &str {
    phase.as_str().unwrap_or("not there")
}

/// All of these PodGangs say at a point what they should.
///
/// # Errors
/// A violation per condition or phase that is otherwise.
pub fn true_at(live: &Live, gangs: &[Gang]) -> Ruling {
    none(gangs.iter().flat_map(|gang| {
        faults(live, gang).into_iter().map(|fault| {
            let found = violation(GANG_SAYS_OTHERWISE, fault);
            match gang.find(live) {
                Some(object) => found.shown_by_object("its status", object),
                None => found,
            }
        })
    }))
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, its_gang, one_clique, worker};
    use serde_json::json;

    use super::*;
    use crate::messages;

    /// A gang of two in a state: gated, bound, Ready, broken or going.
    fn live(states: [&str; 2], status: &Value) -> (Live, Vec<Gang>) {
        let pods = states.into_iter().enumerate().map(|(index, state)| {
            let mut pod = worker("w", index, (state != "gated").then_some("n"));
            match state {
                "ready" => pod["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]}),
                "broken" => pod["status"] = json!({"containerStatuses": [{"started": true, "ready": false}]}),
                "going" => pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
                _ => {}
            }
            pod
        });
        let mut gang = its_gang("w", 2);
        gang["status"] = status.clone();
        let story = Story::flat().submitted(one_clique("w", 2)).all_added(pods).added(gang).end();
        (story.end(), conformance_expect::gangs(&one_clique("w", 2)))
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
    #[case::one_going(["ready", "going"], "Pending", [false, false, true])]
    fn a_gang_says_what_its_pods_are(
        #[case] states: [&str; 2],
        #[case] phase: &str,
        #[case] conditions: [bool; 3],
    ) {
        let (right, gangs) = live(states, &status(phase, conditions));
        assert_eq!(true_at(&right, &gangs), Ok(()));
        for wrong in 0..3 {
            let mut other = conditions;
            other[wrong] = !other[wrong];
            let (live, gangs) = live(states, &status(phase, other));
            assert_eq!(messages(true_at(&live, &gangs)).len(), 1);
        }
    }

    #[test]
    fn one_that_is_scheduled_is_not_pending() {
        let (pending, gangs) = live(["ready", "ready"], &status("Pending", [true, true, false]));
        assert_eq!(
            messages(true_at(&pending, &gangs)),
            ["PodGang w-0 is scheduled, and its phase is Pending"]
        );
        let (silent, gangs) = live(["ready", "ready"], &Value::Null);
        assert_eq!(messages(true_at(&silent, &gangs)).len(), 3, "phase, Scheduled, Ready");
    }
}
