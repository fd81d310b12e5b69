//! The nodes of a generated workload. Only GPUs are scarce: a pod requests one GPU, or two with its sidecar.

use conformance_cluster::nodes::{NodeTemplate, PODS};
use conformance_contract::arena::Arena;
use conformance_contract::names::GPU;
use conformance_driver::case::{Need, Nodes, nodes};
use conformance_expect as expect;
use conformance_expect::Gang;
use conformance_facts::quantity::ONE;
use conformance_facts::requests;
use conformance_history::list;
use serde_json::Value;

use crate::expected_state::ExpectedState;
use crate::operate::FIRST_JOIN;
use crate::surroundings::has_volumes;
use crate::workload::{GeneratedWorkload, Operation};

/// How many pods a node has room for.
const SIZE: u32 = 8;

/// A label of nodes and a resource that only some workloads need.
pub(crate) const ACCELERATOR: (&str, &str) = ("accelerator", "h100");
pub(crate) const FABRIC: &str = "rdma/ib";

static TEMPLATES: Arena<NodeTemplate> = Arena::empty();

impl GeneratedWorkload {
    pub(crate) fn needs(&self) -> &'static [Need] {
        // On real nodes, init containers of a generated workload would never end, and [`FABRIC`] is missing.
        let is_simulated = self.waits_in_init_containers() || self.needs_accelerators();
        match (is_simulated, has_volumes(&self.pcs)) {
            (false, false) => &[],
            (true, false) => &[Need::SimulatedNodes],
            (false, true) => &[Need::Volumes],
            (true, true) => &[Need::SimulatedNodes, Need::Volumes],
        }
    }

    fn needs_accelerators(&self) -> bool {
        let cliques = list(&self.pcs["spec"]["template"]["cliques"]);
        cliques.iter().any(|clique| clique["spec"]["podSpec"]["nodeSelector"].is_object())
    }

    /// Nodes with room for the largest number of pods at any time; with a topology constraint two racks of
    /// this size, so that any placement leaves room for the rest. If the workload begins short, one node has
    /// one GPU less than the required pods need, and the other nodes join later.
    pub(crate) fn nodes(&self) -> Vec<Nodes> {
        let state = ExpectedState::of(self);
        let (racked, neighbors) = (self.is_racked(), self.neighbor_gpus());
        // Each pod counts as the largest pod, so any placement leaves room for the other pods of a node.
        let largest = self.largest_pod();
        // A terminating pod occupies its node until it is deleted.
        let room = state.max_pods() + 2 + neighbors;
        let first_join = u32::from(self.begins_short);
        let placed = |gpus: u32, rack| {
            let node = nodes(1).gpus(gpus);
            let node = if racked { node.rack(rack) } else { node };
            if self.needs_accelerators() { node.like(with_accelerator(gpus)) } else { node }
        };
        // The first nodes need a rack too: Volcano treats the cluster as one rack while none has a HyperNode.
        let mut all = Vec::new();
        if self.begins_short {
            all.push(placed(self.minimum_gpus() - 1, "first"));
            // The neighbors are bound first. This node replaces the GPUs that they use, wherever they run.
            all.extend((neighbors > 0).then(|| placed(neighbors, "first")));
        }
        let sizes: &[u32] = match self.surroundings.node_sizes.as_slice() {
            [] => &[SIZE],
            sizes => sizes,
        };
        for rack in if racked { &["first", "second"][..] } else { &["any"] } {
            let mut left = room;
            for size in sizes.iter().cycle() {
                let size = left.min(*size);
                if size == 0 {
                    break;
                }
                all.push(placed(size * largest, *rack).joining(first_join));
                left -= size;
            }
        }
        let joins = self.operations.iter().filter(|one| matches!(one.inner(), Operation::NodeJoins));
        for (step, _) in (FIRST_JOIN..).zip(joins) {
            all.push(placed(SIZE * largest, "second").joining(step));
        }
        all
    }

    fn minimum_gpus(&self) -> u32 {
        let gangs = ExpectedState::of_pcs(&self.pcs).gangs();
        gpus(&self.pcs, &gangs, |gang| {
            gang.groups.iter().map(|group| (group.template.as_str(), group.min)).collect()
        })
    }

    fn neighbor_gpus(&self) -> u32 {
        let of_one = |pcs: &Value| {
            gpus(pcs, &expect::gangs(pcs), |gang| {
                gang.groups.iter().map(|group| (group.template.as_str(), group.replicas)).collect()
            })
        };
        self.surroundings.neighbors.iter().map(of_one).sum()
    }

    fn largest_pod(&self) -> u32 {
        let sets = [&self.pcs].into_iter().chain(&self.surroundings.neighbors);
        let cliques = sets.flat_map(|pcs| list(&pcs["spec"]["template"]["cliques"]));
        cliques.map(gpus_of_pod).max().unwrap_or(1)
    }
}

