//! The pods of a PodGang, found through the uids of their PodCliques. Labels are not sufficient, because the
//! caches may still contain pods of a deleted PodCliqueSet of the same name (DEL-08).

use std::sync::Arc;

use grove_api::{NamespacedName, PodClique, PodGang, PodGroup};
use kube::ResourceExt;

use super::caches::Caches;
use super::observed_pod::Pod;
use super::ownership::{controller, is_controlled_by};
use super::pods::{has_left, is_bound, is_live, own_pods};

#[derive(Clone, Debug)]
pub(crate) struct PodGroupView {
    pub name: String,
    pub min_replicas: i32,
    /// Desired number of pods; `None` while the PodClique does not exist.
    pub wanted: Option<i32>,
    /// Live pods of the current generation, sorted by name.
    pub pods: Vec<Arc<Pod>>,
    /// Remaining pods of earlier generations, and evicted pods that are being deleted.
    pub former: Vec<Arc<Pod>>,
}

impl PodGroupView {
    fn has_minimum(&self) -> bool {
        self.pods.len() >= usize::try_from(self.min_replicas).unwrap_or(0)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct GangView {
    pub podgroups: Vec<PodGroupView>,
}

impl GangView {
    pub(crate) fn of(caches: &Caches, pod_gang: &PodGang) -> Self {
        let podgroup = |podgroup: &PodGroup| {
            let pclq = caches.pod_cliques.get(pod_gang.namespace().as_deref(), &podgroup.name);
            let pclq = pclq.filter(|pclq| is_part_of(caches, pclq, pod_gang));
            let pods = pclq.as_ref().map(|pclq| own_pods(caches, pclq)).unwrap_or_default();
            let generation =
                pclq.as_ref().and_then(|pclq| Some(caches.generation_of(&*caches.root_of(pclq)?, pclq)));
            let (former, pods) = pods.into_iter().partition(|pod| has_left(pod, generation.unwrap_or(0)));
            PodGroupView {
                name: podgroup.name.clone(),
                min_replicas: podgroup.min_replicas,
                wanted: pclq.map(|pclq| pclq.spec.replicas),
                pods: Vec::into_iter(pods).filter(|pod| is_live(pod)).collect(),
                former,
            }
        };
        Self { podgroups: pod_gang.spec.podgroups.iter().map(podgroup).collect() }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.incomplete().is_none()
    }

    /// The podgroups with references to their pods, sorted by name (GANG-20). A podgroup without references
    /// gets its first references when its minimum of pods exists.
    pub(crate) fn referenced(&self, pod_gang: &PodGang) -> Vec<PodGroup> {
        let reference = |pod: &Arc<Pod>| NamespacedName {
            namespace: pod.namespace().unwrap_or_default(),
            name: pod.name_any(),
        };
        let pairs = pod_gang.spec.podgroups.iter().zip(&self.podgroups);
        pairs
            .map(|(podgroup, view)| PodGroup {
                pod_references: match podgroup.pod_references.is_empty() && !view.has_minimum() {
                    true => Vec::new(),
                    false => view.pods.iter().map(reference).collect(),
                },
                ..podgroup.clone()
            })
            .collect()
    }

    /// A message about the first podgroup whose minimum is not bound (AON-06).
    pub(crate) fn unbound_minimum(&self) -> Option<String> {
        self.short_of(is_bound).map(|(podgroup, bound)| {
            format!(
                "{bound} of the {} required pods of PodClique {} are bound",
                podgroup.min_replicas, podgroup.name
            )
        })
    }

    pub(crate) fn short_of(&self, is_counted: fn(&Pod) -> bool) -> Option<(&PodGroupView, usize)> {
        self.podgroups.iter().find_map(|podgroup| {
            let count = podgroup.pods.iter().filter(|pod| is_counted(pod)).count();
            (count < usize::try_from(podgroup.min_replicas).unwrap_or(0)).then_some((podgroup, count))
        })
    }

    pub(crate) fn incomplete(&self) -> Option<&PodGroupView> {
        let is_complete = |podgroup: &&PodGroupView| {
            podgroup.wanted.is_some_and(|wanted| podgroup.pods.len() >= usize::try_from(wanted).unwrap_or(0))
        };
        self.podgroups.iter().find(|podgroup| !is_complete(podgroup))
    }

    pub(crate) fn former(&self) -> Vec<Arc<Pod>> {
        self.podgroups.iter().flat_map(|podgroup| podgroup.former.iter().cloned()).collect()
    }

    pub(crate) fn pods(&self) -> Vec<Arc<Pod>> {
        self.podgroups.iter().flat_map(|podgroup| podgroup.pods.iter().cloned()).collect()
    }
}

fn is_part_of(caches: &Caches, pclq: &PodClique, pod_gang: &PodGang) -> bool {
    match (caches.root_of(pclq), controller(pod_gang)) {
        (Some(pcs), Some(_)) => is_controlled_by(pod_gang, &*pcs),
        (root, None) => root.is_some(),
        (None, Some(_)) => false,
    }
}
