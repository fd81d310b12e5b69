//! What the suite expects of each backend: the gang resources that a PodGang should have, how a pod joins them, and
//! what a canary looks like to the scheduler. One file per scheduler, derived from the contract and shared with no
//! controller; judges use [`Expectations`] and name no scheduler.

pub mod external;
pub mod kai;
pub mod koordinator;
pub mod kube;
mod kube_tree;
mod name;
pub mod volcano;

use serde_json::Value;

pub use name::Name;

use conformance_contract::external_scheduler::ExternalProfile;
use conformance_contract::scheduler::EXTERNAL_SCHEDULER;
use conformance_contract::target::Target;
use conformance_history::{Live, Pod};
use kube::Mapping;

use crate::{Gang, Group};

/// A gang resource that should exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its kind, as histories name it.
    pub kind: &'static str,
    /// Its name.
    pub name: Name,
    /// How many pods it binds at least, where it says so.
    pub size: Option<usize>,
}

/// A PodGang and what was made of it.
#[derive(Debug, Clone, Copy)]
pub struct Made<'a> {
    /// The PodGang as it is.
    pub pod_gang: &'a Value,
    /// Its podgroups as they were created: names and `minReplicas`.
    pub podgroups: &'a [(String, usize)],
    /// Everything in the namespace.
    pub live: &'a Live,
}

impl Made<'_> {
    /// The PodGang's name.
    pub fn name(&self) -> &str {
        text(&self.pod_gang["metadata"]["name"])
    }
}

/// What the contract says of one backend.
pub trait Expectations: Sync {
    /// The kinds of its gang resources, parents first.
    fn kinds(&self) -> &'static [&'static str];

    /// The gang resources of a PodGang with these podgroups, parents first.
    fn resources(&self, pod_gang: &str, podgroups: &[(String, usize)]) -> Vec<Resource>;

    /// Those that there are beside for the topology group configs of the PodGang that was made.
    fn resources_of_groups(&self, _pod_gang: &Value) -> Vec<Resource> {
        Vec::new()
    }

    /// How many pods a gang resource says that it binds at least.
    fn size(&self, resource: &Value) -> Option<u64>;

    /// What is wrong with a gang resource beside its name and owner.
    fn faults(&self, gang: Made<'_>, wanted: &Resource, found: &Value) -> Vec<String>;

    /// The gang resource that the pod of that index joins; `None` for a surplus pod that joins none (KUBE-08).
    fn joins(&self, gang: &Gang, group: &Group, index: usize) -> Option<Name>;

    /// Whether the pod of that index may be created without its membership, and get it when it is released.
    fn may_join_later(&self, _group: &Group, _index: usize) -> bool {
        false
    }

    /// Whether gang resources say how many pods there are, and so change when a clique is scaled.
    fn counts_pods(&self) -> bool {
        false
    }

    /// The gang resource that a pod names.
    fn named_by<'a>(&self, pod: Pod<'a>) -> Option<&'a str>;

    /// What else of a pod's membership is wrong.
    fn membership_faults(&self, _pod: Pod<'_>, _gang: &Gang, _group: &Group) -> Vec<String> {
        Vec::new()
    }

    /// Whether a gang resource carries this priority class.
    fn has_priority(&self, resource: &Value, class: &str) -> bool {
        resource["spec"]["priorityClassName"] == class
    }

    /// Makes a PodCliqueSet one for this backend, where its manifest does not say otherwise.
    fn claim(&self, pcs: &mut Value);

    /// The kind of the topology resources that a ClusterTopologyBinding becomes, where the scheduler has such (TOPO-09).
    fn topology_kind(&self) -> Option<&'static str> {
        None
    }

    /// What is wrong with the topology resources of this ClusterTopologyBinding, as far as they are about the nodes of
    /// one test. `live` are objects that lie in no namespace.
    fn topology_faults(&self, _binding: &Value, _live: &Live, _pool: &str) -> Vec<String> {
        Vec::new()
    }

    /// A gang of one pod: gang resources, then the pod, which is to be given name, scheduler and membership only.
    fn canary(&self, name: &str) -> Vec<(&'static str, Value)>;

    /// A PodCliqueSet of one pod instead, without a name, where only the operator under test can make a gang of it.
    fn canary_set(&self) -> Option<Value> {
        None
    }
}

/// One target of each backend that has gang resources.
const WITH_RESOURCES: [Target; 4] = [Target::KubeTree, Target::Volcano, Target::Koordinator, Target::Kai];

/// What is expected of a target.
pub fn of(target: Target) -> &'static dyn Expectations {
    match target {
        Target::KubePodGroup => &kube::Kube { mapping: Mapping::Flat },
        Target::KubePodGang => &kube::Kube { mapping: Mapping::Whole },
        Target::KubeTree => &kube::Kube { mapping: Mapping::Tree },
        Target::Volcano => &volcano::Volcano,
        Target::Koordinator => &koordinator::Koordinator,
        Target::Kai => &kai::Kai,
        Target::External => &ExternalProfile { scheduler: EXTERNAL_SCHEDULER, runs: false },
        Target::ExternalScheduler(scheduler) => scheduler.profile(),
    }
}

/// The gang resources of an expected PodGang.
pub fn resources_of(target: Target, gang: &Gang) -> Vec<Resource> {
    let podgroups: Vec<_> = gang.groups.iter().map(|group| (group.clique.clone(), group.min)).collect();
    of(target).resources(&gang.name, &podgroups)
}

/// Every kind of gang resource, of any backend, and the schedulerName of the backend whose it is.
pub fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    WITH_RESOURCES
        .into_iter()
        .flat_map(|target| of(target).kinds().iter().map(move |kind| (*kind, target.backend())))
}

/// Sets the schedulerName of every clique that names none.
fn schedule_by(pcs: &mut Value, scheduler: &str) {
    for clique in pcs["spec"]["template"]["cliques"].as_array_mut().into_iter().flatten() {
        let name = &mut clique["spec"]["podSpec"]["schedulerName"];
        if name.is_null() {
            *name = scheduler.into();
        }
    }
}

/// What a field says other than it should, in words.
fn differs(field: &str, found: &Value, wanted: &Value) -> Option<String> {
    (found != wanted).then(|| format!("{field} {found} instead of {wanted}"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