/// The GPUs of some pods: `pods` returns clique templates and numbers of pods for each podgroup.
fn gpus(pcs: &Value, gangs: &[Gang], pods: impl Fn(&Gang) -> Vec<(&str, usize)>) -> u32 {
    let cliques = list(&pcs["spec"]["template"]["cliques"]);
    let mut all = 0;
    for (template, count) in gangs.iter().flat_map(pods) {
        let clique = cliques.iter().find(|clique| clique["name"] == template);
        all += clique.map_or(0, gpus_of_pod) * u32::try_from(count).unwrap_or(u32::MAX);
    }
    all
}

/// A pod of a workload from a file may request no GPU. The pod then counts as one GPU.
fn gpus_of_pod(clique: &Value) -> u32 {
    let spec = requests::defaulted(&clique["spec"]["podSpec"]);
    let amount = requests::of_running(&spec).get(GPU).copied().unwrap_or_default();
    u32::try_from(amount / ONE).unwrap_or(u32::MAX).max(1)
}

fn with_accelerator(gpus: u32) -> &'static NodeTemplate {
    let amounts = [GPU, FABRIC].map(|resource| (resource.to_owned(), gpus.to_string()));
    TEMPLATES.add(NodeTemplate {
        source: "a generated workload".into(),
        labels: [(ACCELERATOR.0.to_owned(), ACCELERATOR.1.to_owned())].into(),
        taints: Vec::new(),
        allocatable: amounts.into(),
        pods: PODS,
        slices: Vec::new(),
        device_classes: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{draw_actions, draw_extras};

    #[test]
    fn nodes_have_room_for_all_pods() {
        for seed in (0..300).chain(draw_actions::SEEDS.take(300)).chain(draw_extras::SEEDS.take(300)) {
            let workload = GeneratedWorkload::of_seed(seed);
            let state = ExpectedState::of(&workload);
            let (neighbors, minimum) = (workload.neighbor_gpus(), workload.minimum_gpus());
            let nodes = workload.nodes();
            let gpus_at = |step: u32| -> u32 {
                let joined = nodes.iter().filter(|node| node.joining <= step);
                joined.map(|node| node.count * node.gpus).sum()
            };
            let (first, then) = (gpus_at(0), gpus_at(1));
            let most = state.max_pods() * workload.largest_pod() + neighbors;
            assert!(then > most, "{seed}: {then} GPUs for {most}");
            let is_short = first + 1 == minimum + neighbors;
            assert_eq!(workload.begins_short, is_short, "{seed}: {first} GPUs for {minimum}");
        }
    }

    #[test]
    fn a_pod_with_a_sidecar_needs_the_gpus_of_both() {
        let gpu = serde_json::json!({"limits": {GPU: 1}});
        let container = serde_json::json!({"name": "main", "resources": gpu});
        let sidecar = serde_json::json!({"name": "proxy", "restartPolicy": "Always", "resources": gpu});
        let pod = serde_json::json!({"containers": [container], "initContainers": [sidecar]});
        assert_eq!(gpus_of_pod(&serde_json::json!({"spec": {"podSpec": pod}})), 2);
    }
}
