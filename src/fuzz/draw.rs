//! Draws a workload from a seed. Small shapes are frequent; 100 seeds contain every shape and operation.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::expected_state::ExpectedState;
use crate::surroundings::Surroundings;
use crate::workload::{GeneratedWorkload, LossCause, Operation, one_rack};

/// More pods take more time and do not reveal more defects.
const MAX_PODS: usize = 20;
/// Maximum number of podgroups in a PodGang, a limit of the Workload API.
pub(crate) const MAX_PODGROUPS: usize = 8;
const MAX_OPERATIONS: usize = 5;
/// A name contains the seed modulo this number, so that it is short, and different for close seeds.
const NAMES: u64 = 1_000_000;

pub(crate) fn workload(seed: u64) -> GeneratedWorkload {
    let mut rng = Rng::with_seed(seed);
    let pcs = small_pcs(&mut rng, &format!("g{}", seed % NAMES));
    with_operations(&mut rng, pcs)
}

pub(crate) fn small_pcs(rng: &mut Rng, name: &str) -> Value {
    loop {
        let pcs = pcs(rng, name);
        let state = ExpectedState::of_pcs(&pcs);
        let podgroups = state.gangs().iter().map(|gang| gang.groups.len()).max();
        if state.pods() <= MAX_PODS && podgroups <= Some(MAX_PODGROUPS) {
            return pcs;
        }
    }
}

pub(crate) fn with_operations(rng: &mut Rng, pcs: Value) -> GeneratedWorkload {
    let begins_short = ExpectedState::of_pcs(&pcs).minimum_pods() > 1 && one_in(rng, 3);
    let operations = operations(rng, &pcs);
    GeneratedWorkload { pcs, begins_short, operations, surroundings: Surroundings::default() }
}

pub(crate) fn one_in(rng: &mut Rng, count: u32) -> bool {
    rng.u32(0..count) == 0
}

fn pcs(rng: &mut Rng, name: &str) -> Value {
    let names = &["a", "b", "c", "d"][..rng.usize(1..=4)];
    let mut cliques: Vec<Value> = names.iter().map(|name| clique(rng, name)).collect();
    let mut groups = Vec::new();
    let mut free = names.to_vec();
    for group in ["x", "y"] {
        if free.is_empty() || !one_in(rng, 2) {
            continue;
        }
        let members: Vec<_> = (0..rng.usize(1..=2)).filter_map(|_| free.pop()).rev().collect();
        let replicas = rng.u32(1..=4);
        let min = rng.u32(1..=replicas.min(3));
        groups
            .push(json!({"name": group, "cliqueNames": members, "replicas": replicas, "minAvailable": min}));
    }
    let mut template = json!({});
    if one_in(rng, 4) {
        match rng.u32(0..3) {
            0 if !groups.is_empty() => {
                let chosen = rng.usize(0..groups.len());
                groups[chosen]["topologyConstraint"] = one_rack();
            }
            1 => {
                let chosen = rng.usize(0..cliques.len());
                cliques[chosen]["topologyConstraint"] = one_rack();
            }
            _ => template["topologyConstraint"] = one_rack(),
        }
    }
    template["cliques"] = cliques.into();
    if !groups.is_empty() {
        template["podCliqueScalingGroups"] = groups.into();
    }
    let replicas = if one_in(rng, 3) { 2 } else { 1 };
    json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {"name": name},
        "spec": {"replicas": replicas, "template": template},
    })
}

pub(crate) fn clique(rng: &mut Rng, name: &str) -> Value {
    let replicas = rng.u32(1..=3);
    let resources = json!({"limits": {"nvidia.com/gpu": 1}});
    let container = json!({"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": resources});
    let mut spec = json!({"roleName": name, "replicas": replicas, "podSpec": {"containers": [container]}});
    // Without `minAvailable`, the minimum equals the replicas.
    if !one_in(rng, 4) {
        spec["minAvailable"] = rng.u32(1..=replicas).into();
    }
    json!({"name": name, "spec": spec})
}

