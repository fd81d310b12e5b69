//! What the suite expects of each backend. Each scheduler has one file and a line in [`ALL`]. Checks and
//! drivers use [`Expectations`], and contain no names of schedulers.

pub mod coscheduling;
pub mod external;
pub mod kai;
pub mod koordinator;
pub mod kube;
mod kube_tree;
pub mod kueue;
mod name;
pub mod volcano;
mod volcano_pod_group;
mod without_gangs;

use std::time::Duration;

use serde_json::Value;

pub use name::Name;

use conformance_contract::clauses::Feature;
use conformance_contract::target::Target;
use conformance_history::{Live, Pod, list, owners, text};

use crate::domains::Domain;
use crate::{Gang, Group};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The kind as histories name it, for example `PodGroup.scheduling.volcano.sh`.
    pub kind: &'static str,
    pub name: Name,
    pub size: Option<usize>,
}

impl Resource {
    /// Compares the name and, if it is shortened, the owner.
    pub fn is_of(&self, gang: &Gang, found: &Value) -> bool {
        let is_owned = || {
            let mut owners = owners(found).iter();
            owners.any(|owner| owner["kind"] == "PodGang" && owner["name"] == *gang.name)
        };
        found["kind"] == self.kind
            && self.name.matches(text(&found["metadata"]["name"]))
            && (self.name.is_exact() || is_owned())
    }
}

/// An existing PodGang with which its gang resources are compared.
#[derive(Debug, Clone, Copy)]
pub struct CreatedGang<'a> {
    pub pod_gang: &'a Value,
    pub podgroups: &'a [(String, usize)],
    pub is_base: bool,
    pub live: &'a Live,
}

impl CreatedGang<'_> {
    pub fn name(&self) -> &str {
        text(&self.pod_gang["metadata"]["name"])
    }
}

/// The topology model that a scheduler uses instead of node labels. It shows new nodes with a delay.
#[derive(Debug, Clone, Copy)]
pub struct TopologyModel {
    pub has: fn(&Live, &[Domain<'_>]) -> bool,
    /// Whether the backend under test maintains the model. A check then covers a model that is out of date.
    pub is_maintained_by_backend: bool,
}

pub trait Expectations: Sync {
    fn kinds(&self) -> &'static [&'static str];

    /// Kinds of other schedulers that a gang may use, such as Kubernetes' PodGroups.
    fn borrowed(&self) -> &'static [&'static str] {
        &[]
    }

    /// Empty if no operator backend creates gang resources for the scheduler.
    fn resources(&self, _pod_gang: &str, _podgroups: &[(String, usize)]) -> Vec<Resource> {
        Vec::new()
    }

    fn resources_of_groups(&self, _pod_gang: &Value) -> Vec<Resource> {
        Vec::new()
    }

    fn size(&self, _resource: &Value) -> Option<u64> {
        None
    }

    fn faults(&self, _gang: CreatedGang<'_>, _wanted: &Resource, _found: &Value) -> Vec<String> {
        Vec::new()
    }

    /// The gang resource that this pod joins, or `None` for surplus that joins none (KUBE-08, KUBE-20).
    fn joins(&self, _gang: &Gang, _group: &Group, _index: usize) -> Option<Name> {
        None
    }

    /// Whether this pod may be created without a membership, and get it when it is ungated.
    fn may_join_later(&self, _group: &Group, _index: usize) -> bool {
        false
    }

    /// Whether gang resources contain the number of pods, so that they change when a clique is scaled.
    fn counts_pods(&self) -> bool {
        false
    }

