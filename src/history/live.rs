use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::log::{Change, Recorded};
use super::query::{Pod, Version};

/// The latest version of every object that has not been deleted, by kind and name.
#[derive(Debug, Clone, Default)]
pub struct Live {
    objects: BTreeMap<(String, String), Arc<Value>>,
}

impl Live {
    /// Applies one more change.
    pub fn apply(&mut self, recorded: &Recorded) {
        let version = Version::of(&recorded.object);
        let key = (version.kind().to_owned(), version.name().to_owned());
        match recorded.change {
            Change::Added | Change::Modified => self.objects.insert(key, recorded.object.clone()),
            Change::Deleted => self.objects.remove(&key),
        };
    }

    /// Returns the object with this kind and name.
    pub fn get(&self, kind: &str, name: &str) -> Option<&Value> {
        self.objects.get(&(kind.to_owned(), name.to_owned())).map(Arc::as_ref)
    }

    /// Returns all objects of a kind, sorted by name.
    pub fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.objects
            .range((kind.to_owned(), String::new())..)
            .take_while(move |((found, _), _)| found == kind)
            .map(|(_, object)| object.as_ref())
    }

    /// Returns all pods of the workload, without canaries.
    pub fn pods(&self) -> impl Iterator<Item = Pod<'_>> {
        self.of("Pod").map(Pod).filter(|pod| !pod.is_canary())
    }

    /// Returns all objects, sorted by kind and name.
    pub fn all(&self) -> impl Iterator<Item = &Value> {
        self.objects.values().map(Arc::as_ref)
    }

    /// Groups the objects by the name that `part_of` returns. Objects without such a name are left out.
    pub fn parts<'a>(&'a self, part_of: impl Fn(&'a Value) -> Option<&'a str>) -> BTreeMap<&'a str, Self> {
        let mut parts: BTreeMap<&str, Self> = BTreeMap::new();
        for (key, object) in &self.objects {
            if let Some(part) = part_of(object) {
                parts.entry(part).or_default().objects.insert(key.clone(), object.clone());
            }
        }
        parts
    }

    /// Returns the number of bound pods of a PodCliqueSet, including terminating ones.
    pub fn bound_pods_of_set(&self, set: &str) -> usize {
        let is_of_set = |pod: &Pod<'_>| {
            pod.pod_clique()
                .and_then(|clique| clique.strip_prefix(set))
                .is_some_and(|rest| rest.starts_with('-'))
        };
        self.pods().filter(is_of_set).filter(|pod| pod.node().is_some()).count()
    }

    /// Returns the number of bound pods of the workload, including terminating ones.
    pub fn bound(&self) -> usize {
        self.pods().filter(|pod| pod.node().is_some()).count()
    }
}