fn operations(rng: &mut Rng, pcs: &Value) -> Vec<Operation> {
    let mut state = ExpectedState::of_pcs(pcs);
    let mut operations = Vec::new();
    for _ in 0..rng.usize(1..=MAX_OPERATIONS) {
        let operation = operation(rng, &state);
        let mut next = state.clone();
        if next.apply(&operation) && next.pods() <= MAX_PODS {
            state = next;
            operations.push(operation);
        }
    }
    operations
}

pub(crate) fn operation(rng: &mut Rng, state: &ExpectedState<'_>) -> Operation {
    match rng.u32(0..12) {
        0..5 => {
            let all = state.scalable();
            let part = &all[rng.usize(0..all.len())];
            let max = if part.kind == "PodCliqueSet" { 3 } else { 4 };
            let replicas = rng.u32(part.min.min(max)..=max);
            Operation::Scale { kind: part.kind.into(), name: part.name.clone(), replicas }
        }
        5..8 => {
            let gangs = state.gangs();
            let groups: Vec<_> = gangs.iter().flat_map(|gang| &gang.groups).collect();
            let group = groups[rng.usize(0..groups.len())];
            let by = LossCause::ALL[rng.usize(0..LossCause::ALL.len())];
            Operation::LosePod { clique: group.clique.clone(), number: rng.usize(0..group.replicas), by }
        }
        8 => Operation::DeleteGangResource { number: rng.usize(0..state.gangs().len()) },
        9 => Operation::Recreate,
        10 => Operation::NodeJoins,
        _ => Operation::NodeLeaves,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use conformance_history::list;

    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_workload() {
        assert_eq!(workload(7), workload(7));
        assert_ne!(workload(7), workload(8));
    }

    /// CI runs these seeds.
    #[test]
    fn the_first_hundred_seeds_contain_every_shape_and_operation() {
        let mut seen = BTreeSet::new();
        for workload in (0..100).map(workload) {
            let template = &workload.pcs["spec"]["template"];
            seen.insert(format!("{} cliques", list(&template["cliques"]).len()));
            for group in list(&template["podCliqueScalingGroups"]) {
                seen.insert(format!("group minimum {}", group["minAvailable"]));
            }
            seen.insert(format!("constrained {:?}", workload.constrained_part()));
            seen.insert(format!("short {}", workload.begins_short));
            for operation in &workload.operations {
                seen.insert(match operation {
                    Operation::Scale { kind, .. } => format!("scale {kind}"),
                    Operation::LosePod { by, .. } => format!("lose {by:?}"),
                    Operation::DeleteGangResource { .. } => "delete".into(),
                    other => format!("{other:?}"),
                });
            }
        }
        let cliques = (1..=4).map(|count| format!("{count} cliques"));
        let groups = (1..=3).map(|min| format!("group minimum {min}"));
        let constraints = ["None", "PodCliqueSet", "ScalingGroup", "Clique"];
        let constraints = constraints.map(|part| format!("constrained {part}"));
        let scales =
            ["PodCliqueSet", "PodCliqueScalingGroup", "PodClique"].map(|kind| format!("scale {kind}"));
        let losses = LossCause::ALL.map(|by| format!("lose {by:?}"));
        let others = ["short true", "short false", "delete", "Recreate", "NodeJoins", "NodeLeaves"];
        let wanted: BTreeSet<_> = cliques
            .chain(groups)
            .chain(constraints)
            .chain(scales)
            .chain(losses)
            .chain(others.map(str::to_owned))
            .collect();
        assert_eq!(wanted.difference(&seen).collect::<Vec<_>>(), Vec::<&String>::new());
    }

    #[test]
    fn workloads_are_within_the_limits() {
        for workload in (0..300).map(workload) {
            let state = ExpectedState::of(&workload);
            assert!(state.max_pods() as usize <= MAX_PODS, "{}", workload.text());
            assert!(!workload.begins_short || state.minimum_pods() > 1);
        }
    }
}
