//! The PodCliques that a PodClique waits for at startup. In the base PodGang, it waits for all of a scaling
//! group's replicas in the base. A scaled replica always starts after the base (AON-06), so it waits only for
//! members of its replica. Names are built from the template, and never compared by prefix.

use std::collections::BTreeSet;

use grove_api::{CliqueStartupType, PodCliqueSet, PodCliqueTemplateSpec, names};
use kube::ResourceExt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parent {
    pub name: String,
    pub ready: i32,
}

pub(super) fn parents(
    pcs: &PodCliqueSet,
    clique: &PodCliqueTemplateSpec,
    i: i32,
    group: Option<(&str, i32)>,
) -> Vec<Parent> {
    let mut found = Vec::new();
    for parent in template_parents(pcs, clique) {
        let ready = parent.spec.min_available.unwrap_or(parent.spec.replicas);
        let names = pod_clique_names(pcs, &parent.name, i, group).into_iter();
        found.extend(names.map(|name| Parent { name, ready }));
    }
    found
}

pub(crate) fn has_order(pcs: &PodCliqueSet) -> bool {
    pcs.spec.template.cliques.iter().any(|clique| starts_after_others(pcs, clique))
}

pub(crate) fn starts_after_others(pcs: &PodCliqueSet, clique: &PodCliqueTemplateSpec) -> bool {
    !template_parents(pcs, clique).is_empty()
}

/// Whether the update unit of `clique` starts after the unit of `other`, directly or indirectly. A unit is a
/// standalone clique, or all cliques of a scaling group.
pub(crate) fn follows(pcs: &PodCliqueSet, clique: &str, other: &str) -> bool {
    let template = &pcs.spec.template;
    let unit_of = |clique: &str| {
        let groups = template.pod_clique_scaling_groups.iter();
        let unit =
            groups.map(|group| &group.clique_names).find(|names| names.iter().any(|name| name == clique));
        unit.cloned().unwrap_or_else(|| vec![clique.to_owned()])
    };
    let (mut open, mut reached) = (unit_of(clique), BTreeSet::new());
    while let Some(name) = open.pop() {
        let cliques = template.cliques.iter().filter(|clique| clique.name == name);
        let parents = cliques.flat_map(|clique| template_parents(pcs, clique));
        for parent in parents.flat_map(|parent| unit_of(&parent.name)) {
            if reached.insert(parent.clone()) {
                open.push(parent);
            }
        }
    }
    reached.contains(other)
}

fn template_parents<'a>(
    pcs: &'a PodCliqueSet,
    clique: &PodCliqueTemplateSpec,
) -> Vec<&'a PodCliqueTemplateSpec> {
    let cliques = &pcs.spec.template.cliques;
    match pcs.spec.template.clique_startup_type.unwrap_or_default() {
        CliqueStartupType::AnyOrder => Vec::new(),
        CliqueStartupType::InOrder => {
            let index = cliques.iter().position(|other| other.name == clique.name);
            let previous = index.and_then(|index| index.checked_sub(1));
            previous.map(|previous| &cliques[previous]).into_iter().collect()
        }
        CliqueStartupType::Explicit => {
            let named = clique.spec.starts_after.iter();
            named.filter_map(|name| cliques.iter().find(|other| other.name == *name)).collect()
        }
    }
}

