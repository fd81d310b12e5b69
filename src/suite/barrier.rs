//! The proof that a scheduler has decided *not* to bind: no sleep, but two canary gangs.
//!
//! Once the pending pods are in the scheduler's hands (ungated), a gang of one pod is sent through the same scheduler
//! to a node of its own, and when it is bound a second one. The queue is first in, first out: the pending gang was
//! in it before the first canary, so it has been tried by the time the first is bound; bindings that its attempt
//! started are in flight no longer than the second canary's whole way. A scheduler that works in sessions (Volcano, KAI)
//! has had the pending gang in the session in which the first canary is bound, and one more for the second.

use std::time::Instant;

use serde_json::{Value, json};

use super::expect::Gang;
use super::limits;
use super::trial::{Stop, Trial};
use super::{names, schedulers};

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
            let number = self.look(|live| live.of("Pod").filter(|o| is_canary(o)).count());
            // KAI knows a PodGroup by its name alone, whatever its namespace.
            let name = format!("canary-{number}-{}", self.namespace);
            for (kind, object) in schedulers::of(self.target).canary(&name) {
                self.create(kind, &on_canary_node(object, &name)).await?;
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

/// A part of a canary with name and label, and a pod's way to the canaries' node, made without the controller under test.
fn on_canary_node(mut object: Value, name: &str) -> Value {
    object["metadata"]["name"] = name.into();
    object["metadata"]["labels"][names::CANARY] = "true".into();
    if object["kind"].is_null() {
        object["apiVersion"] = "v1".into();
        object["kind"] = "Pod".into();
        let spec = &mut object["spec"];
        spec["nodeSelector"] = json!({names::CANARY: "true"});
        spec["tolerations"] = json!([{"key": names::CANARY, "operator": "Exists"}]);
        spec["terminationGracePeriodSeconds"] = 0.into();
        // Asks for something: to Volcano a pod that does not is no gang.
        spec["containers"] = json!([{
            "name": "pause", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"cpu": "1m"}},
        }]);
    }
    object
}
