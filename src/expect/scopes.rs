//! The parts of a PodCliqueSet that an operator terminates and updates as a whole. Names and minimums come
//! from the manifest, and the current number of replicas from live objects.

use std::fmt;

use conformance_contract::names;
use conformance_history::{Pod, count, list, text};
use serde_json::Value;

use crate::scaling::is_index;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetReplica {
    pub set: String,
    pub index: usize,
    pub standalone: Vec<Clique>,
    pub groups: Vec<ScalingGroup>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clique {
    pub name: String,
    pub min: usize,
    pub replicas: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalingGroup {
    pub name: String,
    pub min: usize,
    pub replicas: usize,
    members: Vec<Clique>,
}

impl ScalingGroup {
    pub fn replica(&self, j: usize) -> impl Iterator<Item = Clique> {
        let named = move |member: &Clique| Clique {
            name: format!("{}-{j}-{}", self.name, member.name),
            ..member.clone()
        };
        self.members.iter().map(named)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// A replica of a PodCliqueSet, with its base PodGang and its scaled PodGangs.
    Replica {
        set: String,
        index: usize,
    },
    GroupReplica {
        group: String,
        index: usize,
    },
}

impl Scope {
    pub fn has(&self, pod: Pod<'_>) -> bool {
        let (of, name, replica, index) = match self {
            Self::Replica { set, index } => (names::PART_OF, set, names::REPLICA_INDEX, index),
            Self::GroupReplica { group, index } => {
                (names::SCALING_GROUP, group, names::SCALING_GROUP_REPLICA_INDEX, index)
            }
        };
        pod.label(of) == Some(name) && pod.label(replica).and_then(|found| found.parse().ok()) == Some(*index)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replica { set, index } => write!(f, "replica {index} of PodCliqueSet {set}"),
            Self::GroupReplica { group, index } => write!(f, "replica {index} of scaling group {group}"),
        }
    }
}

impl SetReplica {
    pub fn scope(&self) -> Scope {
        Scope::Replica { set: self.set.clone(), index: self.index }
    }
}

/// The template of the PodClique `<set>-<index>-<clique>` or `<set>-<index>-<group>-<index>-<clique>`.
pub fn clique_template<'a>(template: &'a Value, set: &str, name: &str) -> Option<&'a Value> {
    let rest = name.strip_prefix(set)?.strip_prefix('-')?.split_once('-')?.1;
    let clique = group_member(template, set, name).map_or(rest, |member| member.clique);
    list(&template["cliques"]).iter().find(|found| found["name"] == clique)
}

#[derive(Debug, Clone, Copy)]
pub struct GroupMember<'a, 'n> {
    pub group: &'a Value,
    /// The index of the group's replica.
    pub index: &'n str,
    pub clique: &'n str,
}

/// The scaling group of the PodClique `<set>-<index>-<group>-<index>-<clique>`.
pub fn group_member<'a, 'n>(template: &'a Value, set: &str, name: &'n str) -> Option<GroupMember<'a, 'n>> {
    let rest = name.strip_prefix(set)?.strip_prefix('-')?.split_once('-')?.1;
    list(&template["podCliqueScalingGroups"]).iter().find_map(|group| {
        let (index, clique) = rest.strip_prefix(text(&group["name"]))?.strip_prefix('-')?.split_once('-')?;
        let is_member = is_index(index) && list(&group["cliqueNames"]).iter().any(|member| member == clique);
        is_member.then_some(GroupMember { group, index, clique })
    })
}

/// An object that needs an autoscaler: a clique or scaling group of a replica, with a scale configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaled {
    pub kind: &'static str,
    pub name: String,
    pub config: Value,
}

pub fn scaled(pcs: &Value) -> impl Iterator<Item = Scaled> {
    let template = &pcs["spec"]["template"];
    let config = |of: &Value, field: &str| Some(of[field].clone()).filter(Value::is_object);
    replicas(pcs).into_iter().flat_map(move |replica| {
        let named = |full: &str, name: &Value| {
            full.strip_prefix(&format!("{}-{}-", replica.set, replica.index)) == name.as_str()
        };
        let cliques = replica.standalone.iter().filter_map(|clique| {
            let own = list(&template["cliques"]).iter().find(|found| named(&clique.name, &found["name"]))?;
            let config = config(&own["spec"], "autoScalingConfig")?;
            Some(Scaled { kind: "PodClique", name: clique.name.clone(), config })
        });
        let groups = replica.groups.iter().filter_map(|group| {
            let all = list(&template["podCliqueScalingGroups"]);
            let config = config(all.iter().find(|found| named(&group.name, &found["name"]))?, "scaleConfig")?;
            Some(Scaled { kind: "PodCliqueScalingGroup", name: group.name.clone(), config })
        });
        cliques.chain(groups).collect::<Vec<_>>()
    })
}

/// How many replicas must keep running during an update: `min`, or one fewer if `min` is all of them.
pub fn floor(min: usize, replicas: usize) -> usize {
    min.min(replicas.saturating_sub(1))
}

