//! Topology domains: which host, rack and block each node is in, and when a scheduler knows about it.
//!
//! Schedulers that keep their own model of the topology notice new nodes with a delay. A gang that is submitted
//! earlier is not placed at once, and waiting for it would measure that delay.

use conformance_contract::target::Target;
use conformance_expect::domains::{Domain, domains, in_the_tree};
use conformance_expect::hyper_nodes;
use conformance_history::Live;
use serde_json::Value;

use super::limits::TOPOLOGY_TREE;
use crate::context::{Stop, TestContext};

impl TestContext {
    /// Waits until the target's scheduler knows the racks and blocks of the case's nodes, where it keeps a picture of
    /// its own: Koordinator's tree, Volcano's HyperNodes. Others read the labels of nodes.
    ///
    /// # Errors
    /// [`Stop::Wait`].
    pub async fn until_domains_known(&self) -> Result<(), Stop> {
        let nodes: Vec<Value> = self.nodes.iter().map(|node| node.object()).collect();
        let domains = domains(&nodes);
        if domains.is_empty() {
            return Ok(());
        }
        let known: fn(&Live, &[Domain<'_>]) -> bool = match self.target {
            Target::Koordinator => in_the_tree,
            Target::Volcano => |live, domains| hyper_nodes::of_domains(live, domains).is_ok(),
            Target::KubePodGroup
            | Target::KubePodGang
            | Target::KubeTree
            | Target::Kai
            | Target::External
            | Target::ExternalScheduler(_) => return Ok(()),
        };
        let condition = "the scheduler's topology has the domains of the case's nodes";
        self.until_in_cluster(condition, TOPOLOGY_TREE, |live| known(live, &domains)).await
    }
}
