//! Queues of Volcano and KAI, for cases that create one.
//!
//! A queue of Volcano's is open once its status says so, which Volcano's own controller writes. The harness does not run that
//! controller and writes the status itself.

use conformance_cluster::schedulers::kai;
use conformance_history::SharedMark;
use serde_json::json;

use crate::context::{Stop, TestContext};

/// Volcano's, as histories name it.
pub const QUEUE: &str = "Queue.scheduling.volcano.sh";
/// KAI's.
const QUEUE_OF_KAI: &str = "Queue.scheduling.run.ai";

impl TestContext {
    /// Makes an open queue, which goes with the test.
    ///
    /// # Errors
    /// [`Stop::Refused`].
    pub async fn open_queue(&self, name: &str) -> Result<(), Stop> {
        let queue = json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
            "metadata": {"name": name}, "spec": {"reclaimable": true, "weight": 1}});
        self.create(QUEUE, &queue).await?;
        self.set_queue_state(name, "Open").await
    }

    /// Makes a queue of KAI's without limits, which goes with the test.
    ///
    /// # Errors
    /// [`Stop::Refused`].
    pub async fn make_kai_queue(&self, name: &str) -> Result<(), Stop> {
        self.create(QUEUE_OF_KAI, &kai::queue(name, Some(kai::PARENT_QUEUE))).await.map(drop)
    }

    /// Closes a queue.
    ///
    /// # Errors
    /// [`Stop::Refused`].
    pub async fn close_queue(&self, name: &str) -> Result<(), Stop> {
        self.mark(SharedMark::QueueClosed, json!({"name": name}));
        self.set_queue_state(name, "Closed").await
    }

    async fn set_queue_state(&self, name: &str, state: &str) -> Result<(), Stop> {
        self.patch_sub(QUEUE, name, "status", json!({"status": {"state": state}})).await.map(drop)
    }
}
