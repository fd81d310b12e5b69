//! Decides before a run whether the pods of a PodCliqueSet fit the nodes. It is a pure function of the
//! manifest and the Node objects, and follows kube-scheduler's filters.
//!
//! - `pods`: what one pod requests. `node_rules`: labels and taints. `fields`: references to objects that do
//!   not exist, and fields that only a scheduler can evaluate.
//! - `topology`: the groups that must be in one domain. `packing`, `search`: whether all pods fit at once.

mod fields;
mod node_rules;
mod packing;
mod pods;
mod search;
mod topology;

use std::collections::BTreeSet;
use std::fmt;

use conformance_contract::names::GPU;
use conformance_expect::{Gang, Group as PodGroup};
use conformance_facts::quantity::Amount;
use serde_json::Value;

use self::node_rules::Node;
use self::packing::{Group, Kind, Packing, Problem};
use self::pods::{Shape, shown};
use self::topology::{Groups, Packed};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    pub path: String,
    pub asks: String,
    pub has: String,
    pub remedy: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, and {}: {}", self.path, self.asks, self.has, self.remedy)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knowledge {
    /// All labels, taints, resources and objects are known, because the nodes are simulated.
    Complete,
    /// Only what the harness sets is known: real nodes and clusters have more labels, resources and objects.
    OfHarness,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Feasibility {
    /// Every simulated scheduler places all pods.
    Fits,
    Undecided(Vec<String>),
    Infeasible(Vec<Misfit>),
}

#[derive(Debug)]
pub struct Decision {
    pub feasibility: Feasibility,
    /// The number of pods of hard gangs on each node, as a scheduler could place them.
    pub hard_gangs: Vec<u32>,
}

/// Rejects a PodCliqueSet only if no scheduler could place all pods. With [`Knowledge::OfHarness`], a reason
/// that depends on unknown labels, taints, resources or objects makes the result undecided instead.
pub fn decide(pcs: &Value, gangs: &[Gang], objects: &[Value], knowledge: Knowledge) -> Decision {
    let is_slice = |object: &&Value| object["spec"]["driver"].is_string();
    let has_devices = objects.iter().any(|object| is_slice(&object));
    let (classes, others): (Vec<_>, Vec<_>) =
        objects.iter().partition(|object| object["kind"] == "DeviceClass");
    let nodes: Vec<_> = others.into_iter().filter(|object| !is_slice(object)).map(Node::of).collect();
    let provided = if has_devices { fields::resources_of(&classes) } else { BTreeSet::new() };
    let mut shapes = pods::shapes(pcs, gangs);
    let mut undecided: BTreeSet<String> = topology::undecided(pcs).into_iter().collect();
    undecided.extend(fields::undecided_metadata(pcs));
    let mut of_set = fields::misfits_of_set(pcs);
    if has_devices {
        undecided.extend(fields::without_device_claims(&mut of_set));
    }
    let mut misfits = topology::misfits(pcs, &nodes);
    if knowledge == Knowledge::Complete {
        misfits.extend(of_set);
    } else {
        undecided.extend(of_set.into_iter().map(|misfit| misfit.path));
    }
    let mut kinds = Vec::new();
    for shape in &mut shapes {
        undecided.extend(fields::undecided(shape, &nodes));
        undecided.extend(shape.without_resources_of_devices(&nodes, &provided));
        let mut unsure = fields::misfits(shape);
        if has_devices {
            undecided.extend(fields::without_device_claims(&mut unsure));
        }
        unsure.extend(fields::misfits_of_keys(shape, &nodes));
        let mut allowed = vec![true; nodes.len()];
        match node_rules::allowed(shape, &nodes) {
            Ok(found) if knowledge == Knowledge::Complete => allowed = found,
            Ok(found) if found.contains(&false) => {
                undecided.insert(format!("{}: labels and taints of the nodes are unknown", shape.path));
            }
            Ok(_) => {}
            Err(misfit) => unsure.push(misfit),
        }
        if knowledge == Knowledge::Complete {
            misfits.extend(unsure);
        } else {
            undecided.extend(unsure.into_iter().map(|misfit| misfit.path));
            let unknown = shape.requests.keys().filter(|name| !is_of_harness(name));
            undecided.extend(unknown.map(|name| format!("{}: the nodes' {name} is unknown", shape.path)));
            shape.requests.retain(|name, _| is_of_harness(name));
        }
        misfits.extend(shape.misfit(&nodes, &allowed));
        kinds.push(allowed);
    }
    let problem = problem(&shapes, kinds, &nodes);
    let hard_gangs = |packing: Packing| match packing {
        Packing::Fits(placement) | Packing::Sometimes(placement) => placement,
        Packing::Never | Packing::Unknown => evenly(gangs.iter().map(Gang::minimum).sum(), nodes.len()),
    };
    if !misfits.is_empty() {
        return Decision { feasibility: Feasibility::Infeasible(misfits), hard_gangs: Vec::new() };
    }
    let (groups, packed) = groups(pcs, gangs, &shapes, |group| group.replicas);
    match together(&problem, &groups, &packed, &shapes, gangs) {
        Ok(why) => undecided.extend(why),
        Err(misfit) => {
            return Decision { feasibility: Feasibility::Infeasible(vec![misfit]), hard_gangs: Vec::new() };
        }
    }
    let (minimums, _) = self::groups(pcs, gangs, &shapes, |group| group.min);
    let feasibility = match undecided.is_empty() {
        true => Feasibility::Fits,
        false => Feasibility::Undecided(undecided.into_iter().collect()),
    };
    Decision { feasibility, hard_gangs: hard_gangs(problem.pack(&minimums)) }
}

fn is_of_harness(resource: &str) -> bool {
    resource == GPU || resource == "pods"
}

