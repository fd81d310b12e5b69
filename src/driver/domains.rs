//! Schedulers with a topology model notice new nodes late. This wait keeps the delay out of gangs' limits.

use conformance_expect::domains::domains;
use conformance_expect::schedulers;
use serde_json::Value;

use super::limits::TOPOLOGY_TREE;
use crate::context::{Awaited, Stop, TestContext};

impl TestContext {
    /// Waits until the scheduler's topology model has the case's nodes. Other schedulers read node labels.
    pub async fn until_domains_known(&self) -> Result<(), Stop> {
        let nodes: Vec<Value> = self.nodes.iter().map(|node| node.object()).collect();
        let domains = domains(&nodes);
        let Some(topology_model) =
            schedulers::of(self.target).topology_model().filter(|_| !domains.is_empty())
        else {
            return Ok(());
        };
        let condition = "the scheduler's topology has the domains of the case's nodes";
        self.until_in_cluster(Awaited::of_harness(condition), TOPOLOGY_TREE, |live| {
            (topology_model.has)(live, &domains)
        })
        .await
    }
}
