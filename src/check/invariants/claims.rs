//! Requires that pods are created with exactly the ResourceClaims that they share (GANG-30).

use std::collections::BTreeSet;

use conformance_contract::names;
use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Code;
use conformance_expect::claims::{named_claims, of_pod};
use conformance_history::{Pod, list, text};
use serde_json::Value;

use super::course::Course;
use super::discovery::{Place, created_with};

const WRONG_CLAIMS: Code = Code::new("wrong-claims");

pub(super) fn are_added(course: &Course<'_>) -> Ruling {
    created_with(course, &WRONG_CLAIMS, fault)
}

fn fault(place: &Place<'_>, pod: Pod<'_>) -> Option<String> {
    // GANG-05 covers a pod without an index.
    let index = pod.label(names::POD_INDEX)?.parse().ok()?;
    let mut templates = place.templates.iter();
    let shared = templates.find_map(|template| of_pod(template, place.set, place.pod_clique, index))?;
    let wanted: BTreeSet<&str> = shared.iter().map(|claim| claim.name.as_str()).collect();
    let own: BTreeSet<&str> = place.pod_specs().flat_map(named_claims).map(|(_, claim)| claim).collect();
    let found: Vec<_> = named_claims(&pod.0["spec"]).filter(|(_, claim)| !own.contains(claim)).collect();
    if let Some((_, other)) = found.iter().find(|(_, claim)| !wanted.contains(claim)) {
        return Some(format!("ResourceClaim {other}, whose scope or filter excludes it"));
    }
    // Proposal 390 says nothing about init containers.
    let of_template = place.pod_specs().flat_map(|spec| list(&spec["containers"]));
    let of_template: BTreeSet<&str> = of_template.map(|container| text(&container["name"])).collect();
    wanted.difference(&own).find_map(|claim| {
        let Some((entry, _)) = found.iter().find(|(_, found)| found == claim) else {
            return Some(format!("no ResourceClaim {claim}"));
        };
        let uses_it = |container: &Value| {
            list(&container["resources"]["claims"]).iter().any(|used| used["name"] == *entry)
        };
        let all = list(&pod.0["spec"]["containers"]).iter();
        let mut all = all.filter(|container| of_template.contains(text(&container["name"])));
        let without = all.find(|container| !uses_it(container))?;
        Some(format!("no ResourceClaim {claim} in container {}", text(&without["name"])))
    })
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, owned};
    use serde_json::json;

    use super::*;
    use crate::message;

    fn ruling(change: impl FnOnce(&mut Value)) -> Ruling {
        let spec = json!({
            "initContainers": [{"name": "first"}],
            "containers": [{"name": "main"}, {"name": "beside"}],
            "resourceClaims": [{"name": "mine", "resourceClaimName": "mine"}, {"name": "new", "resourceClaimTemplateName": "t"}],
        });
        let set = json!({"kind": "PodCliqueSet", "metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
            "resourceSharing": [{"name": "all", "scope": "AllReplicas"}],
            "cliques": [{"name": "a", "spec": {"podSpec": spec}, "resourceSharing": [{"name": "one", "scope": "PerReplica"}]}],
        }}});
        let claims = json!([{"name": "all"}, {"name": "w-0-a-1-one"}]);
        let mut pod = json!({
            "kind": "Pod",
            "metadata": {"name": "p", "labels": {names::POD_CLIQUE: "w-0-a", names::POD_INDEX: "1"}},
            "spec": {
                "initContainers": [{"name": "first"}],
                "containers": [
                    {"name": "main", "resources": {"claims": claims}},
                    {"name": "beside", "resources": {"claims": claims}},
                    {"name": "injected"},
                ],
                "resourceClaims": [
                    {"name": "mine", "resourceClaimName": "mine"},
                    {"name": "new", "resourceClaimTemplateName": "t"},
                    {"name": "all", "resourceClaimName": "w-all-all"},
                    {"name": "w-0-a-1-one", "resourceClaimName": "w-0-a-1-one"},
                ],
            },
        });
        change(&mut pod);
        let history = Story::flat().submitted(set).added(owned(pod, "PodClique", "w-0-a")).end();
        are_added(&Course::of(&history))
    }

    #[test]
    fn a_pod_with_the_claims_that_it_shares_is_no_violation() {
        assert_eq!(ruling(|_| {}), Ok(()));
    }

    #[rstest::rstest]
    #[case::of_another_pod(
        "/spec/resourceClaims/3/resourceClaimName", json!("w-0-a-0-one"),
        "ResourceClaim w-0-a-0-one, whose scope or filter excludes it"
    )]
    #[case::missing("/spec/resourceClaims/2", json!({"name": "other"}), "no ResourceClaim w-all-all")]
    #[case::not_in_a_container(
        "/spec/containers/1/resources", json!({"claims": [{"name": "all"}]}),
        "no ResourceClaim w-0-a-1-one in container beside"
    )]
    #[case::another_index(
        "/metadata/labels/grove.io~1podclique-pod-index", json!("0"),
        "ResourceClaim w-0-a-1-one, whose scope or filter excludes it"
    )]
    fn wrong_claims_are_a_violation(#[case] at: &str, #[case] value: Value, #[case] wanted: &str) {
        let ruling = ruling(|pod| *pod.pointer_mut(at).unwrap() = value);
        assert_eq!(message(ruling), format!("Pod p was created with {wanted}"));
    }
}
