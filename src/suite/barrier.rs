//! The proof that a scheduler has decided *not* to bind: no sleep, but two canary gangs.
//!
//! Once the pending pods are in the scheduler's hands (ungated), a gang of one pod is sent through the same scheduler
//! to a node of its own, and when it is bound a second one. The queue is first in, first out: the pending gang was
//! in it before the first canary, so it has been tried by the time the first is bound; bindings that its attempt
//! started are in flight no longer than the second canary's whole way.

use std::time::Instant;

use serde_json::{Value, json};

use super::expect::Gang;
use super::limits;
use super::names;
use super::trial::{Stop, Trial};

impl Trial {
    /// Waits until every pod of the PodGang is in the scheduler's hands, and the scheduler has had a whole pass since.
    ///
    /// # Errors
    /// [`Stop::Wait`] if the pods are not released, or the scheduler does not bind a canary.
    pub async fn scheduler_passes_over(&mut self, gang: &Gang) -> Result<(), Stop> {
        self.until_released(gang).await?;
        self.scheduler_passes().await
    }

    /// The same for pods that are in the scheduler's hands already: from here on the time to the negative verdict counts.
    ///
    /// # Errors
    /// [`Stop::Wait`] if the scheduler does not bind a canary.
    pub async fn scheduler_passes(&mut self) -> Result<(), Stop> {
        let visible = Instant::now();
        self.canaries().await?;
        self.negative_verdict = Some(visible.elapsed());
        Ok(())
    }

    /// The barrier: two canaries, one after the other. The mark `scheduler passed` is where a judge may say "until here,
    /// never".
    ///
    /// # Errors
    /// [`Stop::Wait`] if the scheduler does not bind a canary.
    pub async fn canaries(&self) -> Result<(), Stop> {
        for _ in 0..2 {
            let number = self.look(|live| live.of("PodGroup").filter(|o| is_canary(o)).count());
            let name = format!("canary-{number}");
            for (kind, object) in canary(&name) {
                self.create(kind, &object).await?;
            }
            self.until(&format!("{name} bound"), limits::SCHEDULING, |live| {
                live.get("Pod", &name).is_some_and(|pod| pod["spec"]["nodeName"].is_string())
            })
            .await?;
        }
        self.mark("scheduler passed", Value::Null);
        Ok(())
    }
}

fn is_canary(object: &Value) -> bool {
    object["metadata"]["labels"][names::CANARY].is_string()
}

/// A gang of one pod on the canaries' node, made without the controller under test.
fn canary(name: &str) -> [(&'static str, Value); 2] {
    let labels = json!({names::CANARY: "true"});
    let group = json!({
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "labels": labels},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}},
    });
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "schedulingGroup": {"podGroupName": name},
            "nodeSelector": {names::CANARY: "true"},
            "tolerations": [{"key": names::CANARY, "operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "pause", "image": "registry.k8s.io/pause:3.10"}],
        },
    });
    [("PodGroup", group), ("Pod", pod)]
}
