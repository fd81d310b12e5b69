//! Checks of the surplus pods of a PodGang whose PodGroup or tree contains only the hard gang.

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_expect::{Gang, Group, schedulers};
use conformance_history::{Change, History, Live, Pod};
use serde_json::{Value, json};

use super::binding::bindings;
use super::{Shown, ensure, none, violation};

const WRONG_MEMBERSHIP: Code = Code::new("wrong-membership");
const MEMBER_NOT_LEFT: Code = Code::new("member-not-left");
const SURPLUS_RELEASED_EARLY: Code = Code::new("surplus-released-early");
const SURPLUS_WITHOUT_AFFINITY: Code = Code::new("surplus-without-affinity");

fn podgroup<'a>(gang: &'a Gang, pod: Pod<'_>) -> Option<&'a Group> {
    gang.groups.iter().find(|group| pod.pod_clique() == Some(&group.clique))
}

fn is_surplus(gang: &Gang, pod: Pod<'_>) -> bool {
    podgroup(gang, pod).zip(index(pod)).is_some_and(|(group, index)| index >= group.min)
}

fn index(pod: Pod<'_>) -> Option<usize> {
    pod.label(names::POD_INDEX)?.parse().ok()
}

/// Requires that the members of the hard gang have the lowest indexes. A replacement is also a member.
pub fn members_have_the_lowest_indexes(history: &History, gang: &Gang) -> Ruling {
    let mut seen = BTreeSet::new();
    let mut of_gang = history.pods().filter(|version| podgroup(gang, version.pod()).is_some()).peekable();
    if of_gang.peek().is_none() {
        return Err(Broken::NotReached(format!("no pod of PodGang {} ever existed", gang.name)));
    }
    none(of_gang.filter(|version| seen.insert(version.uid())).filter_map(|version| {
        let pod = version.pod();
        let expectations = schedulers::of(history.header.target);
        let joined = expectations.named_by(pod);
        let wanted =
            podgroup(gang, pod).zip(index(pod)).map(|(group, index)| expectations.joins(gang, group, index));
        let fault = match (wanted, joined) {
            (None, _) => format!("Pod {} has no pod index label", pod.name()),
            (Some(None), None) => return None,
            (Some(Some(name)), Some(joined)) if name.matches(joined) => return None,
            (Some(wanted), joined) => {
                let text = |name: Option<String>| name.unwrap_or_else(|| "no PodGroup".into());
                let (wanted, joined) =
                    (text(wanted.map(|name| name.to_string())), text(joined.map(str::to_owned)));
                format!(
                    "Pod {} with index {} is in {joined}, want {wanted}",
                    pod.name(),
                    index(pod).unwrap_or_default()
                )
            }
        };
        Some(violation(WRONG_MEMBERSHIP, fault).shown_by("created", version))
    }))
}

pub fn members_are_left(live: &Live, gang: &Gang, clique: &str) -> Ruling {
    let own = live.pods().filter(|pod| pod.pod_clique() == Some(clique));
    let left: BTreeSet<_> = own.map(index).collect();
    let members = gang.groups.iter().filter(|group| group.clique == clique).flat_map(|group| 0..group.min);
    let wanted: BTreeSet<_> = members.map(Some).collect();
    ensure(left == wanted, || {
        let shown = |indexes: &BTreeSet<Option<usize>>| {
            let indexes =
                indexes.iter().map(|index| index.map_or("none".to_owned(), |index| index.to_string()));
            indexes.collect::<Vec<_>>().join(", ")
        };
        let message = format!(
            "PodClique {clique} has pods with indexes [{}] after the scale-in, want [{}]",
            shown(&left),
            shown(&wanted)
        );
        violation(MEMBER_NOT_LEFT, message)
    })
}

/// Requires that surplus pods are ungated after the hard gang is bound. `NotReached` if none was ungated.
pub fn released_after_the_hard_gang(history: &History, gang: &Gang) -> Ruling {
    let mut bound: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut released = BTreeSet::new();
    let mut violations = Vec::new();
    for version in history.pods() {
        let pod = version.pod();
        let Some(group) = podgroup(gang, pod) else { continue };
        let uids = bound.entry(&group.clique).or_default();
        if version.change == Change::Deleted || pod.is_terminating() {
            uids.remove(version.uid());
        } else if pod.node().is_some() && !is_surplus(gang, pod) {
            uids.insert(version.uid());
        }
        if is_surplus(gang, pod) && pod.gates().is_empty() && released.insert(version.uid()) {
            let count = |group: &Group| bound.get(group.clique.as_str()).map_or(0, BTreeSet::len);
            if let Some(short) = gang.groups.iter().find(|group| count(group) < group.min) {
                let fault = format!(
                    "surplus Pod {} lost its gate when {} of {} required pods of PodClique {} were bound",
                    pod.name(),
                    count(short),
                    short.min,
                    short.clique
                );
                violations.push(violation(SURPLUS_RELEASED_EARLY, fault).shown_by("gate removed", version));
            }
        }
    }
    if released.is_empty() {
        return Err(Broken::NotReached(format!(
            "no surplus pod of PodGang {} ever lost its gate",
            gang.name
        )));
    }
    none(violations)
}