fn pod_clique_names(pcs: &PodCliqueSet, parent: &str, i: i32, group: Option<(&str, i32)>) -> Vec<String> {
    let pcs_name = pcs.name_any();
    let config_of = |pcsg: &str| {
        let mut configs = pcs.spec.template.pod_clique_scaling_groups.iter();
        configs.find(|config| names::scaling_group(&pcs_name, i, &config.name) == pcsg)
    };
    let own = group.and_then(|(pcsg, j)| Some((pcsg, j, config_of(pcsg)?)));
    if let Some((pcsg, j, config)) = own
        && j >= config.min_available.unwrap_or(1)
    {
        let is_member = config.clique_names.iter().any(|name| name == parent);
        return is_member.then(|| names::scaling_group_pod_clique(pcsg, j, parent)).into_iter().collect();
    }
    match pcs.spec.template.group_of(parent) {
        None => vec![names::standalone_pod_clique(&pcs_name, i, parent)],
        Some(config) => {
            let pcsg = names::scaling_group(&pcs_name, i, &config.name);
            let in_base = 0..config.min_available.unwrap_or(1);
            in_base.map(|j| names::scaling_group_pod_clique(&pcsg, j, parent)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pcs(order: &str) -> PodCliqueSet {
        let clique = |name: &str, min: i32, after: &[&str]| json!({"name": name, "spec": {"podSpec": {}, "replicas": 4, "minAvailable": min, "startsAfter": after}});
        serde_json::from_value(json!({"metadata": {"name": "wl"}, "spec": {"replicas": 1, "template": {
            "cliqueStartupType": order,
            "cliques": [
                clique("a", 1, &[]),
                clique("a-b", 2, &["a", "b"]),
                clique("b", 3, &["a"]),
                clique("b-a", 4, &["b", "a-b"]),
            ],
            "podCliqueScalingGroups": [
                {"name": "sg", "replicas": 3, "minAvailable": 2, "cliqueNames": ["b", "b-a"]},
            ],
        }}}))
        .unwrap()
    }

    /// Returns a line for each PodClique: its parents, and how many of their pods must be Ready.
    fn parent_lines(order: &str) -> String {
        let pcs = pcs(order);
        let mut lines = Vec::new();
        for clique in &pcs.spec.template.cliques {
            let replicas: &[Option<i32>] =
                if clique.name.starts_with('a') { &[None] } else { &[Some(0), Some(1), Some(2)] };
            for j in replicas {
                let group = j.map(|j| ("wl-0-sg", j));
                let parents = parents(&pcs, clique, 0, group).into_iter();
                let parents: Vec<_> =
                    parents.map(|parent| format!("{}:{}", parent.name, parent.ready)).collect();
                let replica = j.map_or(String::new(), |j| format!(" in {j}"));
                lines.push(format!("{}{replica}: {}", clique.name, parents.join(" ")));
            }
        }
        lines.join("\n")
    }

    #[test]
    fn with_any_order_no_clique_has_parents() {
        assert!(!has_order(&pcs("CliqueStartupTypeAnyOrder")));
        assert!(parent_lines("CliqueStartupTypeAnyOrder").lines().all(|line| line.ends_with(": ")));
    }

    #[test]
    fn a_clique_follows_cliques_indirectly_and_through_its_group() {
        let followed_lines = |order: &str| {
            let pcs = pcs(order);
            let cliques = ["a", "a-b", "b", "b-a"];
            let followed = |clique: &str| {
                cliques.into_iter().filter(|other| follows(&pcs, clique, other)).collect::<Vec<_>>()
            };
            cliques.map(|clique| format!("{clique}: {}", followed(clique).join(" "))).join("\n")
        };
        insta::assert_snapshot!(followed_lines("CliqueStartupTypeInOrder"), @r"
        a: 
        a-b: a
        b: a a-b b b-a
        b-a: a a-b b b-a
        ");
        insta::assert_snapshot!(followed_lines("CliqueStartupTypeExplicit"), @r"
        a: 
        a-b: a a-b b b-a
        b: a a-b b b-a
        b-a: a a-b b b-a
        ");
    }

    #[test]
    fn in_order_the_parent_is_the_previous_clique() {
        assert!(has_order(&pcs("CliqueStartupTypeInOrder")));
        insta::assert_snapshot!(parent_lines("CliqueStartupTypeInOrder"), @r"
        a: 
        a-b: wl-0-a:1
        b in 0: wl-0-a-b:2
        b in 1: wl-0-a-b:2
        b in 2: 
        b-a in 0: wl-0-sg-0-b:3 wl-0-sg-1-b:3
        b-a in 1: wl-0-sg-0-b:3 wl-0-sg-1-b:3
        b-a in 2: wl-0-sg-2-b:3
        ");
    }

    #[test]
    fn with_explicit_order_the_parents_are_the_named_cliques() {
        insta::assert_snapshot!(parent_lines("CliqueStartupTypeExplicit"), @r"
        a: 
        a-b: wl-0-a:1 wl-0-sg-0-b:3 wl-0-sg-1-b:3
        b in 0: wl-0-a:1
        b in 1: wl-0-a:1
        b in 2: 
        b-a in 0: wl-0-sg-0-b:3 wl-0-sg-1-b:3 wl-0-a-b:2
        b-a in 1: wl-0-sg-0-b:3 wl-0-sg-1-b:3 wl-0-a-b:2
        b-a in 2: wl-0-sg-2-b:3
        ");
    }
}
