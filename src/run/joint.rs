//! Decides whether the pods of all PodCliqueSets of a manifest fit the nodes at the same time.

use std::collections::BTreeSet;

use conformance_expect as expect;
use conformance_expect::Gang;
use conformance_history::{list, text};
use serde_json::{Value, json};

use crate::domain_selectors::{ANY_NAMESPACE, in_domains_of};
use crate::feasibility::{self, Decision, Feasibility, Knowledge};
use crate::manifest::Manifest;
use crate::references::Resolved;

/// `objects` are the Nodes, whose racks and blocks start with [`ANY_NAMESPACE`], the ResourceSlices and the
/// DeviceClasses. With several PodCliqueSets, each path in the result starts with the name of its PodCliqueSet.
pub(crate) fn decide(manifest: &Manifest, objects: &[Value], knowledge: Knowledge) -> Decision {
    let resolve = |set: &Value| {
        let in_domains = in_domains_of(ANY_NAMESPACE, set.clone());
        Resolved::of(&in_domains, manifest, knowledge)
    };
    let resolved: Vec<_> = manifest.sets.iter().map(|(_, set)| resolve(set)).collect();
    let mut decisions = Vec::new();
    for of_set in &resolved {
        let decision = feasibility::decide(&of_set.set, &expect::gangs(&of_set.set), objects, knowledge);
        decisions.push(undecided_by(decision, of_set.undecided.clone()));
    }
    match <[Decision; 1]>::try_from(decisions) {
        Ok([only]) => only,
        Err(several) => together(&resolved, several, objects, knowledge),
    }
}

fn undecided_by(decision: Decision, more: Vec<String>) -> Decision {
    let feasibility = match decision.feasibility {
        Feasibility::Fits if !more.is_empty() => Feasibility::Undecided(more),
        Feasibility::Undecided(why) => Feasibility::Undecided([why, more].concat()),
        decided => decided,
    };
    Decision { feasibility, ..decision }
}

fn together(
    resolved: &[Resolved],
    decisions: Vec<Decision>,
    objects: &[Value],
    knowledge: Knowledge,
) -> Decision {
    let (mut misfits, mut undecided) = (Vec::new(), Vec::new());
    for (of_set, decision) in resolved.iter().zip(decisions) {
        let name = text(&of_set.set["metadata"]["name"]);
        match decision.feasibility {
            Feasibility::Fits => {}
            Feasibility::Undecided(why) => {
                undecided.extend(why.into_iter().map(|why| format!("PodCliqueSet {name}: {why}")));
            }
            Feasibility::Infeasible(found) => {
                for mut misfit in found {
                    misfit.path = format!("PodCliqueSet {name}: {}", misfit.path);
                    misfits.push(misfit);
                }
            }
        }
    }
    if !misfits.is_empty() {
        return Decision { feasibility: Feasibility::Infeasible(misfits), hard_gangs: Vec::new() };
    }
    let (merged, gangs) = merged(resolved);
    let all = feasibility::decide(&merged, &gangs, objects, knowledge);
    let undecided_of_all = match all.feasibility {
        Feasibility::Infeasible(_) => return all,
        Feasibility::Undecided(why) => why,
        Feasibility::Fits => Vec::new(),
    };
    // Reasons that start with a field are already in the list, with the field's path in the manifest.
    undecided.extend(undecided_of_all.into_iter().filter(|why| !why.starts_with("spec.")));
    if resolved.iter().any(|of_set| has_constraint(&of_set.set)) {
        undecided.push("several PodCliqueSets share the nodes, and one has a topology constraint".into());
    }
    undecided_by(Decision { feasibility: Feasibility::Fits, ..all }, undecided)
}

