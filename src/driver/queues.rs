//! Volcano's queues, for cases that create one.
//!
//! A queue is open once its status says so, which Volcano's own controller writes. The harness does not run that
//! controller and writes the status itself.

use conformance_history::SharedMark;
use serde_json::json;

use crate::context::{Stop, TestContext};

/// As histories name it.
pub const QUEUE: &str = "Queue.scheduling.volcano.sh";

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
