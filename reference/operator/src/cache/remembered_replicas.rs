//! Remembers the replicas of a standalone PodClique that was deleted by hand.
//!
//! Once a PodClique exists, an autoscaler or a user may scale it, and a deletion must not reset that. The
//! numbers are kept in memory: a PodClique that is deleted while no controller runs gets the template's
//! replicas.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use grove_api::PodClique;
use kube::ResourceExt;

use super::ownership::controller;

/// By uid of the PodCliqueSet and name of the PodClique.
#[derive(Default)]
pub(crate) struct RememberedReplicas(Mutex<HashMap<(String, String), i32>>);

impl RememberedReplicas {
    pub(crate) fn remember(&self, pclq: &PodClique) {
        if let Some(owner) = controller(pclq) {
            self.with(|known| known.insert((owner.uid.clone(), pclq.name_any()), pclq.spec.replicas));
        }
    }

    pub(crate) fn of(&self, set: &str, pclq: &str) -> Option<i32> {
        self.with(|known| known.get(&(set.to_owned(), pclq.to_owned())).copied())
    }

    pub(crate) fn made(&self, pclq: &PodClique) {
        if let Some(owner) = controller(pclq) {
            self.with(|known| known.remove(&(owner.uid.clone(), pclq.name_any())));
        }
    }

    /// Forgets PodCliques whose PodCliqueSet was deleted or scaled in: new ones get the template's replicas.
    pub(crate) fn forget(&self, set: &str, is_gone: impl Fn(&str) -> bool) {
        self.with(|known| known.retain(|(of, name), _| of != set || !is_gone(name)));
    }

    fn with<T>(&self, change: impl FnOnce(&mut HashMap<(String, String), i32>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
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
    fn until_it_is_made_anew_or_its_replica_is_gone() {
        let remembered = RememberedReplicas::default();
        assert_eq!(remembered.of("u", "w-0-a"), None);
        remembered.remember(&pclq(3));
        assert_eq!((remembered.of("u", "w-0-a"), remembered.of("v", "w-0-a")), (Some(3), None));
        remembered.made(&pclq(3));
        assert_eq!(remembered.of("u", "w-0-a"), None);
        remembered.remember(&pclq(3));
        remembered.forget("u", |name| name == "w-0-a");
        assert_eq!(remembered.of("u", "w-0-a"), None);
    }
}
