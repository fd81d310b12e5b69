use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_expect::{Gang, schedulers};
use conformance_history::{History, Live, Pod, Version, controller};
use serde_json::Value;

use crate::gang_resources::is_gang_resource;

/// Whether an object belongs to a PodGang. Services and scaling groups belong to the base PodGang.
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

fn is_of_replica(gang: &Gang, version: Version<'_>) -> bool {
    let labels = (version.label(names::PART_OF), version.label(names::REPLICA_INDEX));
    matches!(labels, (Some(set), Some(index)) if gang.set == set && gang.replica.to_string() == index)
}

pub fn is_scaled_by(gang: &Gang, scaling_group: &str) -> bool {
    gang.groups
        .iter()
        .any(|group| group.scaling_group.as_ref().is_some_and(|(name, _)| name == scaling_group))
}

/// Returns remaining objects except Services. A shared gang resource counts while it has their subgroups.
pub fn left_of<'a>(
    history: &'a History,
    live: &'a Live,
    gangs: &'a [Gang],
) -> impl Iterator<Item = &'a Value> {
    let (target, expectations) = (history.header.target, schedulers::of(history.header.target));
    let has_a_part = move |gang: &Gang, object: &Value| {
        let is_of = |pod: &Pod<'_>| gang.groups.iter().any(|group| pod.pod_clique() == Some(&group.clique));
        let mut pods = history.pods().map(|version| version.pod()).filter(is_of);
        !is_gang_resource(object)
            || controller(object).is_none_or(|owner| owner["kind"] != "PodCliqueSet")
            || pods.any(|pod| expectations.has_part_of(object, pod))
    };
    live.all().filter(|object| object["kind"] != "Service").filter(move |object| {
        gangs.iter().any(|gang| belongs(target, gang, Version::of(object)) && has_a_part(gang, object))
    })
}

pub fn services_of<'a>(target: Target, live: &'a Live, gangs: &'a [Gang]) -> impl Iterator<Item = &'a Value> {
    live.of("Service")
        .filter(move |service| gangs.iter().any(|gang| belongs(target, gang, Version::of(service))))
}
