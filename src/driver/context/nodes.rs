use conformance_cluster::nodes::{NodeSpec, PODS};
use conformance_contract::names;
use conformance_history::Pod;
use serde_json::json;

use super::{Awaited, Disruption, Stop, TestContext};
use crate::case::Nodes;
use crate::limits;

impl TestContext {
    /// Adds the nodes of this step. Returns once the target's scheduler knows their topology domains.
    pub async fn add_nodes(&mut self, step: u32) -> Result<(), Stop> {
        let groups = self.case.nodes.iter().filter(|group| group.joining == step);
        let first = self.nodes.len();
        let joining: Vec<_> = groups
            .flat_map(|group| (0..group.count).map(move |_| group))
            .enumerate()
            .map(|(index, group)| self.node(group, first + index))
            .collect();
        let pools = self.test_cluster.cluster.node_pools();
        let joined = pools.add(&self.namespace, joining, self.is_limited_by_pods()).await?;
        self.nodes.extend(joined);
        self.until_domains_known().await
    }

    /// Sets how many pods each of the nodes can have, and sets it again if KWOK overwrites it.
    pub async fn set_pods(&self, nodes: &[NodeSpec], pods: u32) -> Result<(), Stop> {
        let pools = self.test_cluster.cluster.node_pools();
        let write = || async {
            let written = pools.set_pods(nodes, pods).await?;
            let with_lasting_fields = written.iter().map(|node| {
                let node = json!(node);
                let lasting = json!({"allocatable": node["status"]["allocatable"]});
                (node, lasting)
            });
            Ok::<_, Stop>(with_lasting_fields.collect::<Vec<_>>())
        };
        self.hold_statuses("Node", "", write).await
    }

    /// Drains the last node as an administrator would: cordons the node, evicts its pods and removes it.
    pub async fn drain_last_node(&mut self) -> Result<(), Stop> {
        let Some(node) = self.nodes.pop() else { return Ok(()) };
        let pools = self.test_cluster.cluster.node_pools();
        pools.close(&node).await?;
        let is_on_node = |pod: &Pod<'_>| pod.node() == Some(node.name.as_str());
        let pods: Vec<_> =
            self.look(|live| live.pods().filter(is_on_node).map(|pod| pod.name().to_owned()).collect());
        for pod in &pods {
            self.disrupt_pod(Disruption::Evicted, pod).await?;
        }
        let condition = Awaited::of_harness(format!("node {} without pods", node.name));
        self.until(condition, limits::REACTION, |live| !live.pods().any(|pod| is_on_node(&pod))).await?;
        Ok(pools.take(&node).await?)
    }

    pub fn is_limited_by_pods(&self) -> bool {
        self.case.nodes.iter().any(|group| group.pods != PODS)
    }

    fn node(&self, group: &Nodes, index: usize) -> NodeSpec {
        node_spec(group, index, &self.namespace, &self.test_cluster.run)
    }

    pub fn domain(&self, short: &str) -> String {
        domain(&self.namespace, short)
    }
}

pub fn node_spec(group: &Nodes, index: usize, namespace: &str, run: &str) -> NodeSpec {
    let mut labels = group.template.map(|template| template.labels.clone()).unwrap_or_default();
    labels.extend([(names::POOL.to_owned(), namespace.to_owned()), (names::RUN.to_owned(), run.to_owned())]);
    // Set a block label on every rack, because some schedulers ignore a node that lacks one of the labels.
    let block = group.block.or(group.rack.filter(|rack| !rack.is_empty()).map(|_| "block"));
    for (key, short) in [(names::RACK, group.rack), (names::BLOCK, block)] {
        if let Some(short) = short {
            let value = if short.is_empty() { String::new() } else { domain(namespace, short) };
            labels.insert(key.into(), value);
        }
    }
    NodeSpec {
        name: format!("{namespace}-{index}"),
        labels,
        taint: Some((names::POOL.into(), namespace.to_owned())),
        gpus: group.gpus,
        pods: group.pods,
        template: group.template,
    }
}

pub fn domain(namespace: &str, short: &str) -> String {
    format!("{namespace}-{short}")
}
