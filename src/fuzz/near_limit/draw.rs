use conformance_contract::names::{BLOCK, RACK, TOPOLOGY};
use fastrand::Rng;
use serde_json::{Value, json};

use super::Shape;
use super::nodes::{Node, holding, split};
use super::pods::{Request, Resource, amounts, pod, some_resources, starting_pod};
use super::rules::{self, Rule};

pub(super) struct Drawn {
    pub(super) template: Value,
    pub(super) replicas: u64,
    pub(super) nodes: Vec<Node>,
}

pub(super) fn draw(rng: &mut Rng, shape: Shape, fits: bool) -> Drawn {
    match shape {
        Shape::Gpus => of_resources(rng, fits, &[Resource::Gpu]),
        Shape::Cpu => of_resources(rng, fits, &[Resource::Cpu]),
        Shape::Memory => of_resources(rng, fits, &[Resource::Memory]),
        Shape::ExtendedResource => of_resources(rng, fits, &[Resource::Nic]),
        Shape::SeveralResources => {
            let all = [Resource::Cpu, Resource::Memory, Resource::Gpu, Resource::Nic];
            of_resources(rng, fits, &all)
        }
        Shape::PodsPerNode => of_pods_per_node(rng, fits),
        Shape::NodeSelector => with_rule(rng, fits, rules::select),
        Shape::NodeAffinity => with_rule(rng, fits, rules::require),
        Shape::Taints => with_rule(rng, fits, rules::tolerate),
        Shape::InitContainers => starting(rng, fits, false),
        Shape::Sidecars => starting(rng, fits, true),
        Shape::Block => in_one(rng, fits, "block"),
        Shape::Rack => in_one(rng, fits, "rack"),
        Shape::Host => in_one(rng, fits, "host"),
        Shape::Cliques => several_cliques(rng, fits),
        Shape::ScalingGroups => scaling_groups(rng, fits),
        Shape::Priorities => {
            let resources = some_resources(rng);
            let mut drawn = of_resources(rng, fits, &resources);
            let class = if rng.bool() { "system-cluster-critical" } else { "system-node-critical" };
            drawn.template["priorityClassName"] = class.into();
            drawn
        }
    }
}

/// The number of pods, and for how many of them the nodes have room.
fn size(rng: &mut Rng, fits: bool) -> (u64, u64) {
    let pods = rng.u64(2..=9);
    (pods, if fits { pods } else { pods - 1 })
}

fn clique(name: &str, pods: u64, pod: Value) -> Value {
    json!({"name": name, "spec": {"roleName": name, "replicas": pods, "podSpec": pod}})
}

fn one_clique(pods: u64, pod: Value, nodes: Vec<Node>) -> Drawn {
    Drawn { template: json!({"cliques": [clique("worker", pods, pod)]}), replicas: 1, nodes }
}

fn of_resources(rng: &mut Rng, fits: bool, resources: &[Resource]) -> Drawn {
    let requests = amounts(rng, resources);
    let pod = pod(rng, &requests);
    of_requests(rng, fits, pod, &requests)
}

fn starting(rng: &mut Rng, fits: bool, has_sidecars: bool) -> Drawn {
    let resources = some_resources(rng);
    let (pod, requests) = starting_pod(rng, &resources, has_sidecars);
    of_requests(rng, fits, pod, &requests)
}

fn of_requests(rng: &mut Rng, fits: bool, pod: Value, requests: &[Request]) -> Drawn {
    let (pods, room) = size(rng, fits);
    let mut nodes = holding(rng, requests, room);
    if rng.bool() {
        nodes.push(Node::without_room(rng, requests));
    }
    one_clique(pods, pod, nodes)
}

fn of_pods_per_node(rng: &mut Rng, fits: bool) -> Drawn {
    let resources = some_resources(rng);
    let requests = amounts(rng, &resources);
    let pod = pod(rng, &requests);
    let (pods, room) = size(rng, fits);
    let mut nodes = Vec::new();
    for part in split(rng, room) {
        let mut node = Node::with_room(rng, &requests, part + 3);
        node.set_pods(part);
        nodes.push(node);
    }
    one_clique(pods, pod, nodes)
}

fn with_rule(rng: &mut Rng, fits: bool, rule: Rule) -> Drawn {
    let resources = some_resources(rng);
    let requests = amounts(rng, &resources);
    let mut pod = pod(rng, &requests);
    let (pods, room) = size(rng, fits);
    let mut nodes = holding(rng, &requests, room);
    let count = rng.u64(2..=6);
    let mut excluded = holding(rng, &requests, count);
    rule(rng, &mut pod, &mut nodes, &mut excluded);
    nodes.append(&mut excluded);
    one_clique(pods, pod, nodes)
}

