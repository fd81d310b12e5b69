//! The topology constraints of a PodCliqueSet: the groups of pods that must be in one domain.

use conformance_contract::names;
use conformance_expect::domains::LEVELS;
use conformance_expect::{Gang, Group as PodGroup};
use conformance_history::{list, text};
use serde_json::Value;

use super::Misfit;
use super::node_rules::Node;
use super::packing::Group;
use super::pods::Shape;

#[derive(Debug, Clone, Copy)]
struct Constraint<'a> {
    value: &'a Value,
    topology: Option<&'a str>,
}

impl<'a> Constraint<'a> {
    fn level(self) -> Option<&'a str> {
        let pack = &self.value["pack"]["required"];
        pack.as_str().or_else(|| self.value["packDomain"].as_str())
    }

    fn field(self) -> &'static str {
        if self.value["packDomain"].is_string() { "packDomain" } else { "pack.required" }
    }
}

fn constraints(pcs: &Value) -> Vec<(String, Constraint<'_>)> {
    let template = &pcs["spec"]["template"];
    let inherited = template["topologyConstraint"]["topologyName"].as_str();
    let mut found = vec![("spec.template".to_owned(), &template["topologyConstraint"])];
    for key in ["podCliqueScalingGroups", "cliques"] {
        for (index, part) in list(&template[key]).iter().enumerate() {
            found.push((format!("spec.template.{key}[{index}]"), &part["topologyConstraint"]));
        }
    }
    let mut constraints = Vec::new();
    for (part, value) in found.into_iter().filter(|(_, value)| value.is_object()) {
        let topology = value["topologyName"].as_str().or(inherited);
        constraints.push((format!("{part}.topologyConstraint"), Constraint { value, topology }));
    }
    constraints
}

