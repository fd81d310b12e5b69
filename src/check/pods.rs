use std::collections::BTreeSet;

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::target::Target;
use conformance_contract::violation::{Code, Violation};
use conformance_expect::schedulers::{self, Name};
use conformance_expect::{Gang, Group};
use conformance_history::{History, Pod, Version};

use super::{Shown, none, violation};

const CREATED_WITH_WRONG_FIELDS: Code = Code::new("created-with-wrong-fields");
const NO_POD_CREATED: Code = Code::new("no-pod-created");
const RELEASED_WITHOUT_GROUP: Code = Code::new("released-without-group");

fn created(history: &History) -> impl Iterator<Item = Version<'_>> {
    let mut seen = BTreeSet::new();
    history.pods().filter(move |version| seen.insert(version.uid().to_owned()))
}

fn released(history: &History) -> impl Iterator<Item = Version<'_>> {
    let mut seen = BTreeSet::new();
    let ungated = history.pods().filter(|version| version.pod().gates().is_empty());
    ungated.filter(move |version| seen.insert(version.uid().to_owned()))
}

/// Requires that pods are created with the right labels, gates, scheduler and membership (GANG-05). A pod
/// that may join its gang resource later must have the membership when it is ungated.
pub fn created_as_specified(history: &History, set: &str, gangs: &[Gang]) -> Ruling {
    let mut has_pods = false;
    let violations: Vec<_> = created(history)
        .filter_map(|version| {
            has_pods = true;
            let faults = faults(version.pod(), history.header.target, set, gangs);
            (!faults.is_empty()).then(|| wrong_fields(version, &faults))
        })
        .collect();
    if !has_pods {
        return Err(
            violation(NO_POD_CREATED, format!("no pod of PodCliqueSet {set} was ever created")).into()
        );
    }
    none(violations.into_iter().chain(released_without_group(history, gangs)))
}

/// Requires that pods are created with the membership of their backend. A pod that may join its gang resource
/// later must have the membership when it is ungated. GANG-05 covers the other fields.
pub fn created_as_members(history: &History, gangs: &[Gang]) -> Ruling {
    let target = history.header.target;
    let members = created(history).filter_map(|version| {
        let ((gang, group), index) = (gang_and_group(version.pod(), gangs)?, index(version.pod())?);
        Some((version, membership_faults(version.pod(), target, gang, group, index)))
    });
    let members: Vec<_> = members.collect();
    if members.is_empty() {
        return Err(Broken::NotReached("no pod of a PodGang was ever created".into()));
    }
    let wrong = members.iter().filter(|(_, faults)| !faults.is_empty());
    let wrong = wrong.map(|(version, faults)| wrong_fields(*version, faults));
    none(wrong.chain(released_without_group(history, gangs)))
}

pub fn created_for_scheduler(history: &History, scheduler: &str) -> Ruling {
    let wrong = created(history).filter(|version| version.object["spec"]["schedulerName"] != scheduler);
    none(wrong.map(|version| {
        let found = &version.object["spec"]["schedulerName"];
        wrong_fields(version, &[format!("schedulerName is {found}, want {scheduler:?}")])
    }))
}

fn wrong_fields(version: Version<'_>, faults: &[String]) -> Violation {
    let message = format!("Pod {} was created with wrong fields: {}", version.name(), faults.join("; "));
    violation(CREATED_WITH_WRONG_FIELDS, message).shown_by("created", version)
}

fn released_without_group<'a>(
    history: &'a History,
    gangs: &'a [Gang],
) -> impl Iterator<Item = Violation> + 'a {
    released(history).filter_map(move |version| {
        let name = late_and_missing(version.pod(), history.header.target, gangs)?;
        let message = format!("Pod {} lost its gate without naming PodGroup {name}", version.name());
        Some(violation(RELEASED_WITHOUT_GROUP, message).shown_by("gate removed", version))
    })
}

fn gang_and_group<'a>(pod: Pod<'_>, gangs: &'a [Gang]) -> Option<(&'a Gang, &'a Group)> {
    let clique = pod.pod_clique();
    gangs
        .iter()
        .find_map(|gang| Some((gang, gang.groups.iter().find(|g| Some(g.clique.as_str()) == clique)?)))
}

fn index(pod: Pod<'_>) -> Option<usize> {
    pod.label(names::POD_INDEX).and_then(|index| index.parse().ok())
}

/// Returns the PodGroup that a pod still has to name, if the pod may be created without its membership.
fn late_and_missing(pod: Pod<'_>, target: Target, gangs: &[Gang]) -> Option<Name> {
    let expectations = schedulers::of(target);
    let ((gang, group), index) = (gang_and_group(pod, gangs)?, index(pod)?);
    let wanted = expectations.joins(gang, group, index)?;
    let named = || expectations.named_by(pod).is_some_and(|found| wanted.matches(found));
    (expectations.may_join_later(group, index) && !named()).then_some(wanted)
}

