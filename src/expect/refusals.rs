use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::target::Target;
use conformance_history::{list, text};
use serde_json::Value;

use crate::scaling::is_index;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Two cliques would get PodCliques with the same name (ADM-15, ADM-24).
    SameName([String; 2]),
    /// This name contains a dot, which is invalid in a host name (ADM-15).
    Dot(String),
    /// kube-scheduler binds only gangs whose pods have the priority of their PodGroup (KUBE-22).
    Priorities,
    /// The API of gang resources rejects the value of this class (KUBE-23).
    SystemPriority(String),
}

/// Both classes exist in every cluster.
pub const SYSTEM_PRIORITIES: [&str; 2] = ["system-cluster-critical", "system-node-critical"];

/// Returns why admission must refuse a PodCliqueSet, if it must.
pub fn refusal(pcs: &Value, target: Target) -> Option<Refusal> {
    if target.scope() != Some("Tree") {
        return refused_name(pcs);
    }
    refused_name(pcs)
        .or_else(|| has_several_priorities(pcs).then_some(Refusal::Priorities))
        .or_else(|| system_priority(pcs).map(|class| Refusal::SystemPriority(class.to_owned())))
}

pub fn refused_name(pcs: &Value) -> Option<Refusal> {
    let template = &pcs["spec"]["template"];
    let dotted = names(template).chain([text(&pcs["metadata"]["name"])]).find(|name| name.contains('.'));
    dotted.map(|name| Refusal::Dot(name.to_owned())).or_else(|| same_name(template).map(Refusal::SameName))
}

pub fn has_several_priorities(pcs: &Value) -> bool {
    let template = &pcs["spec"]["template"];
    let of_gang = text(&template["priorityClassName"]);
    let own = |clique: &Value| text(&clique["spec"]["podSpec"]["priorityClassName"]).to_owned();
    list(&template["cliques"]).iter().map(own).any(|own| !own.is_empty() && own != of_gang)
}

pub fn system_priority(pcs: &Value) -> Option<&str> {
    let class = text(&pcs["spec"]["template"]["priorityClassName"]);
    SYSTEM_PRIORITIES.contains(&class).then_some(class)
}

fn names(template: &Value) -> impl Iterator<Item = &str> {
    let parts = ["cliques", "podCliqueScalingGroups"].into_iter().flat_map(move |key| list(&template[key]));
    parts.map(|part| text(&part["name"]))
}

/// Returns two cliques whose PodCliques would have the same name, now or after a scale-out.
fn same_name(template: &Value) -> Option<[String; 2]> {
    // Only these indices can collide: if two names are equal, each replica index is a word of the other name.
    let words = names(template).flat_map(|name| name.split('-')).chain(["0"]);
    let indices: BTreeSet<&str> = words.filter(|word| is_index(word)).collect();
    let groups = list(&template["podCliqueScalingGroups"]);
    let mut known: BTreeMap<String, &str> = BTreeMap::new();
    for clique in list(&template["cliques"]) {
        let name = text(&clique["name"]);
        let group = groups.iter().find(|group| list(&group["cliqueNames"]).contains(&clique["name"]));
        let full_names = match group {
            None => vec![name.to_owned()],
            Some(group) => {
                let group = text(&group["name"]);
                indices.iter().map(|index| format!("{group}-{index}-{name}")).collect()
            }
        };
        for full_name in full_names {
            if let Some(other) = known.insert(full_name, name).filter(|other| *other != name) {
                return Some([other.to_owned(), name.to_owned()]);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pcs(standalone: &[&str], groups: &[(&str, &str)]) -> Value {
        let members = groups.iter().map(|(_, member)| member);
        let cliques: Vec<_> = standalone.iter().chain(members).map(|name| json!({"name": name})).collect();
        let groups: Vec<_> =
            groups.iter().map(|(group, member)| json!({"name": group, "cliqueNames": [member]})).collect();
        json!({"metadata": {"name": "s"}, "spec": {"template": {
            "cliques": cliques, "podCliqueScalingGroups": groups,
        }}})
    }

    #[rstest::rstest]
    #[case::first_replica(&["w-0-x"], &[("w", "x")], true)]
    #[case::later_replica(&["w-17-x"], &[("w", "x")], true)]
    #[case::two_groups(&[], &[("w", "1-x"), ("w-0", "x")], true)]
    #[case::leading_zero(&["w-00-x"], &[("w", "x")], false)]
    #[case::no_replica(&["w-x"], &[("w", "x")], false)]
    #[case::no_member(&["w-0", "w-0-y"], &[("w", "x")], false)]
    #[case::longer_member(&["w-0-x"], &[("w", "x-x")], false)]
    #[case::name_of_a_group(&["w"], &[("w", "x")], false)]
    fn cliques_that_lead_to_one_name_are_refused(
        #[case] standalone: &[&str],
        #[case] groups: &[(&str, &str)],
        #[case] collides: bool,
    ) {
        let found = refused_name(&pcs(standalone, groups));
        assert_eq!(matches!(found, Some(Refusal::SameName(_))), collides, "{found:?}");
    }

    #[test]
    fn a_name_with_a_dot_is_refused() {
        assert_eq!(refused_name(&pcs(&["a.b"], &[])), Some(Refusal::Dot("a.b".into())));
        assert_eq!(refused_name(&pcs(&[], &[("a.b", "x")])), Some(Refusal::Dot("a.b".into())));
        let mut set = pcs(&["a"], &[("g", "x")]);
        assert_eq!(refused_name(&set), None);
        set["metadata"]["name"] = "s.t".into();
        assert_eq!(refused_name(&set), Some(Refusal::Dot("s.t".into())));
    }

    #[rstest::rstest]
    #[case::none("", "", false)]
    #[case::of_the_set("high", "", false)]
    #[case::same("high", "high", false)]
    #[case::other("high", "low", true)]
    #[case::of_a_clique("", "low", true)]
    fn a_second_priority_is_refused_by_trees(#[case] of_set: &str, #[case] own: &str, #[case] refused: bool) {
        let mut set = pcs(&["a", "b"], &[]);
        set["spec"]["template"]["priorityClassName"] = of_set.into();
        set["spec"]["template"]["cliques"][1]["spec"] = json!({"podSpec": {"priorityClassName": own}});
        let wanted = refused.then_some(Refusal::Priorities);
        assert_eq!(refusal(&set, Target::KUBE_TREE), wanted);
        assert_eq!(refusal(&set, Target::KUBE_POD_GANG), None);
    }

    #[rstest::rstest]
    #[case::user_defined("high", None)]
    #[case::of_the_cluster(SYSTEM_PRIORITIES[0], Some(SYSTEM_PRIORITIES[0]))]
    #[case::of_nodes(SYSTEM_PRIORITIES[1], Some(SYSTEM_PRIORITIES[1]))]
    fn a_system_class_is_refused_by_trees(#[case] class: &str, #[case] refused: Option<&str>) {
        let mut set = pcs(&["a"], &[]);
        set["spec"]["template"]["priorityClassName"] = class.into();
        let wanted = refused.map(|class| Refusal::SystemPriority(class.to_owned()));
        assert_eq!(refusal(&set, Target::KUBE_TREE), wanted);
        assert_eq!(refusal(&set, Target::KUBE_POD_GANG), None);
    }
}
