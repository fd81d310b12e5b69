//! The ResourceClaims that pods share. Proposal 390 defines their names, their owners and their pods.

use std::collections::BTreeSet;

use conformance_history::{list, text};
use serde_json::Value;

use crate::scaling::index_in;
use crate::scopes::{Clique, clique_template, group_member, replicas};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SharedClaim {
    pub name: String,
    /// Kind and name of the object that defines the claim.
    pub owner: (&'static str, String),
    /// The name of its template.
    pub template: String,
}

struct Owner<'a> {
    entries: &'a Value,
    kind: &'static str,
    name: String,
}

impl Owner<'_> {
    fn claims(&self, replica: usize, is_selected: impl Fn(&Value) -> bool) -> Vec<SharedClaim> {
        let claim = |entry: &Value| {
            let template = text(&entry["name"]).to_owned();
            let name = match text(&entry["scope"]) {
                "AllReplicas" => format!("{}-all-{template}", self.name),
                _ => format!("{}-{replica}-{template}", self.name),
            };
            SharedClaim { name, owner: (self.kind, self.name.clone()), template }
        };
        list(self.entries).iter().filter(|entry| is_selected(&entry["filter"])).map(claim).collect()
    }
}

/// The claims of the pod with this index of a PodClique. `None` if the PodCliqueSet has no such PodClique.
pub fn of_pod(template: &Value, set: &str, pod_clique: &str, index: usize) -> Option<Vec<SharedClaim>> {
    let replica = usize::try_from(index_in(set, pod_clique)?).ok()?;
    let clique = clique_template(template, set, pod_clique)?;
    let member = group_member(template, set, pod_clique);
    let has = |filter: &Value, field: &str, name: &Value| list(&filter[field]).contains(name);
    let has_clique = |filter: &Value| filter.is_null() || has(filter, "childCliqueNames", &clique["name"]);
    let has_part = |filter: &Value| {
        let group = member.map(|member| &member.group["name"]);
        has_clique(filter) || group.is_some_and(|group| has(filter, "childScalingGroupNames", group))
    };
    let of_set = Owner { entries: &template["resourceSharing"], kind: "PodCliqueSet", name: set.to_owned() };
    let mut found = of_set.claims(replica, has_part);
    if let Some(member) = member {
        let name = format!("{set}-{replica}-{}", text(&member.group["name"]));
        let entries = &member.group["resourceSharing"];
        let of_group = Owner { entries, kind: "PodCliqueScalingGroup", name };
        found.extend(of_group.claims(member.index.parse().ok()?, has_clique));
    }
    let entries = &clique["resourceSharing"];
    let of_clique = Owner { entries, kind: "PodClique", name: pod_clique.to_owned() };
    found.extend(of_clique.claims(index, |_| true));
    Some(found)
}

/// The claims of all pods of a PodCliqueSet as submitted.
pub fn of_set(pcs: &Value) -> BTreeSet<SharedClaim> {
    let (template, set) = (&pcs["spec"]["template"], text(&pcs["metadata"]["name"]));
    let cliques = replicas(pcs).into_iter().flat_map(|replica| {
        let members = replica
            .groups
            .iter()
            .flat_map(|group| (0..group.replicas).flat_map(|index| group.replica(index).collect::<Vec<_>>()));
        replica.standalone.iter().cloned().chain(members).collect::<Vec<_>>()
    });
    let of_clique = |clique: Clique| {
        let pods = (0..clique.replicas).filter_map(|index| of_pod(template, set, &clique.name, index));
        pods.flatten().collect::<Vec<_>>()
    };
    cliques.flat_map(of_clique).collect()
}

/// Existing claims that a pod names, each with its name in the pod.
pub fn named_claims(spec: &Value) -> impl Iterator<Item = (&str, &str)> {
    let all = list(&spec["resourceClaims"]).iter();
    all.filter_map(|claim| Some((text(&claim["name"]), claim["resourceClaimName"].as_str()?)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pcs() -> Value {
        let entry =
            |name: &str, scope: &str, filter: Value| json!({"name": name, "scope": scope, "filter": filter});
        json!({"metadata": {"name": "w"}, "spec": {"replicas": 2, "template": {
            "resourceSharing": [
                entry("all", "AllReplicas", Value::Null),
                entry("own", "PerReplica", json!({"childCliqueNames": ["a"]})),
                entry("of-group", "PerReplica", json!({"childScalingGroupNames": ["sg"]})),
            ],
            "cliques": [
                {"name": "a", "spec": {"replicas": 2}, "resourceSharing": [entry("pod", "PerReplica", Value::Null)]},
                {"name": "b", "spec": {"replicas": 1}},
                {"name": "c", "spec": {"replicas": 1}},
            ],
            "podCliqueScalingGroups": [{"name": "sg", "replicas": 2, "cliqueNames": ["b", "c"], "resourceSharing": [
                entry("pair", "PerReplica", Value::Null),
                entry("first", "AllReplicas", json!({"childCliqueNames": ["b"]})),
            ]}],
        }}})
    }

    #[rstest::rstest]
    #[case("w-1-a", 1, &["w-all-all", "w-1-own", "w-1-a-1-pod"])]
    #[case("w-0-sg-3-b", 0, &["w-all-all", "w-0-of-group", "w-0-sg-3-pair", "w-0-sg-all-first"])]
    #[case("w-0-sg-0-c", 0, &["w-all-all", "w-0-of-group", "w-0-sg-0-pair"])]
    fn a_pod_gets_the_claims_whose_filters_include_it(
        #[case] pod_clique: &str,
        #[case] index: usize,
        #[case] wanted: &[&str],
    ) {
        let found = of_pod(&pcs()["spec"]["template"], "w", pod_clique, index).unwrap();
        assert_eq!(found.iter().map(|claim| claim.name.as_str()).collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn a_claim_is_owned_by_the_object_that_defines_it() {
        let owners = |name: &str| -> Vec<_> {
            let all = of_set(&pcs());
            all.iter().filter(|claim| claim.template == name).map(|claim| claim.owner.1.clone()).collect()
        };
        assert_eq!(owners("all"), ["w"]);
        assert_eq!(owners("pair"), ["w-0-sg", "w-0-sg", "w-1-sg", "w-1-sg"]);
        assert_eq!(owners("pod"), ["w-0-a", "w-0-a", "w-1-a", "w-1-a"]);
        assert_eq!(of_pod(&pcs()["spec"]["template"], "w", "other-0-a", 0), None);
    }
}