pub fn replicas(pcs: &Value) -> Vec<SetReplica> {
    let template = &pcs["spec"]["template"];
    let groups = list(&template["podCliqueScalingGroups"]);
    let clique = |template: &Value, name: String| {
        let replicas = count(&template["spec"]["replicas"]).unwrap_or(1).max(1);
        Clique { name, min: count(&template["spec"]["minAvailable"]).unwrap_or(replicas), replicas }
    };
    let named = |name: &Value| list(&template["cliques"]).iter().find(|clique| clique["name"] == *name);
    let is_grouped = |name: &Value| groups.iter().any(|group| list(&group["cliqueNames"]).contains(name));
    let replica = |index: usize| {
        let set = text(&pcs["metadata"]["name"]);
        let standalone = list(&template["cliques"]).iter().filter(|clique| !is_grouped(&clique["name"]));
        let group = |group: &Value| ScalingGroup {
            name: format!("{set}-{index}-{}", text(&group["name"])),
            min: count(&group["minAvailable"]).unwrap_or(1),
            replicas: count(&group["replicas"]).unwrap_or(1),
            members: list(&group["cliqueNames"])
                .iter()
                .filter_map(|name| Some(clique(named(name)?, text(name).to_owned())))
                .collect(),
        };
        SetReplica {
            set: set.to_owned(),
            index,
            standalone: standalone
                .map(|found| clique(found, format!("{set}-{index}-{}", text(&found["name"]))))
                .collect(),
            groups: groups.iter().map(group).collect(),
        }
    };
    (0..count(&pcs["spec"]["replicas"]).unwrap_or(0)).map(replica).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_replica_has_its_cliques_and_groups() {
        let pcs = json!({"metadata": {"name": "w"}, "spec": {"replicas": 2, "template": {
            "cliques": [{"name": "a", "spec": {"replicas": 3, "minAvailable": 2}}, {"name": "b", "spec": {}}],
            "podCliqueScalingGroups": [{"name": "sg", "replicas": 3, "minAvailable": 2, "cliqueNames": ["b"]}],
        }}});
        let found = replicas(&pcs);
        assert_eq!(found.iter().map(|replica| replica.index).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(found[1].standalone, [Clique { name: "w-1-a".into(), min: 2, replicas: 3 }]);
        let group = &found[1].groups[0];
        assert_eq!((group.name.as_str(), group.min, group.replicas), ("w-1-sg", 2, 3));
        assert_eq!(
            group.replica(4).collect::<Vec<_>>(),
            [Clique { name: "w-1-sg-4-b".into(), min: 1, replicas: 1 }]
        );
    }

    #[test]
    fn a_scope_has_no_pods_of_another_index_or_name() {
        let pod = json!({"metadata": {"labels": {
            names::PART_OF: "w", names::REPLICA_INDEX: "1",
            names::SCALING_GROUP: "w-1-sg", names::SCALING_GROUP_REPLICA_INDEX: "0",
        }}});
        let replica = |set: &str, index| Scope::Replica { set: set.into(), index }.has(Pod(&pod));
        let group = |group: &str, index| Scope::GroupReplica { group: group.into(), index }.has(Pod(&pod));
        assert!(replica("w", 1) && group("w-1-sg", 0));
        assert!(!replica("w", 0) && !replica("w-1", 1) && !group("w-1-sg", 1) && !group("w-0-sg", 0));
    }

    #[rstest::rstest]
    #[case("w-0-a", Some("a"))]
    #[case("w-2-sg-12-b", Some("b"))]
    #[case("w-0-sg-0-a", None)]
    #[case("w-0-c", None)]
    #[case("w-0-sg-00-b", Some("sg-00-b"))]
    fn the_template_of_a_clique_is_found_by_its_name(#[case] clique: &str, #[case] wanted: Option<&str>) {
        let template = json!({
            "cliques": [{"name": "a"}, {"name": "b"}, {"name": "sg-00-b"}],
            "podCliqueScalingGroups": [{"name": "sg", "cliqueNames": ["b"]}],
        });
        let found = clique_template(&template, "w", clique).map(|found| text(&found["name"]));
        assert_eq!(found, wanted);
        let group = group_member(&template, "w", clique).map(|member| (member.index, member.clique));
        assert_eq!(group.is_some(), clique == "w-2-sg-12-b");
        assert!(group.is_none_or(|group| group == ("12", "b")));
    }

    #[rstest::rstest]
    #[case::surplus(1, 3, 1)]
    #[case::none_to_spare(3, 3, 2)]
    #[case::one(1, 1, 0)]
    #[case::idle(1, 0, 0)]
    fn an_update_may_stop_at_least_one_replica(
        #[case] min: usize,
        #[case] replicas: usize,
        #[case] wanted: usize,
    ) {
        assert_eq!(floor(min, replicas), wanted);
    }
}