/// Requires that each required node affinity term of ungated surplus pods selects the domain of the hard
/// gang. Returns `NotReached` if the hard gang is in no domain.
pub fn released_into_the_domain(history: &History, gang: &Gang, key: &str) -> Ruling {
    let mut members = bindings(history).filter(|version| podgroup(gang, version.pod()).is_some());
    let node = members.find_map(|version| version.pod().node()).unwrap_or_default();
    let Some(domain) =
        history.of("Node").find(|version| version.name() == node).and_then(|node| node.label(key))
    else {
        return Err(Broken::NotReached(format!(
            "no bound pod of PodGang {} is on a node with label {key}",
            gang.name
        )));
    };
    let mut seen = BTreeSet::new();
    let released = history.pods().filter(|version| {
        is_surplus(gang, version.pod()) && version.pod().gates().is_empty() && seen.insert(version.uid())
    });
    none(released.filter(|version| !is_restricted_to(version.object, key, domain)).map(|version| {
        violation(
            SURPLUS_WITHOUT_AFFINITY,
            format!(
                "surplus Pod {} lost its gate without required node affinity to {key}={domain}",
                version.name()
            ),
        )
        .shown_by("gate removed", version)
    }))
}

fn is_restricted_to(pod: &Value, key: &str, domain: &str) -> bool {
    let affinity = &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let is_restricted = |term: &Value| {
        let mut expressions = term["matchExpressions"].as_array().into_iter().flatten();
        expressions.any(|e| e["key"] == key && e["operator"] == "In" && e["values"] == json!([domain]))
    };
    affinity["nodeSelectorTerms"]
        .as_array()
        .is_some_and(|terms| !terms.is_empty() && terms.iter().all(is_restricted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance_history::testing::Story;

    use crate::message;

    const KEY: &str = names::RACK;

    fn gang() -> Gang {
        let group =
            Group { clique: "g-0-a".into(), template: "a".into(), min: 1, replicas: 2, scaling_group: None };
        Gang { set: "g".into(), groups: vec![group], ..Gang::named_only("g-0") }
    }

    fn pod(index: usize, gated: bool, node: Option<&str>) -> Value {
        let labels =
            json!({names::POD_GANG: "g-0", names::POD_CLIQUE: "g-0-a", names::POD_INDEX: index.to_string()});
        let gates = if gated { json!([{"name": names::GATE}]) } else { Value::Null };
        let group = if index == 0 { json!({"podGroupName": "g-0"}) } else { Value::Null };
        json!({"kind": "Pod", "metadata": {"name": format!("p{index}"), "labels": labels}, "spec": {
            "nodeName": node, "schedulingGates": gates, "schedulingGroup": group}})
    }

    fn affine(mut pod: Value, domain: &str) -> Value {
        let terms = json!([{"matchExpressions": [{"key": KEY, "operator": "In", "values": [domain]}]}]);
        pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
            terms;
        pod
    }

    fn created() -> Story {
        let node = json!({"kind": "Node", "metadata": {"name": "n", "labels": {KEY: "ns-a"}}});
        Story::whole().added(node).all_added([pod(0, true, None), pod(1, true, None)])
    }

    #[test]
    fn a_surplus_pod_in_the_pod_group_is_a_violation() {
        assert_eq!(members_have_the_lowest_indexes(&created().end(), &gang()), Ok(()));
        let mut joined = pod(1, true, None);
        joined["metadata"]["name"] = "late".into();
        joined["spec"]["schedulingGroup"] = json!({"podGroupName": "g-0"});
        insta::assert_snapshot!(
            message(members_have_the_lowest_indexes(&created().added(joined).end(), &gang())),
            @"Pod late with index 1 is in g-0, want no PodGroup"
        );
        let mut outside = pod(0, true, None);
        outside["metadata"]["name"] = "loose".into();
        outside["spec"]["schedulingGroup"] = Value::Null;
        assert!(members_have_the_lowest_indexes(&created().added(outside).end(), &gang()).is_err());
        let mut unlabelled = pod(0, true, None);
        unlabelled["metadata"]["labels"][names::POD_INDEX] = Value::Null;
        let ruling = members_have_the_lowest_indexes(&Story::whole().added(unlabelled).end(), &gang());
        assert_eq!(message(ruling), "Pod p0 has no pod index label");
        let never = members_have_the_lowest_indexes(&Story::whole().end(), &gang());
        assert!(matches!(never, Err(Broken::NotReached(_))));
    }

    #[test]
    fn a_scale_in_that_deletes_a_member_is_a_violation() {
        let left = |story: Story| members_are_left(&story.end().end(), &gang(), "g-0-a");
        assert_eq!(left(created().deleted(pod(1, true, None))), Ok(()));
        let mut of_another = pod(2, true, None);
        of_another["metadata"]["labels"][names::POD_CLIQUE] = "g-0-b".into();
        assert_eq!(left(created().deleted(pod(1, true, None)).added(of_another)), Ok(()));
        insta::assert_snapshot!(
            message(left(created().deleted(pod(0, true, None)))),
            @"PodClique g-0-a has pods with indexes [1] after the scale-in, want [0]"
        );
    }

    #[test]
    fn surplus_released_before_the_hard_gang_is_bound_is_a_violation() {
        let bound = || created().modified(pod(0, false, None)).modified(pod(0, false, Some("n")));
        let after = bound().modified(pod(1, false, None)).end();
        assert_eq!(released_after_the_hard_gang(&after, &gang()), Ok(()));
        let before = created().modified(pod(0, false, None)).modified(pod(1, false, None)).end();
        insta::assert_snapshot!(
            message(released_after_the_hard_gang(&before, &gang())),
            @"surplus Pod p1 lost its gate when 0 of 1 required pods of PodClique g-0-a were bound"
        );
        let lost = bound().deleted(pod(0, false, Some("n"))).modified(pod(1, false, None)).end();
        assert!(released_after_the_hard_gang(&lost, &gang()).is_err());
        let mut terminating = pod(0, false, Some("n"));
        terminating["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        let ended = bound().modified(terminating).modified(pod(1, false, None)).end();
        assert!(released_after_the_hard_gang(&ended, &gang()).is_err(), "the member is terminating");
        assert!(matches!(released_after_the_hard_gang(&bound().end(), &gang()), Err(Broken::NotReached(_))));
    }

    #[test]
    fn surplus_without_affinity_to_the_domain_is_a_violation() {
        let bound = || created().modified(pod(0, false, Some("n")));
        let restricted = bound().modified(affine(pod(1, false, None), "ns-a")).end();
        assert_eq!(released_into_the_domain(&restricted, &gang(), KEY), Ok(()));
        let unrestricted = bound().modified(pod(1, false, None)).end();
        insta::assert_snapshot!(
            message(released_into_the_domain(&unrestricted, &gang(), KEY)),
            @"surplus Pod p1 lost its gate without required node affinity to topology.kubernetes.io/rack=ns-a"
        );
        let elsewhere = bound().modified(affine(pod(1, false, None), "ns-b")).end();
        assert!(released_into_the_domain(&elsewhere, &gang(), KEY).is_err());
        assert!(matches!(
            released_into_the_domain(&created().end(), &gang(), KEY),
            Err(Broken::NotReached(_))
        ));
    }

    #[rstest::rstest]
    #[case::another_term("In", &["ns-a"], true)]
    #[case::all_but_the_domain("NotIn", &["ns-a"], false)]
    #[case::one_of_two_domains("In", &["ns-a", "ns-b"], false)]
    fn affinity_that_allows_other_domains_is_a_violation(
        #[case] operator: &str,
        #[case] values: &[&str],
        #[case] has_another_term: bool,
    ) {
        let term = json!({"matchExpressions": [{"key": KEY, "operator": operator, "values": values}]});
        let another = has_another_term.then(|| json!({"matchExpressions": []}));
        let terms: Vec<_> = [term].into_iter().chain(another).collect();
        let mut released = pod(1, false, None);
        released["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!({"nodeSelectorTerms": terms});
        let history = created().modified(pod(0, false, Some("n"))).modified(released).end();
        assert!(message(released_into_the_domain(&history, &gang(), KEY)).contains("surplus Pod p1"));
    }
}
