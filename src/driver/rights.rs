//! The rights that a run needs in an existing cluster, so that all missing ones can be reported before the first case.
//!
//! What is recorded follows from the recorder's own kinds; what is written is what cases of the shared cluster write.

use std::collections::BTreeSet;

use conformance_cluster::existing::Right;
use conformance_contract::scheduler::Scheduler;
use conformance_history::{KINDS, Kind};

/// What drivers do beside recording: the kind as histories call it, its subresource, and the verbs.
const WRITTEN: [(&str, &str, &[&str]); 19] = [
    ("Namespace", "", &["create", "get", "delete"]),
    ("Node", "", &["create", "get", "patch", "delete", "deletecollection"]),
    ("Node", "status", &["patch"]),
    ("Pod", "", &["create", "get", "patch", "delete"]),
    ("Pod", "status", &["patch"]),
    ("Pod", "eviction", &["create"]),
    ("PodCliqueSet", "", &["create", "get", "patch", "delete"]),
    ("PodClique", "", &["get", "patch", "delete"]),
    ("PodCliqueScalingGroup", "", &["get", "patch", "delete"]),
    ("PodCliqueSet", "scale", &["get", "patch"]),
    ("PodClique", "scale", &["get", "patch"]),
    ("PodCliqueScalingGroup", "scale", &["get", "patch"]),
    ("HorizontalPodAutoscaler", "", &["create"]),
    ("ClusterTopologyBinding", "", &["create", "get", "patch", "delete", "deletecollection"]),
    ("PodGang", "", &["create", "get", "patch", "delete"]),
    ("PodGang", "status", &["patch"]),
    ("Service", "", &["get", "delete"]),
    ("Queue.scheduling.volcano.sh", "", &["create", "delete"]),
    ("Queue.scheduling.volcano.sh", "status", &["patch"]),
];
/// Verbs on a scheduler's gang resources: for canaries, for foreign ones, and for changes by another client.
const GANG_RESOURCES: [&str; 4] = ["create", "get", "patch", "delete"];

/// Verbs on what is not recorded, all of it in `v1`: whose the token of an init container is, and what that account may do.
const ASKED: [(&str, &str); 2] = [("get", "secrets"), ("impersonate", "serviceaccounts")];

/// Everything that a run with these schedulers does.
pub fn needed(schedulers: &BTreeSet<Scheduler>) -> Vec<Right> {
    let is_here = |kind: &&Kind| kind.scheduler.is_none_or(|scheduler| schedulers.contains(&scheduler));
    let asked = |(verb, resource): (&'static str, &str)| Right {
        verb,
        group: String::new(),
        resource: resource.to_owned(),
        served_in: vec!["v1".to_owned()],
    };
    let mut rights: Vec<_> = ASKED.into_iter().map(asked).collect();
    for kind in KINDS.iter().filter(is_here) {
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
    use super::*;

    #[test]
    fn every_kind_that_is_recorded_is_listed_and_watched() {
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
        assert!(!rights.iter().any(|right| right.contains("koordinator")), "it is not there");
    }

    #[test]
    fn what_is_written_is_recorded() {
        for (name, _, _) in WRITTEN {
            assert!(Kind::named(name).is_some(), "{name}");
        }
    }
}