fn faults(pod: Pod<'_>, target: Target, set: &str, gangs: &[Gang]) -> Vec<String> {
    let Some((gang, group)) = gang_and_group(pod, gangs) else {
        return vec![format!(
            "label {} {}, which is not a podgroup of PodCliqueSet {set}",
            names::POD_CLIQUE,
            pod.pod_clique().unwrap_or("absent")
        )];
    };
    let mut faults: Vec<_> = label_fault(pod, gang).into_iter().collect();
    if pod.gates() != [names::GATE] {
        faults.push(format!("scheduling gates {:?}, want exactly {}", pod.gates(), names::GATE));
    }
    let scheduler = pod.0["spec"]["schedulerName"].as_str().unwrap_or_default();
    if scheduler != target.backend() {
        faults.push(format!("schedulerName {scheduler:?}"));
    }
    match index(pod) {
        None => faults.push(format!("no index in label {}", names::POD_INDEX)),
        Some(index) if index >= group.replicas => {
            faults.push(format!("index {index}, want below {}", group.replicas))
        }
        Some(index) => faults.extend(membership_faults(pod, target, gang, group, index)),
    }
    faults
}

fn membership_faults(pod: Pod<'_>, target: Target, gang: &Gang, group: &Group, index: usize) -> Vec<String> {
    let expectations = schedulers::of(target);
    let mut faults = expectations.membership_faults(pod, gang, group);
    match (expectations.joins(gang, group, index), expectations.named_by(pod)) {
        (Some(wanted), Some(found)) if wanted.matches(found) => {}
        (None, None) => {}
        (Some(_), None) if expectations.may_join_later(group, index) => {}
        (wanted, found) => {
            let wanted = wanted.map_or("none because the pod is surplus".to_owned(), |name| name.to_string());
            faults.push(format!("PodGroup {}, want {wanted}", found.unwrap_or("none")));
        }
    }
    faults
}

fn label_fault(pod: Pod<'_>, gang: &Gang) -> Option<String> {
    let found = pod.pod_gang();
    (found != Some(gang.name.as_str()))
        .then(|| format!("label {} {}, want {}", names::POD_GANG, found.unwrap_or("absent"), gang.name))
}

#[cfg(test)]
mod tests {
    use conformance_expect as expect;
    use conformance_history::testing::Story;
    use serde_json::{Value, json};

    use super::*;