fn carried(nodes: &[Node<'_>]) -> Vec<&'static str> {
    let has_domain =
        |key: &str| nodes.iter().any(|node| node.label(key).is_some_and(|value| !value.is_empty()));
    LEVELS.iter().filter(|(_, key)| has_domain(key)).map(|(name, _)| *name).collect()
}

pub(super) fn misfits(pcs: &Value, nodes: &[Node<'_>]) -> Vec<Misfit> {
    let carried = carried(nodes);
    let ours = constraints(pcs).into_iter().filter(|(_, of)| of.topology == Some(names::TOPOLOGY));
    let missing = ours.filter_map(|(path, constraint)| {
        let level = constraint.level().filter(|level| !carried.contains(level))?;
        let has = match carried.is_empty() {
            true => "the nodes have no label of a level".to_owned(),
            false => format!("the nodes have labels for {} only", carried.join(", ")),
        };
        Some(Misfit {
            path: format!("{path}.{}", constraint.field()),
            asks: format!("the pods must be in one {level}"),
            has,
            remedy: "require a level that the nodes have, or none".into(),
        })
    });
    missing.collect()
}

/// Returns the required constraints that refer to a ClusterTopologyBinding other than the suite's.
pub(super) fn undecided(pcs: &Value) -> Vec<String> {
    let foreign = constraints(pcs).into_iter().filter(|(_, of)| of.topology != Some(names::TOPOLOGY));
    let required = foreign.filter(|(_, of)| of.level().is_some());
    required
        .map(|(path, of)| match of.topology {
            Some(name) => {
                format!("{path}.topologyName: the levels of ClusterTopologyBinding {name} are unknown")
            }
            None => format!("{path}.topologyName: the ClusterTopologyBinding is missing"),
        })
        .collect()
}

pub(super) fn levels(nodes: &[Node<'_>]) -> Vec<Vec<Option<usize>>> {
    let of_level = |key: &str| {
        let values: std::collections::BTreeSet<&str> =
            nodes.iter().filter_map(|node| node.label(key)).collect();
        let known: Vec<_> = values.into_iter().filter(|value| !value.is_empty()).collect();
        let domain = |node: &Node<'_>| known.iter().position(|value| node.label(key) == Some(value));
        nodes.iter().map(domain).collect()
    };
    LEVELS.iter().map(|(_, key)| of_level(key)).collect()
}

#[derive(Debug)]
pub(super) struct Packed {
    pub(super) path: String,
    pub(super) cliques: Vec<String>,
    pub(super) level: &'static str,
    pub(super) group: Group,
}

pub(super) struct Groups<'a> {
    pub(super) pcs: &'a Value,
    pub(super) shapes: &'a [Shape<'a>],
    pub(super) count_of: fn(&PodGroup) -> usize,
}

/// The replica of a scaling group, or `None` for a standalone clique, and its podgroups.
type Replica<'a> = (Option<&'a (String, usize)>, Vec<&'a PodGroup>);

impl Groups<'_> {
    /// Returns the groups of a gang. Also adds each group with a topology constraint to `packed`.
    pub(super) fn of_gang(&self, gang: &Gang, packed: &mut Vec<Packed>) -> Group {
        let constraints = constraints(self.pcs);
        let find = |part: &str| {
            let path = format!("{part}.topologyConstraint");
            constraints.iter().find(|(known, _)| *known == path).map(|(_, of)| (path, *of))
        };
        let template = &self.pcs["spec"]["template"];
        let set = text(&self.pcs["metadata"]["name"]);
        let mut replicas: Vec<Replica<'_>> = Vec::new();
        for podgroup in &gang.groups {
            let replica = podgroup.scaling_group.as_ref();
            match replicas.iter_mut().find(|(known, _)| replica.is_some() && *known == replica) {
                Some((_, podgroups)) => podgroups.push(podgroup),
                None => replicas.push((replica, vec![podgroup])),
            }
        }
        let scaling_group = |replica: &(String, usize)| {
            let all = list(&template["podCliqueScalingGroups"]).iter();
            let name = |found: &Value| format!("{set}-{}-{}", gang.replica, text(&found["name"]));
            let index =
                all.enumerate().find(|(_, found)| name(found) == replica.0).map(|(index, _)| index)?;
            find(&format!("spec.template.podCliqueScalingGroups[{index}]"))
        };
        let mut whole = Group::default();
        let mut own = None;
        for (replica, podgroups) in replicas {
            let constraint = replica.and_then(scaling_group);
            if !gang.is_base && own.is_none() {
                own.clone_from(&constraint);
            }
            let mut part = Group::default();
            for podgroup in podgroups.iter().copied() {
                let Some(kind) = self.shapes.iter().position(|shape| shape.template == podgroup.template)
                else {
                    continue;
                };
                let pods = vec![(kind, (self.count_of)(podgroup))];
                let clique = Group { pods, ..Group::default() };
                let of_clique = find(&format!("spec.template.cliques[{}]", self.shapes[kind].index));
                part.groups.push(constrained(clique, of_clique, &[podgroup], packed));
            }
            whole.groups.push(constrained(part, constraint, &podgroups, packed));
        }
        // For a scaled PodGang, the constraint of the scaling group replaces that of the PodCliqueSet.
        let of_set = if own.is_some() { None } else { find("spec.template") };
        constrained(whole, of_set, &gang.groups.iter().collect::<Vec<_>>(), packed)
    }
}

fn constrained(
    group: Group,
    constraint: Option<(String, Constraint<'_>)>,
    podgroups: &[&PodGroup],
    packed: &mut Vec<Packed>,
) -> Group {
    let Some((path, of)) = constraint.filter(|(_, of)| of.topology == Some(names::TOPOLOGY)) else {
        return group;
    };
    let Some(level) = LEVELS.iter().position(|(name, _)| Some(*name) == of.level()) else { return group };
    let group = Group { level: Some(level), ..group };
    packed.push(Packed {
        path: format!("{path}.{}", of.field()),
        cliques: podgroups.iter().map(|podgroup| podgroup.clique.clone()).collect(),
        level: LEVELS[level].0,
        group: group.clone(),
    });
    group
}
