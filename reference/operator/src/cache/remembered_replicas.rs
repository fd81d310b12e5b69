//! Remembers the replicas of a standalone PodClique that was deleted by hand, because an autoscaler or a user
//! may have scaled it. They exist only in memory: after a restart, a new PodClique gets the template's.

use std::collections::HashMap;

use grove_api::PodClique;
use kube::ResourceExt;
use parking_lot::Mutex;

use super::ownership::controller;

/// The key is the uid of the PodCliqueSet and the name of the PodClique.
#[derive(Default)]
pub(crate) struct RememberedReplicas(Mutex<HashMap<(String, String), i32>>);

impl RememberedReplicas {
    pub(crate) fn remember(&self, pclq: &PodClique) {
        if let Some(owner) = controller(pclq) {
            self.with(|known| known.insert((owner.uid.clone(), pclq.name_any()), pclq.spec.replicas));
        }
    }

    pub(crate) fn get(&self, pcs_uid: &str, pclq: &str) -> Option<i32> {
        self.with(|known| known.get(&(pcs_uid.to_owned(), pclq.to_owned())).copied())
    }

    pub(crate) fn forget_recreated(&self, pclq: &PodClique) {
        if let Some(owner) = controller(pclq) {
            self.with(|known| known.remove(&(owner.uid.clone(), pclq.name_any())));
        }
    }

    /// After a deletion or a scale-in, new PodCliques get the template's replicas.
    pub(crate) fn forget(&self, pcs_uid: &str, is_removed: impl Fn(&str) -> bool) {
        self.with(|known| known.retain(|(owner, name), _| owner != pcs_uid || !is_removed(name)));
    }

    fn with<T>(&self, change: impl FnOnce(&mut HashMap<(String, String), i32>) -> T) -> T {
        change(&mut self.0.lock())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pclq(replicas: i32) -> PodClique {
        let owner = json!({"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "name": "w", "uid": "u", "controller": true});
        serde_json::from_value(json!({
            "metadata": {"name": "w-0-a", "ownerReferences": [owner]}, "spec": {"podSpec": {}, "replicas": replicas},
        }))
        .unwrap()
    }

    #[test]
    fn replicas_are_remembered_until_recreation_or_scale_in() {
        let remembered = RememberedReplicas::default();
        assert_eq!(remembered.get("u", "w-0-a"), None);
        remembered.remember(&pclq(3));
        assert_eq!((remembered.get("u", "w-0-a"), remembered.get("v", "w-0-a")), (Some(3), None));
        remembered.forget_recreated(&pclq(3));
        assert_eq!(remembered.get("u", "w-0-a"), None);
        remembered.remember(&pclq(3));
        remembered.forget("u", |name| name == "w-0-a");
        assert_eq!(remembered.get("u", "w-0-a"), None);
    }
}