/// Merges all PodCliqueSets into one, without topology constraints.
fn merged(resolved: &[Resolved]) -> (Value, Vec<Gang>) {
    let (mut cliques, mut gangs) = (Vec::new(), Vec::new());
    for Resolved { set, .. } in resolved {
        // The name is unique, because the name of a PodCliqueSet has no slash.
        let unique = |clique: &str| format!("{}/{clique}", text(&set["metadata"]["name"]));
        for clique in list(&set["spec"]["template"]["cliques"]) {
            let spec = &clique["spec"];
            cliques.push(json!({"name": unique(text(&clique["name"])), "spec": spec}));
        }
        for mut gang in expect::gangs(set) {
            for group in &mut gang.groups {
                group.template = unique(&group.template);
            }
            gangs.push(gang);
        }
    }
    let names: BTreeSet<_> = resolved.iter().map(|of_set| text(&of_set.set["metadata"]["name"])).collect();
    let name = names.into_iter().collect::<Vec<_>>().join("+");
    (json!({"metadata": {"name": name}, "spec": {"template": {"cliques": cliques}}}), gangs)
}

fn has_constraint(set: &Value) -> bool {
    let template = &set["spec"]["template"];
    let parts = ["podCliqueScalingGroups", "cliques"].into_iter().flat_map(|key| list(&template[key]));
    std::iter::once(template).chain(parts).any(|part| part["topologyConstraint"].is_object())
}

#[cfg(test)]
mod tests {
    use conformance_contract::names::GPU;

    use super::*;

    fn nodes(count: usize) -> Vec<Value> {
        let node = |index: usize| {
            let amounts = json!({"cpu": "32", "memory": "256Gi", "pods": "110", (GPU): "8"});
            json!({"metadata": {"name": format!("n-{index}")}, "status": {"allocatable": amounts}})
        };
        (0..count).map(node).collect()
    }

    fn set(name: &str, replicas: u32, gpus: u32, template: &str) -> String {
        format!(
            "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {{name: {name}}}\nspec: {{replicas: 1, template: \
             {{{template} cliques: [{{name: a, spec: {{replicas: {replicas}, podSpec: {{containers: [{{name: c, \
             resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}}}]}}}}}}]}}}}\n"
        )
    }

    fn decided(sets: &[String], count: usize) -> Decision {
        decide(&Manifest::read(&sets.join("---\n")).unwrap(), &nodes(count), Knowledge::Complete)
    }

    #[test]
    fn two_pod_clique_sets_that_fill_the_nodes_fit_and_one_more_pod_does_not() {
        let found = decided(&[set("a", 2, 8, ""), set("b", 2, 8, "")], 4);
        assert_eq!(found.feasibility, Feasibility::Fits);
        assert_eq!(found.hard_gangs.iter().sum::<u32>(), 4, "of both PodCliqueSets");
        let Feasibility::Infeasible(misfits) =
            decided(&[set("a", 2, 8, ""), set("b", 3, 8, "")], 4).feasibility
        else {
            panic!("5 nodes are needed")
        };
        assert!(misfits[0].to_string().contains("5 pods request 40 nvidia.com/gpu"), "{}", misfits[0]);
    }

    #[test]
    fn a_misfit_of_one_of_several_pod_clique_sets_names_it() {
        let Feasibility::Infeasible(misfits) =
            decided(&[set("a", 1, 8, ""), set("b", 1, 16, "")], 4).feasibility
        else {
            panic!("no node has 16 GPUs")
        };
        assert!(misfits[0].path.starts_with("PodCliqueSet b: spec.template.cliques[0]."), "{}", misfits[0]);
    }

    #[test]
    fn only_a_scheduler_can_place_pod_clique_sets_alongside_a_constraint() {
        let constraint = "topologyConstraint: {topologyName: conformance-topology, pack: {preferred: rack}},";
        let Feasibility::Undecided(why) =
            decided(&[set("a", 1, 8, constraint), set("b", 1, 8, "")], 4).feasibility
        else {
            panic!("a constraint is not decided")
        };
        assert!(why.iter().any(|why| why.contains("one has a topology constraint")), "{why:?}");
    }
}
