//! Koordinator (KOORD-01, KOORD-02): a PodGroup per podgroup, all of a PodGang joined by one `groups` annotation.

use serde_json::{Value, json};

use super::{Expectations, Made, Name, Resource, differs, schedule_by, text};
use crate::suite::expect::{Gang, Group};
use crate::suite::history::Pod;
use crate::suite::names;

/// As histories name it.
pub const POD_GROUP: &str = "PodGroup.scheduling.sigs.k8s.io";
/// Label by which a pod joins a PodGroup.
const MEMBERSHIP: &str = "pod-group.scheduling.sigs.k8s.io";
/// Prefix of Koordinator's gang annotations.
pub const GANG: &str = "gang.scheduling.koordinator.sh";

/// Koordinator's backend.
#[derive(Debug)]
pub struct Koordinator;

impl Expectations for Koordinator {
    fn kinds(&self) -> &'static [&'static str] {
        &[POD_GROUP]
    }

    fn resources(&self, pod_gang: &str, podgroups: &[(String, usize)]) -> Vec<Resource> {
        let group = |(podgroup, min): &(String, usize)| Resource {
            kind: POD_GROUP,
            name: Name::label(format!("{pod_gang}-{podgroup}")),
            size: Some(*min),
        };
        podgroups.iter().map(group).collect()
    }

    fn size(&self, resource: &Value) -> Option<u64> {
        resource["spec"]["minMember"].as_u64()
    }

    fn faults(&self, gang: Made<'_>, wanted: &Resource, found: &Value) -> Vec<String> {
        let annotation = |name: &str| &found["metadata"]["annotations"][format!("{GANG}/{name}")];
        let wanted = [
            ("minMember", &found["spec"]["minMember"], json!(wanted.size)),
            ("scheduleTimeoutSeconds", &found["spec"]["scheduleTimeoutSeconds"], json!(30)),
            ("label grove.io/podgang", &found["metadata"]["labels"][names::POD_GANG], json!(gang.name())),
            ("mode", annotation("mode"), json!("Strict")),
            ("match-policy", annotation("match-policy"), json!("once-satisfied")),
        ];
        let mut faults: Vec<_> =
            wanted.iter().filter_map(|(field, found, wanted)| differs(field, found, wanted)).collect();
        faults.extend(self.membership_of_the_group(gang, annotation("groups")));
        faults
    }

    fn joins(&self, gang: &Gang, group: &Group, _index: usize) -> Option<Name> {
        Some(Name::label(format!("{}-{}", gang.name, group.clique)))
    }

    /// Surplus is released once the hard gang is bound; koord-scheduler 1.8 takes gated pods that name a PodGroup.
    fn may_join_later(&self, group: &Group, index: usize) -> bool {
        index >= group.min
    }

    /// Annotation `total-number`.
    fn counts_pods(&self) -> bool {
        true
    }

    fn named_by<'a>(&self, pod: Pod<'a>) -> Option<&'a str> {
        pod.label(MEMBERSHIP)
    }

    fn claim(&self, pcs: &mut Value) {
        schedule_by(pcs, "koord-scheduler");
    }

    fn canary(&self, name: &str) -> Vec<(&'static str, Value)> {
        let group = json!({
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": name},
            "spec": {"minMember": 1, "scheduleTimeoutSeconds": 30},
        });
        let pod =
            json!({"metadata": {"labels": {MEMBERSHIP: name}}, "spec": {"schedulerName": "koord-scheduler"}});
        vec![(POD_GROUP, group), ("Pod", pod)]
    }
}

impl Koordinator {
    /// The `groups` annotation lists every PodGroup of the PodGang, each once.
    fn membership_of_the_group(&self, gang: Made<'_>, groups: &Value) -> Option<String> {
        let namespace = text(&gang.pod_gang["metadata"]["namespace"]);
        let listed: Vec<String> = serde_json::from_str(text(groups)).unwrap_or_default();
        let wanted = self.resources(gang.name(), gang.podgroups);
        let is_listed = |resource: &Resource| {
            let mut names =
                listed.iter().filter_map(|entry| entry.strip_prefix(namespace)?.strip_prefix('/'));
            names.any(|name| resource.name.matches(name))
        };
        let complete = listed.len() == wanted.len() && wanted.iter().all(is_listed);
        (!complete).then(|| {
            let names: Vec<_> = wanted.iter().map(|resource| resource.name.to_string()).collect();
            format!("groups {groups} instead of {}", names.join(", "))
        })
    }
}
