//! What the suite expects of each backend: the gang resources that a PodGang should have, what a pod says to join them,
//! how a canary looks to the scheduler, and what the scheduler writes itself. One file per scheduler, stated from the
//! contract and shared with no controller, and a line in [`ALL`]; judges and drivers speak through [`Expectations`] and
//! name no scheduler.

pub mod coscheduling;
pub mod external;
pub mod kai;
pub mod koordinator;
pub mod kube;
mod kube_tree;
mod name;
pub mod volcano;
mod without_gangs;

use std::time::Duration;

use serde_json::Value;

pub use name::Name;

use conformance_contract::clauses::Feature;
use conformance_contract::target::Target;
use conformance_history::{Live, Pod, controller, list, text};

use crate::domains::Domain;
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

impl Resource {
    /// Whether an object is this gang resource of a PodGang: by its name, or by its owner where the name has to be cut.
    pub fn is_of(&self, gang: &Gang, found: &Value) -> bool {
        let is_owned = || {
            controller(found).is_some_and(|owner| owner["kind"] == "PodGang" && owner["name"] == *gang.name)
        };
        found["kind"] == self.kind
            && self.name.matches(text(&found["metadata"]["name"]))
            && (self.name.is_exact() || is_owned())
    }
}

/// A PodGang and what was made of it.
#[derive(Debug, Clone, Copy)]
pub struct Made<'a> {
    /// Whose it is, with what is declared.
    pub target: Target,
    /// The PodGang as it is.
    pub pod_gang: &'a Value,
    /// Its podgroups as they were created: names and `minReplicas`.
    pub podgroups: &'a [(String, usize)],
    /// Whether the other PodGangs of its replica wait for it.
    pub is_base: bool,
    /// Everything in the namespace.
    pub live: &'a Live,
}

impl Made<'_> {
    /// The PodGang's name.
    pub fn name(&self) -> &str {
        text(&self.pod_gang["metadata"]["name"])
    }
}

/// A picture of the topology that a scheduler goes by instead of the labels of nodes. New nodes are in it some time
/// after they are there.
#[derive(Debug, Clone, Copy)]
pub struct Picture {
    /// Whether it has these domains.
    pub has: fn(&Live, &[Domain<'_>]) -> bool,
    /// Whether the backend under test makes it: where it does not, the judge says what comes of it.
    pub is_made_by_the_backend: bool,
}

/// What the contract says of one backend.
pub trait Expectations: Sync {
    /// The kinds of its gang resources, parents first.
    fn kinds(&self) -> &'static [&'static str];

    /// Kinds of another backend's that its PodGangs have too, beside its own: any scheduler that is built on
    /// kube-scheduler may go by Kubernetes' PodGroups.
    fn borrowed(&self) -> &'static [&'static str] {
        &[]
    }

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

    /// The gang resource that the pod of that index joins; `None` for a surplus pod that joins none (KUBE-08, KUBE-20).
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

