//! Remembers which PodCliques have evicted pods, because the cache may lose a pod before the status of its
//! PodClique is computed. After a restart of the operator, such an eviction counts as a loss of pods.

use std::collections::HashSet;

use parking_lot::Mutex;

use super::observed_pod::Pod;
use super::ownership::controller;
use super::pods::is_preempted;

/// UIDs of PodCliques.
#[derive(Default)]
pub(crate) struct Evictions(Mutex<HashSet<String>>);

impl Evictions {
    pub(crate) fn record(&self, pod: &Pod) {
        if let Some(owner) = controller(pod).filter(|_| is_preempted(pod)) {
            self.0.lock().insert(owner.uid.clone());
        }
    }

    pub(crate) fn has(&self, pod_clique: &str) -> bool {
        self.0.lock().contains(pod_clique)
    }

    pub(crate) fn forget(&self, pod_clique: &str) {
        self.0.lock().remove(pod_clique);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case("PreemptionByScheduler", true)]
    #[case("EvictionByEvictionAPI", false)]
    fn only_evictions_by_a_scheduler_are_remembered(#[case] reason: &str, #[case] is_remembered: bool) {
        let owner = json!({
            "apiVersion": "grove.io/v1alpha1", "kind": "PodClique", "name": "w-0-a", "uid": "u", "controller": true,
        });
        let condition = json!({"type": "DisruptionTarget", "status": "True", "reason": reason});
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "p", "ownerReferences": [owner]}, "status": {"conditions": [condition]},
        }))
        .unwrap();
        let evictions = Evictions::default();
        evictions.record(&pod);
        assert_eq!((evictions.has("u"), evictions.has("v")), (is_remembered, false));
        evictions.forget("u");
        assert!(!evictions.has("u"));
    }
}
