use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

const POD_CLIQUE: &str = "grove.io/podclique";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parent {
    name: String,
    ready: usize,
}

impl FromStr for Parent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, ready) = text.rsplit_once(':').ok_or("must be NAME:COUNT")?;
        let ready = ready.parse().map_err(|_| format!("{ready:?}: must be a number of pods"))?;
        match (name, ready) {
            ("", _) => Err("the name of the PodClique is missing".to_owned()),
            (_, 0) => Err("the count must be greater than 0".to_owned()),
            _ => Ok(Self { name: name.to_owned(), ready }),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Parents {
    wanted: BTreeMap<String, usize>,
    ready: BTreeMap<String, String>,
}

impl Parents {
    pub(crate) fn new(parents: Vec<Parent>) -> Self {
        let wanted = parents.into_iter().map(|parent| (parent.name, parent.ready)).collect();
        Self { wanted, ready: BTreeMap::new() }
    }

    pub(crate) fn selector(&self) -> String {
        let names: Vec<_> = self.wanted.keys().map(String::as_str).collect();
        format!("{POD_CLIQUE} in ({})", names.join(","))
    }

    pub(crate) fn forget(&mut self) {
        self.ready.clear();
    }

    pub(crate) fn update(&mut self, pod: &Pod) {
        let clique =
            pod.labels().get(POD_CLIQUE).filter(|clique| is_of(clique, pod) && is_ready(pod)).cloned();
        match clique {
            Some(clique) => self.ready.insert(pod.name_any(), clique),
            None => self.ready.remove(&pod.name_any()),
        };
    }

    pub(crate) fn remove(&mut self, pod: &Pod) {
        self.ready.remove(&pod.name_any());
    }

    pub(crate) fn are_ready(&self) -> bool {
        let count = |name: &String| self.ready.values().filter(|clique| *clique == name).count();
        self.wanted.iter().all(|(name, wanted)| count(name) >= *wanted)
    }
}

/// Checks the owner, because a pod of another owner may have the label of the PodClique (STAT-19).
fn is_of(clique: &str, pod: &Pod) -> bool {
    pod.owner_references()
        .iter()
        .any(|owner| owner.controller == Some(true) && owner.kind == "PodClique" && owner.name == clique)
}

/// A pod that is being deleted does not count, because it will be replaced.
fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    pod.metadata.deletion_timestamp.is_none()
        && conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

impl fmt::Display for Parents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each: Vec<_> = self.wanted.iter().map(|(name, wanted)| format!("{wanted} of {name}")).collect();
        f.write_str(&each.join(", "))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
    use serde_json::json;

    use super::*;

    pub(crate) fn pod(name: &str, clique: &str, ready: bool, deleting: bool) -> Pod {
        let ready = if ready { "True" } else { "False" };
        let deleted = deleting.then_some("2026-01-01T00:00:00Z");
        let owner =
            json!({"apiVersion": "v1", "kind": "PodClique", "name": clique, "uid": "u", "controller": true});
        serde_json::from_value(json!({
            "metadata": {
                "name": name, "labels": {POD_CLIQUE: clique}, "deletionTimestamp": deleted,
                "ownerReferences": [owner],
            },
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        }))
        .unwrap()
    }

    #[rstest::rstest]
    #[case::without_owner(&[])]
    #[case::of_another_kind(&[("ReplicaSet", "w-0-a")])]
    #[case::of_another_pod_clique(&[("PodClique", "w-0-b")])]
    fn pods_of_other_owners_do_not_count(#[case] owners: &[(&str, &str)]) {
        let mut parents = parents(&["w-0-a:1"]);
        let mut foreign = pod("p", "w-0-a", true, false);
        let own = foreign.owner_references()[0].clone();
        let owner = |(kind, name): &(&str, &str)| OwnerReference {
            kind: (*kind).to_owned(),
            name: (*name).to_owned(),
            ..own.clone()
        };
        foreign.metadata.owner_references = Some(owners.iter().map(owner).collect());
        parents.update(&foreign);
        assert!(!parents.are_ready());
    }

    fn parents(arguments: &[&str]) -> Parents {
        Parents::new(arguments.iter().map(|text| text.parse().unwrap()).collect())
    }

    #[rstest::rstest]
    #[case("w-0-a:2", Ok(("w-0-a", 2)))]
    #[case("w-0-a", Err("must be NAME:COUNT"))]
    #[case("w-0-a:", Err("must be a number of pods"))]
    #[case("w-0-a:-1", Err("must be a number of pods"))]
    #[case("w-0-a:0", Err("greater than 0"))]
    #[case(":2", Err("missing"))]
    fn an_argument_is_a_name_and_a_count(#[case] text: &str, #[case] wanted: Result<(&str, usize), &str>) {
        match (text.parse::<Parent>(), wanted) {
            (Ok(found), Ok((name, ready))) => assert_eq!(found, Parent { name: name.to_owned(), ready }),
            (Err(found), Err(message)) => assert!(found.contains(message), "{found}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn all_parents_must_be_ready_at_once() {
        let mut parents = parents(&["w-0-a:2", "w-0-b:1"]);
        assert_eq!(parents.selector(), "grove.io/podclique in (w-0-a,w-0-b)");
        for (name, clique) in [("p", "w-0-a"), ("q", "w-0-a")] {
            parents.update(&pod(name, clique, true, false));
        }
        assert!(!parents.are_ready(), "no pod of the other PodClique is Ready");
        parents.update(&pod("p", "w-0-a", false, false));
        parents.update(&pod("r", "w-0-b", true, false));
        assert!(!parents.are_ready(), "one of the first is not Ready any more");
        parents.update(&pod("p", "w-0-a", true, false));
        assert!(parents.are_ready());
        parents.remove(&pod("q", "w-0-a", true, false));
        assert!(!parents.are_ready());
        parents.update(&pod("q", "w-0-a", true, false));
        parents.forget();
        assert!(!parents.are_ready(), "a new list reports every pod again");
    }

    #[rstest::rstest]
    #[case::another_name("w-0-a-b", true, false)]
    #[case::not_ready("w-0-a", false, false)]
    #[case::deleting("w-0-a", true, true)]
    fn other_or_unready_pods_do_not_count(#[case] clique: &str, #[case] ready: bool, #[case] deleting: bool) {
        let mut parents = parents(&["w-0-a:1"]);
        parents.update(&pod("p", clique, ready, deleting));
        assert!(!parents.are_ready());
    }
}
