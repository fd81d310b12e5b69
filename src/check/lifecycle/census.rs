use std::collections::{BTreeMap, BTreeSet};

use conformance_facts::health::{is_bound, is_healthy, is_live, is_ready};
use conformance_history::{Change, Pod, Version, count};

#[derive(Debug, Clone, Default)]
pub struct Census<'a> {
    pods: BTreeMap<&'a str, Version<'a>>,
    cliques: BTreeSet<&'a str>,
    replicas: BTreeMap<(&'a str, &'a str), usize>,
}

impl<'a> Census<'a> {
    /// Applies an event. Returns false if the event changes nothing that the census counts.
    pub fn apply(&mut self, version: Version<'a>) -> bool {
        let is_there = version.change != Change::Deleted;
        match version.kind() {
            "Pod" if version.pod().is_canary() => return false,
            "Pod" if is_there && is_live(version.pod()) => drop(self.pods.insert(version.uid(), version)),
            "Pod" => drop(self.pods.remove(version.uid())),
            kind @ ("PodClique" | "PodCliqueScalingGroup" | "PodCliqueSet") => {
                let key = (kind, version.name());
                match count(&version.object["spec"]["replicas"]).filter(|_| is_there) {
                    Some(replicas) => drop(self.replicas.insert(key, replicas)),
                    None => drop(self.replicas.remove(&key)),
                }
                if kind == "PodClique" {
                    if is_there {
                        self.cliques.insert(version.name());
                    } else {
                        self.cliques.remove(version.name());
                    }
                }
            }
            _ => return false,
        }
        true
    }

    pub fn forget(&mut self, uid: &str) {
        self.pods.remove(uid);
    }

    pub fn pods(&self) -> impl Iterator<Item = Version<'a>> {
        self.pods.values().copied()
    }

    fn count(&self, clique: &str, predicate: fn(Pod<'_>) -> bool) -> usize {
        self.pods().filter(|pod| pod.pod().pod_clique() == Some(clique) && predicate(pod.pod())).count()
    }

    pub fn live(&self, clique: &str) -> usize {
        self.count(clique, is_live)
    }

    pub fn bound(&self, clique: &str) -> usize {
        self.count(clique, is_bound)
    }

    pub fn ready(&self, clique: &str) -> usize {
        self.count(clique, is_ready)
    }

    pub fn healthy(&self, clique: &str) -> usize {
        self.count(clique, is_healthy)
    }

    pub fn has(&self, clique: &str) -> bool {
        self.cliques.contains(clique)
    }

    pub fn replicas(&self, kind: &str, name: &str) -> Option<usize> {
        self.replicas.iter().find(|((of, its), _)| *of == kind && *its == name).map(|(_, replicas)| *replicas)
    }
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::Story;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_terminating_pod_does_not_count() {
        let story = || Story::flat().workers("w", 2, 2);
        let mut terminating = story().end().end().get("Pod", "w-0-worker-1").unwrap().clone();
        terminating["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let history = story().modified(terminating).end();
        let mut census = Census::default();
        let mut counts = Vec::new();
        for version in history.versions() {
            census.apply(version);
            counts.push((census.live("w-0-worker"), census.bound("w-0-worker")));
        }
        assert_eq!(counts, [(1, 0), (2, 0), (2, 1), (2, 2), (1, 1)]);
    }
}