    fn named_by<'a>(&self, pod: Pod<'a>) -> Option<&'a str>;

    /// The kind of gang resources that PodGangs may share under any name. Only the pods identify one.
    fn freely_named_kind(&self) -> Option<&'static str> {
        None
    }

    fn kind_of_pod_gang(&self) -> Option<&'static str> {
        None
    }

    /// Whether a gang resource with subgroups contains the subgroup that a pod names.
    fn has_part_of(&self, _resource: &Value, _pod: Pod<'_>) -> bool {
        true
    }

    fn membership_faults(&self, _pod: Pod<'_>, _gang: &Gang, _group: &Group) -> Vec<String> {
        Vec::new()
    }

    fn has_priority(&self, resource: &Value, class: &str) -> bool {
        resource["spec"]["priorityClassName"] == class
    }

    fn reads_priority_of_pods(&self) -> bool {
        false
    }

    /// Whether the gang resources can change to another priority class (UPD-20).
    fn follows_priority(&self) -> bool {
        true
    }

    /// Assigns a PodCliqueSet to this backend, unless its manifest names a backend.
    fn assign(&self, pcs: &mut Value);

    /// Adds the requests without which the scheduler would not treat the pods as a gang. The suite's
    /// PodCliqueSets get them; a user's workload is judged as written.
    fn add_requests(&self, _pcs: &mut Value) {}

    fn enqueue(&self, _pcs: &mut Value, _queue: &str) {}

    /// The kind of the topology resources that the operator creates for a ClusterTopologyBinding (TOPO-09).
    fn topology_kind(&self) -> Option<&'static str> {
        None
    }

    /// The faults of a binding's topology resources for the nodes of one case. `live` is cluster-scoped.
    fn topology_faults(&self, _binding: &Value, _live: &Live, _pool: &str) -> Vec<String> {
        Vec::new()
    }

    fn topology_model(&self) -> Option<TopologyModel> {
        None
    }

    /// The number of pods that are ungated before any pod is bound. Surplus may stay gated.
    fn initially_released(&self, gang: &Gang) -> usize {
        gang.pods()
    }

    /// The field managers and event sources of the scheduler and of its chart's controllers. These are
    /// complete names, because another program may have one of them as a prefix.
    fn writers(&self) -> &[&'static str];

    fn own_keys(&self) -> &'static [&'static str] {
        &[]
    }

    /// How long the scheduler reserves nodes for an incomplete gang before it rejects the waiting pods.
    fn gang_timeout(&self) -> Option<Duration> {
        None
    }

    /// Whether the scheduler tries every pending gang in each session, so that two sessions without a binding
    /// prove that a gang stays pending. Other schedulers retry each pod with growing backoff.
    fn retries_in_sessions(&self) -> bool {
        false
    }

    fn is_refusal(&self, _condition: &Value) -> bool {
        false
    }

    /// The condition that, if True, overrides a refusal: some schedulers never remove a refusal.
    fn overrides_refusal(&self) -> Option<&'static str> {
        None
    }

    fn is_canary_remnant(&self, _object: &Value) -> bool {
        false
    }

    /// Returns a gang of `pods` pods without an operator: its gang resource, then one pod with only the
    /// fields for scheduler and membership. Empty if only an operator can create such a gang.
    fn plain_gang(&self, name: &str, pods: usize) -> Vec<(&'static str, Value)>;

    /// The kind of the object that the scheduler creates for a plain gang, under the gang's name. It keeps
    /// the gang's pods until it is deleted.
    fn kind_of_plain_gang(&self) -> Option<&'static str> {
        None
    }

    fn canary(&self, name: &str) -> Vec<(&'static str, Value)> {
        self.plain_gang(name, 1)
    }

    /// Whether the scheduler may try a pod before it sees the gang resource, and retry only after a change.
    fn may_miss_gang_resources(&self) -> bool {
        false
    }

    /// Returns a nameless one-pod canary PodCliqueSet, if only the operator under test can create a canary.
    fn canary_set(&self) -> Option<Value> {
        None
    }
}

type Targets = &'static [(Target, &'static dyn Expectations)];

static ALL: [Targets; 6] = [
    kube::TARGETS,
    volcano::TARGETS,
    koordinator::TARGETS,
    kai::TARGETS,
    coscheduling::TARGETS,
    kueue::TARGETS,
];

fn all() -> impl Iterator<Item = (Target, &'static dyn Expectations)> {
    ALL.into_iter().flatten().copied()
}

pub fn of(target: Target) -> &'static dyn Expectations {
    let target = target.as_pod_clique_set_target();
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
        None => unreachable!("{target} has no expectations"),
    }
}

const WRITERS_IN_EVERY_CLUSTER: [&str; 3] = ["kwok", "kubelet", "kube-controller-manager"];

