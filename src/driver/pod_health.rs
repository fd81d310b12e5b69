//! What a kubelet would say of a pod, said in its place: on nodes that are simulated nothing else changes a pod that runs.

use conformance_history::list;
use serde_json::{Value, json};

use crate::context::{Stop, TestContext};

/// What happens to a pod's containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containers {
    /// They have started and are Ready.
    Ready,
    /// They have started, have ended in an error once, and are not Ready.
    Crashing,
    /// They have not started yet: an image is being pulled.
    Creating,
}

impl TestContext {
    /// Says what has become of a bound pod's containers.
    ///
    /// # Errors
    /// [`Stop::Refused`], also if there is no such pod.
    pub async fn pod_becomes(&self, name: &str, containers: Containers) -> Result<(), Stop> {
        let known = self.look(|live| live.get("Pod", name).map(|pod| pod["status"].clone()));
        let known = known.ok_or_else(|| Stop::Refused {
            action: format!("say what has become of Pod {name}"),
            reason: "there is none".into(),
        })?;
        let status = said(&known, containers);
        self.patch_sub("Pod", name, "status", json!({ "status": status })).await.map(drop)
    }

    /// Has a node take no more pods, or take them again.
    ///
    /// # Errors
    /// [`Stop::Refused`].
    pub async fn cordon(&self, node: &str, closed: bool) -> Result<(), Stop> {
        self.patch("Node", node, json!({"spec": {"unschedulable": closed}})).await.map(drop)
    }
}

/// Runs a driver, and opens every node again that it has closed, whatever came of it.
///
/// # Errors
/// What the driver stopped with; else what kept a node closed.
pub async fn uncordoned(test: &mut TestContext, drive: crate::case::Drive) -> Result<(), Stop> {
    let driven = drive(test).await;
    for node in &test.nodes {
        let is_closed = test.test_cluster.recorder.look(&test.namespace, |live| {
            live.get("Node", &node.name).is_some_and(|node| node["spec"]["unschedulable"] == true)
        });
        if is_closed {
            let opened = test.cordon(&node.name, false).await;
            if driven.is_ok() {
                opened?;
            }
        }
    }
    driven
}

fn said(known: &Value, containers: Containers) -> Value {
    let is_ready = containers == Containers::Ready;
    let said = if is_ready { "True" } else { "False" };
    let conditions = list(&known["conditions"]).iter().map(|condition| {
        let mut condition = condition.clone();
        if ["Ready", "ContainersReady"].iter().any(|own| condition["type"] == *own) {
            condition["status"] = said.into();
        }
        condition
    });
    let containers = list(&known["containerStatuses"]).iter().map(|container| {
        let state = match containers {
            Containers::Creating => json!({"waiting": {"reason": "ContainerCreating"}}),
            Containers::Crashing | Containers::Ready => json!({"running": {}}),
        };
        let last = match containers {
            Containers::Crashing => json!({"terminated": {"exitCode": 1, "reason": "Error"}}),
            Containers::Creating | Containers::Ready => json!({}),
        };
        json!({
            "name": container["name"], "image": container["image"], "imageID": "", "restartCount": 1,
            "ready": is_ready, "started": containers != Containers::Creating, "state": state, "lastState": last,
        })
    });
    json!({"conditions": conditions.collect::<Vec<_>>(), "containerStatuses": containers.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use conformance_history::Pod;
    use conformance_judge::life::health::{is_healthy, is_ready};

    use super::*;

    #[rstest::rstest]
    #[case(Containers::Ready, true, true)]
    #[case(Containers::Creating, true, false)]
    #[case(Containers::Crashing, false, false)]
    fn judges_take_it_for_what_it_is(
        #[case] containers: Containers,
        #[case] healthy: bool,
        #[case] ready: bool,
    ) {
        let known = json!({
            "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "c", "image": "i", "ready": true, "started": true}],
        });
        let pod = json!({"spec": {"nodeName": "n"}, "status": said(&known, containers)});
        assert_eq!((is_healthy(Pod(&pod)), is_ready(Pod(&pod))), (healthy, ready));
        assert_eq!(said(&known, containers)["conditions"][0]["status"], "True");
    }
}
