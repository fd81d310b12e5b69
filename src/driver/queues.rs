//! Queues of Volcano and KAI. Without Volcano's controller, the harness opens a queue through its status.

use conformance_contract::names;
use conformance_history::SharedMark;
use conformance_install::schedulers::{kai, volcano};
use serde_json::{Value, json};

use crate::context::{Stop, TestContext};

pub const QUEUE: &str = "Queue.scheduling.volcano.sh";
const KAI_QUEUE: &str = "Queue.scheduling.run.ai";

impl TestContext {
    pub async fn create_volcano_queue(&self, name: &str) -> Result<(), Stop> {
        self.open_volcano_queue(name, &json!({"reclaimable": true, "weight": 1})).await
    }

    async fn open_volcano_queue(&self, name: &str, spec: &Value) -> Result<(), Stop> {
        let queue = json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
            "metadata": {"name": name}, "spec": spec});
        self.create(QUEUE, &queue).await?;
        self.set_queue_state(name, "Open").await
    }

    /// Creates a queue with a limit of GPUs, and restarts Volcano with the plugin that enforces such limits.
    pub async fn create_limited_queue(&self, name: &str, gpus: u32) -> Result<(), Stop> {
        if self.target.scheduler() == kai::SCHEDULER {
            let mut queue = kai::queue(name, Some(kai::PARENT_QUEUE));
            queue["spec"]["resources"]["gpu"] = json!({"quota": gpus, "limit": gpus, "overQuotaWeight": 1});
            return self.create(KAI_QUEUE, &queue).await.map(drop);
        }
        self.kill_scheduler().await?;
        let further = vec![(volcano::SCHEDULER, volcano::PROPORTION)];
        self.local()?.respecify(|spec| spec.further_plugins = further);
        self.start_scheduler().await?;
        let capability = json!({names::GPU: gpus.to_string()});
        let spec = json!({"reclaimable": true, "weight": 1, "capability": capability});
        self.open_volcano_queue(name, &spec).await
    }

    /// Creates a KAI queue without limits. It is deleted at the end of the case.
    pub async fn create_kai_queue(&self, name: &str) -> Result<(), Stop> {
        self.create(KAI_QUEUE, &kai::queue(name, Some(kai::PARENT_QUEUE))).await.map(drop)
    }

    /// Sets the maximum number of GPUs that the gangs of a KAI queue may use; -1 removes the limit.
    pub async fn limit_kai_queue(&self, name: &str, gpus: i32) -> Result<(), Stop> {
        let limit = json!({"spec": {"resources": {"gpu": {"limit": gpus}}}});
        self.patch(KAI_QUEUE, name, limit).await.map(drop)
    }

    /// Creates a queue that is entitled to this share and may borrow more. The case deletes it at its end.
    pub async fn create_queue_with_share(&self, name: &str, gpus: u32) -> Result<(), Stop> {
        if self.target.scheduler() == kai::SCHEDULER {
            let mut queue = kai::queue(name, Some(kai::PARENT_QUEUE));
            queue["spec"]["resources"]["gpu"]["quota"] = gpus.into();
            return self.create(KAI_QUEUE, &queue).await.map(drop);
        }
        let deserved = json!({names::GPU: gpus.to_string()});
        let spec = json!({"reclaimable": true, "weight": 1, "deserved": deserved});
        self.open_volcano_queue(name, &spec).await
    }

    pub async fn limit_volcano_queue(&self, name: &str, gpus: u32) -> Result<(), Stop> {
        let capability = json!({names::GPU: gpus.to_string()});
        self.patch(QUEUE, name, json!({"spec": {"capability": capability}})).await.map(drop)
    }

    pub async fn open_queue(&self, name: &str) -> Result<(), Stop> {
        self.set_queue_state(name, "Open").await
    }

    pub async fn close_queue(&self, name: &str) -> Result<(), Stop> {
        self.mark(SharedMark::QueueClosed, json!({"name": name}));
        self.set_queue_state(name, "Closed").await
    }

    async fn set_queue_state(&self, name: &str, state: &str) -> Result<(), Stop> {
        self.patch_sub(QUEUE, name, "status", json!({"status": {"state": state}})).await.map(drop)
    }
}