    /// A PodClique of 2 pods (minimum 1), and a scaling group of one 1-pod clique with one scaled replica.
    fn gangs() -> Vec<Gang> {
        expect::testing::named_gangs(&json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
            "cliques": [{"name": "a", "spec": {"replicas": 2, "minAvailable": 1}}, {"name": "b", "spec": {"replicas": 1}}],
            "podCliqueScalingGroups": [{"name": "sg", "replicas": 2, "cliqueNames": ["b"]}],
        }}}))
    }

    fn pod(name: &str, labels: Value, group: Option<&str>) -> Value {
        let mut all = json!({
            "app.kubernetes.io/managed-by": "grove-operator", "app.kubernetes.io/part-of": "w",
            "grove.io/podcliqueset-replica-index": "0", "grove.io/pod-template-hash": "h",
        });
        for (key, value) in labels.as_object().unwrap() {
            all[format!("grove.io/{key}")] = value.clone();
        }
        let mut pod = json!({"kind": "Pod", "metadata": {"name": name, "labels": all}, "spec": {
            "schedulerName": "default-scheduler", "schedulingGates": [{"name": "grove.io/podgang-pending-creation"}],
        }});
        if let Some(group) = group {
            pod["spec"]["schedulingGroup"] = json!({"podGroupName": group});
        }
        pod
    }

    fn standalone(index: &str, group: Option<&str>) -> Value {
        let labels = json!({"podclique": "w-0-a", "podgang": "w-0", "podclique-pod-index": index});
        pod(&format!("w-0-a-{index}"), labels, group)
    }

    fn of_scaled_gang() -> Value {
        let labels = json!({
            "podclique": "w-0-sg-1-b", "podgang": "w-0-sg-0", "base-podgang": "w-0", "podclique-pod-index": "0",
            "podcliquescalinggroup": "w-0-sg", "podcliquescalinggroup-replica-index": "1",
        });
        pod("w-0-sg-1-b-0", labels, Some("w-0-sg-0-w-0-sg-1-b"))
    }

    fn message(history: &History) -> Option<String> {
        match created_as_specified(history, "w", &gangs()) {
            Ok(()) => None,
            Err(Broken::Violated(all)) => {
                Some(all.into_iter().map(|v| v.message).collect::<Vec<_>>().join("\n"))
            }
            Err(Broken::NotReached(why)) => Some(why),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn pods_of_base_and_scaled_gangs_as_specified_pass() {
        let pods = [standalone("0", Some("w-0-w-0-a")), standalone("1", Some("w-0-w-0-a")), of_scaled_gang()];
        assert_eq!(message(&Story::flat().all_added(pods).end()), None);
        let pods = [standalone("0", Some("w-0")), standalone("1", None)];
        assert_eq!(
            message(&Story::whole().all_added(pods).end()),
            None,
            "surplus joins no PodGroup in PodGang scope"
        );
    }

    #[test]
    fn a_later_version_does_not_count() {
        let mut ungated = standalone("0", Some("w-0-w-0-a"));
        ungated["spec"]["schedulingGates"] = json!([]);
        let story = Story::flat().added(standalone("0", Some("w-0-w-0-a"))).modified(ungated.clone());
        assert_eq!(message(&story.end()), None);
        assert!(message(&Story::flat().added(ungated).end()).unwrap().contains("scheduling gates []"));
    }

    #[rstest::rstest]
    #[case::joined(Some("w-0-w-0-a"), None)]
    #[case::loose(None, Some("Pod w-0-a-1 lost its gate without naming PodGroup w-0-w-0-a"))]
    #[case::of_another(
        Some("w-0-other"),
        Some("Pod w-0-a-1 lost its gate without naming PodGroup w-0-w-0-a")
    )]
    fn a_surplus_pod_released_without_its_group_is_a_violation(
        #[case] group: Option<&str>,
        #[case] expected: Option<&str>,
    ) {
        let mut surplus = standalone("1", None);
        surplus["spec"]["schedulerName"] = json!("koord-scheduler");
        let gated = Story::on(Target::KOORDINATOR).added(surplus.clone());
        surplus["spec"]["schedulingGates"] = json!([]);
        if let Some(group) = group {
            surplus["metadata"]["labels"]["pod-group.scheduling.sigs.k8s.io"] = json!(group);
        }
        assert_eq!(message(&gated.modified(surplus).end()).as_deref(), expected);
    }

    #[rstest::rstest]
    #[case::second_gate("/spec/schedulingGates", json!([{"name": "grove.io/podgang-pending-creation"}, {"name": "x"}]), "gates")]
    #[case::scheduler("/spec/schedulerName", json!("other"), "schedulerName \"other\"")]
    #[case::loose("/spec/schedulingGroup", Value::Null, "PodGroup none, want w-0-sg-0-w-0-sg-1-b")]
    #[case::index("/metadata/labels/grove.io~1podclique-pod-index", json!("1"), "index 1, want below 1")]
    #[case::gang("/metadata/labels/grove.io~1podgang", json!("w-0"), "label grove.io/podgang w-0, want w-0-sg-0")]
    #[case::unknown_clique(
        "/metadata/labels/grove.io~1podclique", json!("w-0-z"), "not a podgroup of PodCliqueSet w"
    )]
    fn a_wrong_field_is_a_violation(#[case] field: &str, #[case] value: Value, #[case] expected: &str) {
        let mut pod = of_scaled_gang();
        *pod.pointer_mut(field).unwrap() = value;
        let found = message(&Story::flat().added(pod).end()).unwrap();
        assert!(found.contains(expected), "{found}");
    }

    #[rstest::rstest]
    #[case::as_specified("/spec/schedulerName", json!("default-scheduler"), true)]
    #[case::second_gate("/spec/schedulingGates", json!([]), true)]
    #[case::scheduler("/spec/schedulerName", json!("other"), true)]
    #[case::gang("/metadata/labels/grove.io~1podgang", json!("w-0"), true)]
    #[case::loose("/spec/schedulingGroup", Value::Null, false)]
    fn only_the_membership_of_a_pod_counts(#[case] field: &str, #[case] value: Value, #[case] passes: bool) {
        let mut pod = of_scaled_gang();
        *pod.pointer_mut(field).unwrap() = value;
        let ruling = created_as_members(&Story::flat().added(pod).end(), &gangs());
        assert_eq!(ruling.is_ok(), passes, "{ruling:?}");
        let without_pods = created_as_members(&Story::flat().end(), &gangs());
        assert!(matches!(without_pods, Err(Broken::NotReached(_))));
    }

    #[test]
    fn pods_of_another_scheduler_are_a_violation() {
        let history = Story::flat().added(of_scaled_gang()).end();
        assert_eq!(created_for_scheduler(&history, "default-scheduler"), Ok(()));
        assert!(matches!(created_for_scheduler(&history, "other"), Err(Broken::Violated(_))));
    }
}