fn evenly(pods: usize, nodes: usize) -> Vec<u32> {
    let of_node = |node: usize| u32::try_from(pods / nodes + usize::from(node < pods % nodes));
    (0..nodes).map(|node| of_node(node).unwrap_or(u32::MAX)).collect()
}

fn problem(shapes: &[Shape<'_>], allowed: Vec<Vec<bool>>, nodes: &[Node<'_>]) -> Problem {
    let resources: BTreeSet<&str> =
        shapes.iter().flat_map(|shape| shape.requests.keys()).map(String::as_str).collect();
    let capacity = |node: &Node<'_>| {
        resources.iter().map(|name| node.allocatable.get(name).copied().unwrap_or(0)).collect()
    };
    let kind = |(shape, allowed): (&Shape<'_>, Vec<bool>)| Kind {
        demand: resources.iter().map(|name| shape.requests.get(*name).copied().unwrap_or(0)).collect(),
        ports: shape.ports.clone(),
        allowed,
    };
    Problem {
        capacity: nodes.iter().map(capacity).collect(),
        kinds: shapes.iter().zip(allowed).map(kind).collect(),
        levels: topology::levels(nodes),
    }
}

fn groups(
    pcs: &Value,
    gangs: &[Gang],
    shapes: &[Shape<'_>],
    count_of: fn(&PodGroup) -> usize,
) -> (Vec<Group>, Vec<Packed>) {
    let mut packed = Vec::new();
    let groups = Groups { pcs, shapes, count_of };
    let all = gangs.iter().map(|gang| groups.of_gang(gang, &mut packed)).collect();
    (all, packed)
}

/// Decides whether each constrained group fits a domain and all pods fit together; if undecided, a reason.
fn together(
    problem: &Problem,
    groups: &[Group],
    packed: &[Packed],
    shapes: &[Shape<'_>],
    gangs: &[Gang],
) -> Result<Option<String>, Misfit> {
    // Replicas of one group need the same room, so checking one of them is enough.
    let mut seen = BTreeSet::new();
    for part in packed {
        let mut pods = part.group.all_pods();
        pods.sort_unstable();
        if seen.insert((&part.path, pods))
            && problem.pack(std::slice::from_ref(&part.group)) == Packing::Never
        {
            return Err(Misfit {
                path: part.path.clone(),
                asks: in_one_domain(part, shapes),
                has: format!("no {} has room for them", part.level),
                remedy: format!("pass --nodes with more GPUs per node, or require no {}", part.level),
            });
        }
    }
    let all: Vec<usize> = groups.iter().flat_map(Group::all_pods).collect();
    match problem.pack(groups) {
        Packing::Fits(_) => Ok(None),
        Packing::Sometimes(_) => Ok(Some(
            "the pods fit only if they are placed in a particular way: pass --nodes with more nodes".into(),
        )),
        Packing::Unknown => Ok(Some("there are too many pods and nodes to decide whether all fit".into())),
        Packing::Never => {
            let count: usize = gangs.iter().map(Gang::pods).sum();
            let requested = [requested(shapes, &all), host_ports(shapes)];
            let requested: Vec<_> = requested.into_iter().filter(|part| !part.is_empty()).collect();
            let available = available(problem, shapes);
            let has = match problem.capacity.len() {
                1 => format!("one node, with {available}, does not hold all of them"),
                nodes => format!("{nodes} nodes, with {available} in all, do not hold all of them"),
            };
            Err(Misfit {
                path: "spec".into(),
                asks: if requested.is_empty() {
                    format!("there are {count} pods")
                } else {
                    format!("{count} pods request {}", requested.join(", and "))
                },
                has,
                remedy: "pass --nodes with more nodes, or use fewer replicas".into(),
            })
        }
    }
}

fn requested(shapes: &[Shape<'_>], kinds: &[usize]) -> String {
    let total = pods::total(kinds.iter().map(|kind| (&shapes[*kind].requests, 1)));
    let total = total.into_iter().filter(|(name, _)| *name != "pods");
    let all: Vec<_> = total.map(|(name, amount)| amount_of(name, amount)).collect();
    all.join(", ")
}

/// The host ports of all cliques, or an empty text.
fn host_ports(shapes: &[Shape<'_>]) -> String {
    let ports: BTreeSet<u64> = shapes.iter().flat_map(|shape| &shape.ports).map(|port| port.port).collect();
    if ports.is_empty() {
        return String::new();
    }
    let ports: Vec<_> = ports.iter().map(u64::to_string).collect();
    format!("host ports that only one pod of a node can use ({})", ports.join(", "))
}

fn available(problem: &Problem, shapes: &[Shape<'_>]) -> String {
    let names: BTreeSet<&String> = shapes.iter().flat_map(|shape| shape.requests.keys()).collect();
    let total = |resource: usize| problem.capacity.iter().map(|node| node[resource]).sum::<Amount>();
    let all = names.into_iter().enumerate().map(|(index, name)| match name.as_str() {
        "pods" => format!("room for {}", amount_of(name, total(index))),
        _ => amount_of(name, total(index)),
    });
    all.collect::<Vec<_>>().join(", ")
}

fn in_one_domain(part: &Packed, shapes: &[Shape<'_>]) -> String {
    let pods = part.group.all_pods();
    let requested = requested(shapes, &pods);
    let what = if requested.is_empty() { String::new() } else { format!(", which request {requested},") };
    format!("PodCliques {} have {} pods{what} in one {}", part.cliques.join(", "), pods.len(), part.level)
}

fn amount_of(resource: &str, amount: Amount) -> String {
    format!("{} {resource}", shown(resource, amount))
}

#[cfg(test)]
#[path = "decision_tests.rs"]
mod tests;
