//! Kueue admits gangs, and kube-scheduler binds their pods. No operator backend uses Kueue for PodCliqueSets,
//! so PodGangs have no gang resources.

use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_history::Pod;
use serde_json::{Value, json};

use super::{Expectations, Targets, list};

const LOCAL_QUEUE: &str = "LocalQueue";
/// Kueue creates a Workload for each pod group, with the group's name.
const WORKLOAD: &str = "Workload.kueue.x-k8s.io";
const QUEUE: &str = "kueue.x-k8s.io/queue-name";
const GROUP: &str = "kueue.x-k8s.io/pod-group-name";
/// Annotation of a pod: the number of pods in its group.
pub const GROUP_SIZE: &str = "kueue.x-k8s.io/pod-group-total-count";

pub(super) static TARGETS: Targets = &[(Target::AI_CONFORMANCE_KUEUE, &Kueue)];

#[derive(Debug)]
pub struct Kueue;

impl Expectations for Kueue {
    fn kinds(&self) -> &'static [&'static str] {
        &[LOCAL_QUEUE, WORKLOAD]
    }

    /// Only a Workload has a size.
    fn size(&self, resource: &Value) -> Option<u64> {
        let sets = list(&resource["spec"]["podSets"]);
        (!sets.is_empty()).then(|| sets.iter().filter_map(|set| set["count"].as_u64()).sum())
    }

    fn named_by<'a>(&self, pod: Pod<'a>) -> Option<&'a str> {
        pod.label(GROUP)
    }

    fn assign(&self, _pcs: &mut Value) {}

    fn writers(&self) -> &[&'static str] {
        &["kueue", "kueue-admission", "kube-scheduler"]
    }

    /// Each gang has its own LocalQueue, and all gangs and canaries share the ClusterQueue. A canary is also
    /// a pod group, so that Kueue handles it after the gang.
    fn plain_gang(&self, name: &str, pods: usize) -> Vec<(&'static str, Value)> {
        let queue = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": LOCAL_QUEUE, "metadata": {"name": name},
            "spec": {"clusterQueue": names::CLUSTER_QUEUE},
        });
        let pod = json!({
            "metadata": {
                "labels": {QUEUE: name, GROUP: name},
                "annotations": {GROUP_SIZE: pods.to_string()},
            },
            "spec": {"schedulerName": "default-scheduler"},
        });
        vec![(LOCAL_QUEUE, queue), ("Pod", pod)]
    }

    /// The finalizer of Kueue keeps the pods of a group until the group's Workload is deleted.
    fn kind_of_plain_gang(&self) -> Option<&'static str> {
        Some(WORKLOAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_workload_is_that_of_its_pod_sets() {
        let workload = json!({"spec": {"podSets": [{"count": 2}, {"count": 1}]}});
        assert_eq!(Kueue.size(&workload), Some(3));
        assert_eq!(Kueue.size(&json!({"spec": {"clusterQueue": names::CLUSTER_QUEUE}})), None);
    }
}
