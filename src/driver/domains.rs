//! Topology domains: which nodes stand in which host, rack and block, and when a scheduler knows it.
//!
//! Schedulers that keep a picture of the topology of their own take new nodes in some time after they are there. A gang
//! that comes earlier is not placed at once, and the wait for it would measure that picture's age.

use conformance_expect::domains::domains;
use conformance_expect::schedulers;
use serde_json::Value;

use super::limits::TOPOLOGY_TREE;
use crate::context::{Stop, TestContext};

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
        self.until_in_cluster(condition, TOPOLOGY_TREE, |live| (picture.has)(live, &domains)).await
    }
}
