//! Which objects belong to which PodGang.

use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_expect::{Gang, schedulers};
use conformance_history::Version;

/// Whether an object belongs to this PodGang: the PodGang itself, its PodCliques, its pods and the backend's
/// resources for it. A base PodGang also owns the Services and scaling groups of its PodCliqueSet replica.
pub fn belongs(target: Target, gang: &Gang, version: Version<'_>) -> bool {
    let name = version.name();
    let has_clique = |clique: &str| gang.groups.iter().any(|group| group.clique == clique);
    match version.kind() {
        "PodGang" => name == gang.name || gang.is(version.object),
        "PodClique" => has_clique(name),
        "Pod" => version.pod().pod_clique().is_some_and(has_clique),
        "Service" => gang.is_base && (name == gang.replica_name() || is_of_replica(gang, version)),
        "PodCliqueScalingGroup" => gang.is_base && is_scaled_by(gang, name),
        _ => schedulers::resources_of(target, gang).iter().any(|wanted| wanted.is_of(gang, version.object)),
    }
}

/// Whether the labels of an object name the PodCliqueSet replica of this base PodGang.
fn is_of_replica(gang: &Gang, version: Version<'_>) -> bool {
    let labels = (version.label(names::PART_OF), version.label(names::REPLICA_INDEX));
    matches!(labels, (Some(set), Some(index)) if gang.set == set && gang.replica.to_string() == index)
}

/// Whether a PodCliqueScalingGroup has cliques in this PodGang.
pub fn is_scaled_by(gang: &Gang, scaling_group: &str) -> bool {
    gang.groups
        .iter()
        .any(|group| group.scaling_group.as_ref().is_some_and(|(name, _)| name == scaling_group))
}