pub fn is_exempt_writer(target: Target, writer: &str) -> bool {
    WRITERS_IN_EVERY_CLUSTER.contains(&writer) || of(target).writers().contains(&writer)
}

pub fn is_canary_remnant(object: &Value) -> bool {
    all().any(|(_, expectations)| expectations.is_canary_remnant(object))
}

pub fn resources_of(target: Target, gang: &Gang) -> Vec<Resource> {
    let podgroups: Vec<_> = gang.groups.iter().map(|group| (group.clique.clone(), group.min)).collect();
    of(target).resources(gang.named_after(), &podgroups)
}

pub(crate) fn joined<'a>(pod: Pod<'a>, exists: impl Fn(&str, &str) -> bool) -> Option<&'a str> {
    all().find_map(|(_, expectations)| {
        let kind = expectations.freely_named_kind()?;
        expectations.named_by(pod).filter(|name| exists(kind, name))
    })
}

pub fn kinds() -> Vec<(&'static str, &'static str)> {
    let mut kinds = Vec::new();
    for (target, expectations) in all() {
        let of_target = expectations.kinds().iter().map(|kind| (*kind, target.backend()));
        let new: Vec<_> = of_target.filter(|kind| !kinds.contains(kind)).collect();
        kinds.extend(new);
    }
    kinds
}

pub fn may_have(backend: &str, kind: &str) -> bool {
    let mut of_backend = all().filter(|(target, _)| target.backend() == backend);
    of_backend.any(|(_, of)| of.kinds().contains(&kind) || of.borrowed().contains(&kind))
}

pub fn share_a_kind(target: Target, backend: &str) -> bool {
    let mut kinds = of(target).kinds().iter().chain(of(target).borrowed());
    kinds.any(|kind| may_have(backend, kind))
}

fn schedule_by(pcs: &mut Value, scheduler: &str) {
    for clique in pcs["spec"]["template"]["cliques"].as_array_mut().into_iter().flatten() {
        let name = &mut clique["spec"]["podSpec"]["schedulerName"];
        if name.is_null() || *name == "" {
            *name = scheduler.into();
        }
    }
}

fn differs(field: &str, found: &Value, wanted: &Value) -> Option<String> {
    (found != wanted).then(|| format!("{field} is {found}, want {wanted}"))
}

#[cfg(test)]
mod tests {
    use conformance_contract::target::{self, TARGETS};
    use conformance_history::Kind;
    use conformance_history::testing::{object, owned};

    use super::*;

    #[test]
    fn every_target_has_expectations() {
        for target in TARGETS.into_iter().chain([Target::COSCHEDULING, Target::AI_CONFORMANCE_KUEUE]) {
            let described = all().filter(|(of, _)| *of == target).count();
            assert_eq!(described, usize::from(target.external().is_none()), "{target}");
            for kind in of(target).kinds().iter().copied().chain(of(target).topology_kind()) {
                let known = Kind::named(kind).map(|kind| kind.scheduler);
                assert_eq!(known, Some(Some(target.scheduler())), "{target}: {kind}");
            }
        }
    }

    #[test]
    fn every_backend_except_external_has_gang_resources() {
        for target in TARGETS {
            let resources = of(target).resources("w-0", &[("w-0-a".to_owned(), 1)]);
            assert_eq!(resources.is_empty(), target.external().is_some(), "{target}: {resources:?}");
        }
    }

    #[test]
    fn a_borrowed_kind_belongs_to_another_backend() {
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
    fn a_truncated_name_is_matched_by_its_owner() {
        let pod_group =
            |name: &str, owner: &str| owned(object(koordinator::POD_GROUP, name), "PodGang", owner);
        let is_of = |gang: &str, found: &Value| {
            let gang = Gang { groups: group(), ..Gang::named_only(gang) };
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
    fn a_canary_consists_of_kinds_that_a_history_contains() {
        for target in target::every() {
            let canary = of(target).canary("canary-x");
            assert!(canary.iter().all(|(kind, _)| Kind::named(kind).is_some()), "{target}: {canary:?}");
        }
    }
}