    /// The gang resource of the Kubeflow Trainer's that a pod of a TrainJob joins.
    fn joined_for_trainer<'a>(&self, pod: Pod<'a>) -> Option<&'a str> {
        self.named_by(pod)
    }

    /// Whether the scheduler looks at this pod of a TrainJob: what makes the gang may come to the pod later than the pod.
    fn looks_at(&self, _pod: Pod<'_>) -> bool {
        true
    }

    /// The kind of its gang resource, if that may have any name and be one for several PodGangs: the one that pods name.
    fn kind_of_any_name(&self) -> Option<&'static str> {
        None
    }

    /// The kind of the gang resource that stands for a whole PodGang and has its name, where that is not the kind that pods
    /// name.
    fn kind_of_pod_gang(&self) -> Option<&'static str> {
        None
    }

    /// Whether a gang resource has the part of itself that a pod names, where it has parts.
    fn has_part_of(&self, _resource: &Value, _pod: Pod<'_>) -> bool {
        true
    }

    /// What else of a pod's membership is wrong.
    fn membership_faults(&self, _pod: Pod<'_>, _gang: &Gang, _group: &Group) -> Vec<String> {
        Vec::new()
    }

    /// Whether a gang resource carries this priority class.
    fn has_priority(&self, resource: &Value, class: &str) -> bool {
        resource["spec"]["priorityClassName"] == class
    }

    /// Whether its gang resources can follow another priority class (UPD-20).
    fn follows_priority(&self) -> bool {
        true
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

    /// The scheduler's picture of the topology, where it has one of its own.
    fn picture(&self) -> Option<Picture> {
        None
    }

    /// How many pods of a PodGang are in the scheduler's hands before any of them is bound: all of them, unless surplus
    /// stays gated until then.
    fn released_at_first(&self, gang: &Gang) -> usize {
        gang.pods()
    }

    /// Who the scheduler and the controllers that its chart brings are where they write: their field managers, and the
    /// sources of their events. Whole names: a program whose name only begins like one of them is another.
    fn writers(&self) -> &[&'static str];

    /// Prefixes of the annotations and labels in which the scheduler writes what it did: when, and beside which pods.
    fn own_keys(&self) -> &'static [&'static str] {
        &[]
    }

    /// How long the scheduler holds what it has found for a gang that is not whole, where there is such a time: when it
    /// passes, an attempt ends in another way than usual.
    fn gang_timeout(&self) -> Option<Duration> {
        None
    }

    /// Whether it tries every gang that waits in one session after the other, so that what two sessions have not bound is not bound
    /// by the next either. Others try each pod again after a pause that grows.
    fn works_in_sessions(&self) -> bool {
        false
    }

    /// Whether a condition of a gang resource says that the gang cannot be scheduled.
    fn is_refusal(&self, _condition: &Value) -> bool {
        false
    }

    /// The type of the condition that denies such a refusal when it becomes True later, where the scheduler takes none back.
    fn denies_refusal(&self) -> Option<&'static str> {
        None
    }

    /// Whether an object is what the scheduler leaves of a canary, beside the canary itself.
    fn is_left_of_a_canary(&self, _object: &Value) -> bool {
        false
    }

    /// A gang of that many pods, made without an operator: its gang resource, then a pod of it, which is to be given
    /// scheduler and membership only. Nothing where only an operator can make one.
    fn plain_gang(&self, name: &str, pods: usize) -> Vec<(&'static str, Value)>;

    /// A gang of one pod.
    fn canary(&self, name: &str) -> Vec<(&'static str, Value)> {
        self.plain_gang(name, 1)
    }

    /// Whether the scheduler may try a pod before it knows of a gang resource that was made earlier, and lets the pod wait then
    /// until the gang resource changes.
    fn overlooks_gang_resources(&self) -> bool {
        false
    }

    /// A PodCliqueSet of one pod instead, without a name, where only the operator under test can make a gang of it.
    fn canary_set(&self) -> Option<Value> {
        None
    }
}

/// Columns of one scheduler and what is expected of each.
type Columns = &'static [(Target, &'static dyn Expectations)];

/// What is expected of every column of a scheduler that the suite has a description of. Schedulers that read PodGangs
/// themselves are expected to do what their profile says ([`external`]).
static ALL: [Columns; 5] =
    [kube::COLUMNS, volcano::COLUMNS, koordinator::COLUMNS, kai::COLUMNS, coscheduling::COLUMNS];

fn all() -> impl Iterator<Item = (Target, &'static dyn Expectations)> {
    ALL.into_iter().flatten().copied()
}

/// What is expected of a target.
pub fn of(target: Target) -> &'static dyn Expectations {
    let target = target.of_pod_clique_sets();
    if let Some(profile) = target.external() {
        return profile;
    }
    if target.lacks_by_declaration(Feature::GangScheduling)
        && let Some(expectations) = without_gangs::of(target)
    {
        return expectations;
    }
    match all().find(|(of, _)| *of == target) {
        Some((_, expectations)) => expectations,
        None => unreachable!("{target} has no expectations, though a test looks for them"),
    }
}

/// Who writes in every cluster: who plays or runs kubelets, and Kubernetes' own controllers.
const OF_EVERY_CLUSTER: [&str; 3] = ["kwok", "kubelet", "kube-controller-manager"];

/// Whether the field manager, or the source of an event, of that name writes of its own accord: that of every cluster, and
/// the target's own scheduler with what comes with it. Another scheduler has nothing to write there.
pub fn writes_of_its_own_accord(target: Target, writer: &str) -> bool {
    OF_EVERY_CLUSTER.contains(&writer) || of(target).writers().contains(&writer)
}

/// Whether an object is what any scheduler leaves of a canary, beside the canary itself.
pub fn is_left_of_a_canary(object: &Value) -> bool {
    all().any(|(_, expectations)| expectations.is_left_of_a_canary(object))
}

/// The gang resources of an expected PodGang.
pub fn resources_of(target: Target, gang: &Gang) -> Vec<Resource> {
    let podgroups: Vec<_> = gang.groups.iter().map(|group| (group.clique.clone(), group.min)).collect();
    of(target).resources(gang.named_after(), &podgroups)
}