/// One domain of a level must hold all pods. No other domain has room for more pods than the first.
fn in_one(rng: &mut Rng, fits: bool, level: &str) -> Drawn {
    let resources = some_resources(rng);
    let requests = amounts(rng, &resources);
    let pod = pod(rng, &requests);
    let (pods, room) = size(rng, fits);
    let mut rooms = vec![room];
    for _ in 0..rng.usize(1..=2) {
        rooms.push(rng.u64(1..=room));
    }
    let mut nodes = Vec::new();
    for (domain, room) in rooms.into_iter().enumerate() {
        let parts = if level == "host" { vec![room] } else { split(rng, room) };
        for (index, part) in parts.into_iter().enumerate() {
            let mut node = Node::with_room(rng, &requests, part);
            let (rack, block) = match level {
                "block" => (format!("r{domain}-{}", index % 2), format!("b{domain}")),
                "rack" => (format!("r{domain}"), "b".to_owned()),
                _ => ("r".to_owned(), "b".to_owned()),
            };
            node.label(RACK, &rack);
            node.label(BLOCK, &block);
            nodes.push(node);
        }
    }
    let mut drawn = one_clique(pods, pod, nodes);
    drawn.template["topologyConstraint"] = json!({"topologyName": TOPOLOGY, "pack": {"required": level}});
    drawn
}

/// A kind of PodClique, which requests a scarce resource of its own.
struct Kind {
    name: &'static str,
    resource: Resource,
    requested: u64,
    pods: u64,
    copies: u64,
}

impl Kind {
    fn drawn(rng: &mut Rng, name: &'static str, resource: Resource, pods: u64) -> Self {
        Self { name, resource, requested: rng.u64(1..=8), pods, copies: 1 }
    }

    /// A clique of this kind. Its pods also request CPU. The nodes have enough CPU for all pods.
    fn clique(&self, rng: &mut Rng) -> Value {
        let cpu = 50 * rng.u64(1..=10);
        let pod = pod(rng, &[(self.resource, self.requested), (Resource::Cpu, cpu)]);
        clique(self.name, self.pods, pod)
    }
}

/// Nodes with the scarce resources of all kinds. Unless `fits`, they have room for all pods but one.
fn shared_nodes(rng: &mut Rng, fits: bool, kinds: &[Kind]) -> Vec<Node> {
    let short = rng.usize(0..kinds.len());
    let mut nodes = vec![Node::default(); rng.usize(2..=4)];
    for (index, kind) in kinds.iter().enumerate() {
        let all = kind.pods * kind.copies;
        let room = if index == short && !fits { all - 1 } else { all };
        let mut rooms = vec![0_u64; nodes.len()];
        for _ in 0..room {
            let node = rng.usize(0..rooms.len());
            rooms[node] += 1;
        }
        for (node, room) in nodes.iter_mut().zip(rooms) {
            node.set_for(rng, kind.resource, kind.requested, room);
        }
    }
    nodes
}

fn several_cliques(rng: &mut Rng, fits: bool) -> Drawn {
    let mut resources = Resource::EXTENDED;
    rng.shuffle(&mut resources);
    let count = rng.usize(2..=3);
    let mut kinds = Vec::new();
    for (name, resource) in ["router", "prefill", "decode"].into_iter().zip(resources).take(count) {
        let pods = rng.u64(2..=4);
        kinds.push(Kind::drawn(rng, name, resource, pods));
    }
    let cliques: Vec<_> = kinds.iter().map(|kind| kind.clique(rng)).collect();
    let nodes = shared_nodes(rng, fits, &kinds);
    Drawn { template: json!({"cliques": cliques}), replicas: 1, nodes }
}

/// One or two cliques in a scaling group, which may have scaled replicas, and possibly a standalone clique.
fn scaling_groups(rng: &mut Rng, fits: bool) -> Drawn {
    let mut resources = Resource::EXTENDED;
    rng.shuffle(&mut resources);
    let (replicas, group_replicas) = (rng.u64(1..=2), rng.u64(2..=3));
    let minimum = rng.u64(1..=group_replicas);
    let members = &["prefill", "decode"][..rng.usize(1..=2)];
    let mut names = members.to_vec();
    if rng.bool() {
        names.push("router");
    }
    let mut kinds = Vec::new();
    for (name, resource) in names.into_iter().zip(resources) {
        let pods = rng.u64(1..=2);
        let of_group = if members.contains(&name) { group_replicas } else { 1 };
        kinds.push(Kind { copies: of_group * replicas, ..Kind::drawn(rng, name, resource, pods) });
    }
    let cliques: Vec<_> = kinds.iter().map(|kind| kind.clique(rng)).collect();
    let nodes = shared_nodes(rng, fits, &kinds);
    let group = json!({
        "name": "model", "cliqueNames": members, "replicas": group_replicas, "minAvailable": minimum,
    });
    Drawn { template: json!({"cliques": cliques, "podCliqueScalingGroups": [group]}), replicas, nodes }
}
