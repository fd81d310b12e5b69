//! Draws a workload from a seed. Small shapes and operations are frequent, and a few dozen seeds cover
//! everything in the model.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::course::Course;
use crate::plan::{How, Operation, Plan, one_rack};

/// More pods take time and reveal nothing more.
const MOST_PODS: usize = 20;
/// Maximum number of podgroups in a PodGang, a limit of the Workload API.
const MOST_PODGROUPS: usize = 8;
const MOST_OPERATIONS: usize = 5;
/// Names contain the seed modulo this number: names of close seeds differ, and names stay short.
const NAMES: u64 = 1_000_000;

pub(crate) fn plan(seed: u64) -> Plan {
    let mut rng = Rng::with_seed(seed);
    let set = loop {
        let set = set(&mut rng, &format!("g{}", seed % NAMES));
        let course = Course::of_set(&set);
        let podgroups = course.gangs().iter().map(|gang| gang.groups.len()).max();
        if course.pods() <= MOST_PODS && podgroups <= Some(MOST_PODGROUPS) {
            break set;
        }
    };
    let begins_short = Course::of_set(&set).minimum() > 1 && one_in(&mut rng, 3);
    let operations = operations(&mut rng, &set);
    Plan { set, begins_short, operations }
}

fn one_in(rng: &mut Rng, count: u32) -> bool {
    rng.u32(0..count) == 0
}

fn set(rng: &mut Rng, name: &str) -> Value {
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

fn clique(rng: &mut Rng, name: &str) -> Value {
    let replicas = rng.u32(1..=3);
    let resources = json!({"limits": {"nvidia.com/gpu": 1}});
    let container = json!({"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": resources});
    let mut spec = json!({"roleName": name, "replicas": replicas, "podSpec": {"containers": [container]}});
    // Without it, the minimum equals the replicas.
    if !one_in(rng, 4) {
        spec["minAvailable"] = rng.u32(1..=replicas).into();
    }
    json!({"name": name, "spec": spec})
}

fn operations(rng: &mut Rng, set: &Value) -> Vec<Operation> {
    let mut course = Course::of_set(set);
    let mut taken = Vec::new();
    for _ in 0..rng.usize(1..=MOST_OPERATIONS) {
        let operation = operation(rng, &course);
        let mut with = course.clone();
        if with.take(&operation) && with.pods() <= MOST_PODS {
            course = with;
            taken.push(operation);
        }
    }
    taken
}

fn operation(rng: &mut Rng, course: &Course<'_>) -> Operation {
    match rng.u32(0..12) {
        0..5 => {
            let all = course.scalable();
            let of = &all[rng.usize(0..all.len())];
            let most = if of.kind == "PodCliqueSet" { 3 } else { 4 };
            let replicas = rng.u32(of.least.min(most)..=most);
            Operation::Scale { kind: of.kind.into(), name: of.name.clone(), replicas }
        }
        5..8 => {
            let gangs = course.gangs();
            let groups: Vec<_> = gangs.iter().flat_map(|gang| &gang.groups).collect();
            let group = groups[rng.usize(0..groups.len())];
            let by = How::ALL[rng.usize(0..How::ALL.len())];
            Operation::LosePod { clique: group.clique.clone(), number: rng.usize(0..group.replicas), by }
        }
        8 => Operation::DeleteGangResource { number: rng.usize(0..course.gangs().len()) },
        9 => Operation::MakeAgain,
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
    fn a_seed_is_a_workload() {
        assert_eq!(plan(7), plan(7));
        assert_ne!(plan(7), plan(8));
    }

    /// The first seeds, which the tests run, cover everything.
    #[test]
    fn everything_comes_up() {
        let mut seen = BTreeSet::new();
        for plan in (0..100).map(plan) {
            let template = &plan.set["spec"]["template"];
            seen.insert(format!("{} cliques", list(&template["cliques"]).len()));
            for group in list(&template["podCliqueScalingGroups"]) {
                seen.insert(format!("group minimum {}", group["minAvailable"]));
            }
            seen.insert(format!("constrained {:?}", plan.constrained()));
            seen.insert(format!("short {}", plan.begins_short));
            for operation in &plan.operations {
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
        let constraints = ["Nowhere", "Set", "Group", "Clique"].map(|place| format!("constrained {place}"));
        let scales =
            ["PodCliqueSet", "PodCliqueScalingGroup", "PodClique"].map(|kind| format!("scale {kind}"));
        let losses = How::ALL.map(|by| format!("lose {by:?}"));
        let others = ["short true", "short false", "delete", "MakeAgain", "NodeJoins", "NodeLeaves"];
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
    fn limits_are_kept() {
        for plan in (0..300).map(plan) {
            let course = Course::of(&plan);
            assert!(course.most_pods() as usize <= MOST_PODS, "{}", plan.text());
            assert!(!plan.begins_short || course.minimum() > 1);
        }
    }
}