/// The gang resource that a pod names, of a backend that may call it as it likes, if it is there.
pub(crate) fn joined<'a>(pod: Pod<'a>, is_there: impl Fn(&str, &str) -> bool) -> Option<&'a str> {
    all().find_map(|(_, expectations)| {
        let kind = expectations.kind_of_any_name()?;
        expectations.named_by(pod).filter(|name| is_there(kind, name))
    })
}

/// Every kind of gang resource, of any backend, and the schedulerName of the backend whose it is.
pub fn kinds() -> Vec<(&'static str, &'static str)> {
    let mut kinds = Vec::new();
    for (target, expectations) in all() {
        let of_column = expectations.kinds().iter().map(|kind| (*kind, target.backend()));
        let new: Vec<_> = of_column.filter(|kind| !kinds.contains(kind)).collect();
        kinds.extend(new);
    }
    kinds
}

/// Whether a PodGang of that backend may have gang resources of that kind: one of its own, or one that it borrows.
pub fn may_have(backend: &str, kind: &str) -> bool {
    let mut of_backend = all().filter(|(target, _)| target.backend() == backend);
    of_backend.any(|(_, of)| of.kinds().contains(&kind) || of.borrowed().contains(&kind))
}

/// Whether PodGangs of a target and of another backend may both have gang resources of one kind, so that what a pod names
/// is either's.
pub fn share_a_kind(target: Target, backend: &str) -> bool {
    let mut kinds = of(target).kinds().iter().chain(of(target).borrowed());
    kinds.any(|kind| may_have(backend, kind))
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

#[cfg(test)]
mod tests {
    use conformance_contract::target::{TARGETS, TRAIN_JOB_TARGETS};
    use conformance_history::Kind;
    use conformance_history::testing::{object, owned};

    use super::*;

    #[test]
    fn every_column_has_expectations() {
        for target in TARGETS.into_iter().chain([Target::TRAINJOB_COSCHEDULING]) {
            let described = all().filter(|(of, _)| *of == target).count();
            assert_eq!(described, usize::from(target.external().is_none()), "{target}");
            for kind in of(target).kinds().iter().copied().chain(of(target).topology_kind()) {
                let known = Kind::named(kind).map(|kind| kind.scheduler);
                assert_eq!(known, Some(Some(target.scheduler())), "{target}: {kind}");
            }
        }
    }

    #[test]
    fn what_is_borrowed_is_another_backends() {
        for (target, expectations) in all() {
            for borrowed in expectations.borrowed() {
                let lenders: Vec<_> = kinds().into_iter().filter(|(kind, _)| kind == borrowed).collect();
                assert!(
                    lenders.len() == 1 && lenders[0].1 != target.backend(),
                    "{target}: {borrowed} of {lenders:?}"
                );
            }
        }
        assert!(may_have("volcano", volcano::POD_GROUP) && !may_have("volcano", "PodGroup"));
        assert!(share_a_kind(Target::KUBE_TREE, "default-scheduler"));
        assert!(!share_a_kind(Target::VOLCANO, "default-scheduler"));
    }

    #[test]
    fn a_name_that_is_cut_is_known_by_its_owner() {
        let pod_group =
            |name: &str, owner: &str| owned(object(koordinator::POD_GROUP, name), "PodGang", owner);
        let is_of = |gang: &str, found: &Value| {
            let gang = Gang { groups: group(), ..Gang::made_by_hand(gang) };
            resources_of(Target::KOORDINATOR, &gang).iter().any(|wanted| wanted.is_of(&gang, found))
        };
        let long = "scaled-".repeat(9);
        assert!(is_of(&long, &pod_group("scaled-scaled-1a2b", &long)));
        assert!(!is_of(&long, &pod_group("base-w", "base")), "of another PodGang, whose name fits");
        assert!(is_of("base", &pod_group("base-w", "base")));
        assert!(!is_of("base", &pod_group("base-v", "base")));
    }

    fn group() -> Vec<Group> {
        vec![Group { clique: "w".into(), template: "w".into(), min: 1, replicas: 1, scaling_group: None }]
    }

    #[test]
    fn a_canary_is_made_of_kinds_that_a_history_holds() {
        for target in TARGETS.into_iter().chain(TRAIN_JOB_TARGETS) {
            let canary = of(target).canary("canary-x");
            assert!(canary.iter().all(|(kind, _)| Kind::named(kind).is_some()), "{target}: {canary:?}");
        }
    }
}
