//! Topology domains: which host, rack and block each node is in, and when a scheduler knows about it.
//!
//! Schedulers that keep their own model of the topology notice new nodes with a delay. A gang that is submitted
//! earlier is not placed at once, and waiting for it would measure that delay.

use conformance_expect::domains::domains;
use conformance_expect::schedulers;
use serde_json::Value;

use super::limits::TOPOLOGY_TREE;
use crate::context::{Awaited, Stop, TestContext};

impl TestContext {
    /// Waits until the target's scheduler knows the racks and blocks of the case's nodes, where it keeps a picture of
    /// its own. Others read the labels of nodes.
    ///
    /// # Errors
    /// [`Stop::Wait`].
    pub async fn until_domains_known(&self) -> Result<(), Stop> {
        let nodes: Vec<Value> = self.nodes.iter().map(|node| node.object()).collect();
        let domains = domains(&nodes);
        let picture = schedulers::of(self.target).picture().filter(|_| !domains.is_empty());
        let Some(picture) = picture else { return Ok(()) };
        let condition = "the scheduler's topology has the domains of the case's nodes";
        self.until_in_cluster(Awaited::of_harness(condition), TOPOLOGY_TREE, |live| {
            (picture.has)(live, &domains)
        })
        .await
    }
}
