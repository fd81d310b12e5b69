//! The kinds of objects that a history records, and the API versions that may serve each kind.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::scheduler::Scheduler;
pub use crate::targets::{AI_CONFORMANCE_KINDS, KINDS, TRAIN_JOB_KINDS};

/// A kind of Kubernetes object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The name in histories: the kind, with its group if several groups have this kind.
    pub name: &'static str,
    /// `GROUP/VERSION`, or `v1`: the served version or, if unknown, the newest known one.
    pub api_version: &'static str,
    /// Older versions that a cluster may serve instead, newest first.
    pub older: &'static [&'static str],
    /// The plural name in paths.
    pub plural: &'static str,
    /// Whether its objects are namespaced.
    pub namespaced: bool,
    /// The scheduler that owns the API, or `None` for kinds that every cluster has.
    pub scheduler: Option<Scheduler>,
}

pub(crate) const OF_EVERY_CLUSTER: [Kind; 12] = [
    kind("v1", "Pod", "pods"),
    kind("v1", "Service", "services"),
    kind("v1", "Event", "events"),
    kind("v1", "Node", "nodes").cluster_scoped(),
    kind("v1", "Namespace", "namespaces").cluster_scoped(),
    kind("grove.io/v1alpha1", "PodCliqueSet", "podcliquesets"),
    kind("grove.io/v1alpha1", "PodClique", "podcliques"),
    kind("grove.io/v1alpha1", "PodCliqueScalingGroup", "podcliquescalinggroups"),
    kind("grove.io/v1alpha1", "ClusterTopologyBinding", "clustertopologybindings").cluster_scoped(),
    kind("scheduler.grove.io/v1alpha1", "PodGang", "podgangs"),
    kind("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
    kind("resource.k8s.io/v1", "ResourceClaim", "resourceclaims"),
];

const CLAIMS_GROUP: &str = "resource.k8s.io/";

pub(crate) const fn kind(api_version: &'static str, name: &'static str, plural: &'static str) -> Kind {
    Kind { name, api_version, older: &[], plural, namespaced: true, scheduler: None }
}

/// The kinds in the histories of all workloads.
fn every() -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().chain(&TRAIN_JOB_KINDS).chain(&AI_CONFORMANCE_KINDS)
}

impl Kind {
    pub(crate) const fn cluster_scoped(self) -> Self {
        Self { namespaced: false, ..self }
    }

    pub(crate) const fn of_scheduler(self, scheduler: Scheduler) -> Self {
        Self { scheduler: Some(scheduler), ..self }
    }

    pub(crate) const fn or_older(self, older: &'static [&'static str]) -> Self {
        Self { older, ..self }
    }

    /// Returns the kind in the served version, or `None` for a Kubernetes kind that the cluster does not
    /// serve. Other kinds keep their version, because their CRDs may be installed later.
    pub fn served(self, api_versions: &BTreeSet<String>) -> Option<Self> {
        let mut known = std::iter::once(self.api_version).chain(self.older.iter().copied());
        match known.find(|version| api_versions.contains(*version)) {
            Some(api_version) => Some(Self { api_version, ..self }),
            None => {
                let is_of_kubernetes =
                    self.scheduler == Some(Scheduler::KUBE) || self.api_version.starts_with(CLAIMS_GROUP);
                (!is_of_kubernetes).then_some(self)
            }
        }
    }

    /// Returns the kind in each known version, newest first.
    pub fn versions(self) -> impl Iterator<Item = Self> {
        let known = Self::named(self.name).copied().unwrap_or(self);
        let versions = std::iter::once(known.api_version).chain(known.older.iter().copied());
        versions.map(move |api_version| Self { api_version, ..known })
    }

    /// Whether the kind is one of Grove's, which the operator's CRDs define.
    pub fn is_of_grove(self) -> bool {
        self.api_version.split('/').next().is_some_and(|group| group.ends_with("grove.io"))
    }

    /// Returns the kind with this name in histories.
    pub fn named(name: &str) -> Option<&'static Self> {
        every().find(|kind| kind.name == name)
    }

    /// Returns the kind of an object that the API server returned.
    pub fn of_object(object: &Value) -> Option<&'static Self> {
        let is_of = |kind: &&Kind| {
            let known = std::iter::once(&kind.api_version).chain(kind.older);
            object["kind"] == kind.kind() && known.into_iter().any(|version| object["apiVersion"] == *version)
        };
        every().find(is_of)
    }

    /// Returns the kind without its group.
    pub fn kind(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(kind, _)| kind)
    }

    /// Returns the API path of the objects in a namespace, or in the whole cluster for `None`.
    pub fn path(&self, namespace: Option<&str>) -> String {
        let root =
            if self.api_version == "v1" { "/api/v1".into() } else { format!("/apis/{}", self.api_version) };
        match namespace {
            Some(namespace) if self.namespaced => format!("{root}/namespaces/{namespace}/{}", self.plural),
            _ => format!("{root}/{}", self.plural),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::target::TARGETS;

    use super::*;

    #[test]
    fn every_scheduler_of_a_kind_has_a_target() {
        for scheduler in KINDS.iter().filter_map(|kind| kind.scheduler) {
            assert!(TARGETS.into_iter().any(|target| target.scheduler() == scheduler), "{scheduler:?}");
        }
    }

    #[test]
    fn a_kind_in_an_older_version_knows_the_newer_ones() {
        let older = BTreeSet::from(["scheduling.k8s.io/v1alpha2".to_owned()]);
        let served = Kind::named("PodGroup").unwrap().served(&older).unwrap();
        let versions: Vec<_> = served.versions().map(|kind| kind.api_version).collect();
        assert_eq!(served.api_version, "scheduling.k8s.io/v1alpha2");
        assert_eq!(versions, ["scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha2"]);
    }
}
