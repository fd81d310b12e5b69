use std::collections::BTreeSet;

use conformance_cluster::existing::Right;
use conformance_contract::scheduler::Scheduler;
use conformance_history::{KINDS, Kind};

/// Permissions beyond recording: the kind as histories name it, its subresource, and the verbs.
const WRITTEN: [(&str, &str, &[&str]); 19] = [
    ("Namespace", "", &["create", "get", "delete"]),
    ("Node", "", &["create", "get", "patch", "delete", "deletecollection"]),
    ("Node", "status", &["patch"]),
    ("Pod", "", &["create", "get", "patch", "delete"]),
    ("Pod", "status", &["patch"]),
    ("Pod", "eviction", &["create"]),
    ("PodCliqueSet", "", &["create", "get", "patch", "delete"]),
    ("PodClique", "", &["create", "get", "patch", "delete"]),
    ("PodCliqueScalingGroup", "", &["get", "patch", "delete"]),
    ("PodCliqueSet", "scale", &["get", "patch"]),
    ("PodClique", "scale", &["get", "patch"]),
    ("PodCliqueScalingGroup", "scale", &["get", "patch"]),
    ("HorizontalPodAutoscaler", "", &["create"]),
    ("ClusterTopologyBinding", "", &["create", "get", "patch", "delete", "deletecollection"]),
    ("PodGang", "", &["create", "get", "patch", "delete"]),
    ("PodGang", "status", &["patch"]),
    ("Service", "", &["get", "delete"]),
    ("Queue.scheduling.volcano.sh", "", &["create", "get", "delete"]),
    ("Queue.scheduling.volcano.sh", "status", &["patch"]),
];
const GANG_RESOURCES: [&str; 4] = ["create", "get", "patch", "delete"];

/// Permissions for `v1` resources that are not recorded: to read init containers' tokens, and to limit pods.
const UNRECORDED: [(&str, &str); 4] = [
    ("get", "secrets"),
    ("impersonate", "serviceaccounts"),
    ("create", "limitranges"),
    ("patch", "limitranges"),
];

pub fn needed(schedulers: &BTreeSet<Scheduler>) -> Vec<Right> {
    let is_recorded = |kind: &&Kind| kind.scheduler.is_none_or(|scheduler| schedulers.contains(&scheduler));
    let core = |(verb, resource): (&'static str, &str)| Right {
        verb,
        group: String::new(),
        resource: resource.to_owned(),
        served_in: vec!["v1".to_owned()],
    };
    let mut rights: Vec<_> = UNRECORDED.into_iter().map(core).collect();
    // The START clauses need the permissions of all service accounts.
    rights.extend(["clusterroles", "clusterrolebindings"].map(|resource| Right {
        verb: "list",
        group: "rbac.authorization.k8s.io".to_owned(),
        resource: resource.to_owned(),
        served_in: vec!["rbac.authorization.k8s.io/v1".to_owned()],
    }));
    for kind in KINDS.iter().filter(is_recorded) {
        let mut add = |subresource: &str, verbs: &[&'static str]| {
            rights.extend(verbs.iter().map(|verb| right(kind, subresource, verb)));
        };
        add("", &["list", "watch"]);
        for (_, subresource, verbs) in WRITTEN.iter().filter(|(name, _, _)| *name == kind.name) {
            add(subresource, verbs);
        }
        if kind.scheduler.is_some() && kind.namespaced {
            add("", &GANG_RESOURCES);
        }
    }
    rights
}

/// Returns the kinds of these schedulers. The gang resources of Kubernetes are included only with `trees`,
/// because an operator may work without them.
pub fn kinds_of(schedulers: &BTreeSet<Scheduler>, trees: bool) -> Vec<Kind> {
    let is_needed = |kind: &&Kind| match kind.scheduler {
        Some(Scheduler::KUBE) => trees,
        Some(scheduler) => schedulers.contains(&scheduler),
        None => false,
    };
    KINDS.iter().filter(is_needed).copied().collect()
}

fn right(kind: &Kind, subresource: &str, verb: &'static str) -> Right {
    let group = kind.api_version.split_once('/').map_or("", |(group, _)| group);
    let resource = match subresource {
        "" => kind.plural.to_owned(),
        _ => format!("{}/{subresource}", kind.plural),
    };
    let served_in = std::iter::once(kind.api_version).chain(kind.older.iter().copied());
    Right { verb, group: group.into(), resource, served_in: served_in.map(str::to_owned).collect() }
}

#[cfg(test)]
mod tests {
    use conformance_install::schedulers;
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_run_may_list_and_watch_every_recorded_kind() {
        let schedulers = BTreeSet::from([Scheduler::KUBE, Scheduler::named("volcano")]);
        let rights: BTreeSet<String> = needed(&schedulers).iter().map(Right::to_string).collect();
        for kind in KINDS.iter().filter(|kind| kind.scheduler.is_none_or(|of| schedulers.contains(&of))) {
            for verb in ["list", "watch"] {
                let wanted = right(kind, "", verb).to_string();
                assert!(rights.contains(&wanted), "{wanted}");
            }
        }
        assert!(
            rights.contains("patch nodes/status")
                && rights.contains("create podgroups.scheduling.volcano.sh")
        );
        assert!(!rights.iter().any(|right| right.contains("koordinator")), "Koordinator is not installed");
    }

    fn granted() -> BTreeSet<(String, String, String)> {
        let text = include_str!("../../manifests/suite/rbac.yaml");
        let objects = grove_yaml::documents(text).unwrap();
        let role = objects.iter().find(|object| object["kind"] == "ClusterRole").unwrap();
        let words = |list: &Value| -> Vec<String> {
            list.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
        };
        let mut granted = BTreeSet::new();
        for rule in role["rules"].as_array().unwrap() {
            for group in words(&rule["apiGroups"]) {
                for resource in words(&rule["resources"]) {
                    for verb in words(&rule["verbs"]) {
                        granted.insert((verb, group.clone(), resource.clone()));
                    }
                }
            }
        }
        granted
    }

    /// The role is for a run with all backends. It may list all kinds, because leftovers can be of any kind.
    #[test]
    fn the_role_of_the_suites_pods_grants_exactly_what_a_run_needs() {
        let parts = |right: Right| (right.verb.to_owned(), right.group, right.resource);
        let mut wanted: BTreeSet<_> = needed(&schedulers::all().collect()).into_iter().map(parts).collect();
        wanted.retain(|(verb, ..)| verb != "list");
        wanted.insert(("list".to_owned(), "*".to_owned(), "*".to_owned()));
        let granted = granted();
        let missing: Vec<_> = wanted.difference(&granted).collect();
        let surplus: Vec<_> = granted.difference(&wanted).collect();
        assert!(missing.is_empty() && surplus.is_empty(), "missing: {missing:#?}\nsurplus: {surplus:#?}");
    }

    #[test]
    fn every_kind_that_drivers_write_is_recorded() {
        for (name, _, _) in WRITTEN {
            assert!(Kind::named(name).is_some(), "{name}");
        }
    }
}
