//! The refusals of a gang by its scheduler. A condition may be out of date: kube-scheduler 1.37 sets
//! PodGroupInitiallyScheduled to False again while surplus pods wait, and Volcano never removes a condition.
//! Every scheduler also refuses surplus pods that do not fit. So no condition counts while the minimum is
//! bound. Of two contradicting conditions, only the later one counts.

use std::collections::BTreeMap;

use conformance_expect::{Gang, Group, schedulers};
use conformance_facts::gang_resources::is_gang_resource;
use conformance_facts::health::{is_bound, is_live};
use conformance_history::{Change, History, Version, list, text};
use jiff::Timestamp;
use serde_json::Value;

/// The refusals of a gang in order, each with the version of the pod or gang resource that reports it.
pub fn refusals<'a>(history: &'a History, gang: &Gang) -> Vec<(Version<'a>, &'a Value)> {
    let expectations = schedulers::of(history.header.target);
    let overridden_by = expectations.overrides_refusal();
    let mut bound: BTreeMap<&str, &str> = BTreeMap::new();
    let mut before: BTreeMap<&str, &Value> = BTreeMap::new();
    let mut found = Vec::new();
    let is_whole = |bound: &BTreeMap<&str, &str>| {
        let has_minimum =
            |group: &Group| bound.values().filter(|clique| **clique == group.clique).count() >= group.min;
        gang.groups.iter().all(has_minimum)
    };
    for version in history.versions() {
        let (pod, status) = (version.pod(), &version.object["status"]);
        let clique_of_gang =
            pod.pod_clique().filter(|clique| gang.groups.iter().any(|group| group.clique == *clique));
        if version.kind() == "Pod" {
            let Some(clique) = clique_of_gang else { continue };
            if version.change == Change::Deleted || !is_live(pod) || !is_bound(pod) {
                bound.remove(version.uid());
                let refused = list(&status["conditions"])
                    .iter()
                    .filter(|condition| is_refused_pod(condition) && !is_whole(&bound));
                found.extend(refused.map(|condition| (version, condition)));
            } else {
                bound.insert(version.uid(), clique);
            }
        } else if is_gang_resource(version.object) && is_of(version.object, gang) {
            let previous = before.insert(version.uid(), status);
            if is_whole(&bound) {
                continue;
            }
            let all = [&status["conditions"], &status["schedulingConditions"]];
            let refused =
                all.into_iter().flat_map(list).filter(|condition| expectations.is_refusal(condition));
            let is_current = |condition: &&Value| {
                overridden_by.is_none_or(|type_| !is_overridden(condition, type_, status, previous))
            };
            found.extend(refused.filter(is_current).map(|condition| (version, condition)));
        }
    }
    found
}

fn is_of(resource: &Value, gang: &Gang) -> bool {
    let mut owners = list(&resource["metadata"]["ownerReferences"]).iter();
    owners.any(|owner| owner["kind"] == "PodGang" && owner["name"] == *gang.name)
}

fn is_refused_pod(condition: &Value) -> bool {
    condition["type"] == "PodScheduled"
        && condition["status"] == "False"
        && condition["reason"] != "SchedulingGated"
}

/// Whether a later condition overrides the refusal. Condition times have a precision of one second. Within
/// the same second, the condition that changed in this version is newer.
fn is_overridden(refusal: &Value, type_: &str, status: &Value, previous: Option<&Value>) -> bool {
    let is_true = |condition: &&Value| condition["type"] == type_ && condition["status"] == "True";
    let Some(override_) = list(&status["conditions"]).iter().find(is_true) else { return false };
    let since = |condition: &Value| text(&condition["lastTransitionTime"]).parse::<Timestamp>().ok();
    if since(refusal) != since(override_) {
        return since(refusal) < since(override_);
    }
    let is_unchanged = |condition: &Value| {
        previous.is_some_and(|previous| list(&previous["conditions"]).contains(condition))
    };
    is_unchanged(refusal) || !is_unchanged(override_)
}

#[cfg(test)]
mod tests {
    use conformance_contract::target::Target;
    use conformance_history::testing::{Story, object, one_clique, owned, worker};
    use serde_json::json;

    use super::*;

    fn gang() -> Gang {
        let mut gang = conformance_expect::gangs(&one_clique("w", 2)).remove(0);
        gang.name = "w-0".into();
        gang
    }

    fn group(kind: &str, conditions: &Value) -> Value {
        let mut group = owned(object(kind, "w-0"), "PodGang", "w-0");
        group["status"]["conditions"] = conditions.clone();
        group
    }

    fn number_of_refusals(history: &History) -> usize {
        refusals(history, &gang()).len()
    }

    #[test]
    fn a_gang_whose_minimum_is_bound_is_not_refused() {
        let waits =
            json!([{"type": "PodGroupInitiallyScheduled", "status": "False", "message": "surplus waits"}]);
        let before = || Story::flat().added(group("PodGroup", &waits));
        assert_eq!(number_of_refusals(&before().end()), 1);
        let bound = Story::flat().added(worker("w", 0, Some("n"))).added(worker("w", 1, Some("n")));
        assert_eq!(number_of_refusals(&bound.added(group("PodGroup", &waits)).end()), 0);
        let half = Story::flat().added(worker("w", 0, Some("n"))).added(group("PodGroup", &waits));
        assert_eq!(number_of_refusals(&half.end()), 1);
    }

    #[test]
    fn a_surplus_pod_is_no_refusal_of_its_gang() {
        let refused = || {
            let mut pod = worker("w", 2, None);
            pod["status"]["conditions"] = json!([{"type": "PodScheduled", "status": "False",
                "reason": "Unschedulable", "message": "0/2 nodes are available"}]);
            pod
        };
        let half = || Story::flat().added(worker("w", 0, Some("n")));
        assert_eq!(number_of_refusals(&half().added(refused()).end()), 1);
        let whole = half().added(worker("w", 1, Some("n")));
        assert_eq!(number_of_refusals(&whole.added(refused()).end()), 0);
    }

    fn condition(type_: &str, second: u8) -> Value {
        json!({"type": type_, "status": "True", "message": "m",
               "lastTransitionTime": format!("2026-01-01T00:00:0{second}Z")})
    }

    #[rstest::rstest]
    #[case::refused_later(2, 3, 1)]
    #[case::bound_later(3, 2, 0)]
    fn the_later_transition_counts(#[case] bound: u8, #[case] refused: u8, #[case] count: usize) {
        let both = json!([condition("Scheduled", bound), condition("Unschedulable", refused)]);
        let story = Story::on(Target::VOLCANO).added(group("PodGroup.scheduling.volcano.sh", &both));
        assert_eq!(number_of_refusals(&story.end()), count);
    }

    #[test]
    fn within_a_second_the_order_of_versions_counts() {
        let volcano = |first: &Value, both: &Value| {
            let story = Story::on(Target::VOLCANO).added(group("PodGroup.scheduling.volcano.sh", first));
            number_of_refusals(&story.modified(group("PodGroup.scheduling.volcano.sh", both)).end())
        };
        let (bound, refused) = (condition("Scheduled", 2), condition("Unschedulable", 2));
        assert_eq!(volcano(&json!([bound]), &json!([bound, refused])), 1, "refused in the later version");
        assert_eq!(
            volcano(&json!([refused]), &json!([bound, refused])),
            1,
            "refused in the earlier version alone"
        );
    }
}
