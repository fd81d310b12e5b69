//! Sets pod statuses in place of a kubelet. On simulated nodes nothing else changes a running pod.

use std::time::Duration;

use conformance_history::{Live, SharedMark, condition, list, revision, text};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::context::{Awaited, Stop, TestContext};
use crate::limits::CLEANUP;

/// Finalizer that keeps a deleted pod in termination.
const HELD: &str = "conformance.grove.io/held";

/// Readiness gate of pods that become Ready only when a case allows it.
const READINESS_GATE: &str = "conformance.grove.io/may-be-ready";

/// Label of pods whose containers never start on simulated nodes.
pub const UNSTARTED: &str = "conformance.grove.io/unstarted";

/// Taint that closes a node to pods that do not tolerate it.
const CLOSED: &str = "conformance.grove.io/closed";

/// KWOK writes a status a second time, if at all, within this period.
const SECOND_WRITE: Duration = Duration::from_millis(250);

/// Maximum number of times that the harness writes a status.
const TRIES: u32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containers {
    /// Started and Ready.
    Ready,
    /// Started, failed once, and not Ready.
    Crashing,
    /// Restarted after one failure, and Ready.
    Recovered,
    /// Started, never ended, and not Ready.
    Unready,
    /// Not started yet: an image is being pulled.
    Creating,
    /// Not started yet: an init container runs.
    Waiting,
}

impl Containers {
    fn are_ready(self) -> bool {
        matches!(self, Self::Ready | Self::Recovered)
    }
}

impl TestContext {
    /// Sets the container statuses of a bound pod.
    pub async fn pod_becomes(&self, name: &str, containers: Containers) -> Result<(), Stop> {
        let pod = self.look(|live| live.get("Pod", name).cloned());
        let pod = pod.ok_or_else(|| Stop::Refused {
            action: format!("set the status of Pod {name}"),
            reason: "it does not exist".into(),
        })?;
        let status = said(&pod, containers);
        let uid = text(&pod["metadata"]["uid"]);
        let ready = if containers.are_ready() { "True" } else { "False" };
        for _ in 0..TRIES {
            let written = self.patch_sub("Pod", name, "status", json!({ "status": status })).await?;
            let detail = json!({"name": name, "uid": uid, "ready": ready, "revision": revision(&written)});
            self.mark(SharedMark::PodSaid, detail);
            let is_other = |live: &Live| {
                live.get("Pod", name).is_some_and(|pod| {
                    pod["metadata"]["uid"] == uid
                        && revision(pod) > revision(&written)
                        && condition(pod, "Ready").is_some_and(|found| found["status"] != ready)
                })
            };
            if !self.is_written_over(is_other).await {
                break;
            }
        }
        // The history shows a status that never lasts.
        Ok(())
    }

    /// Whether `is_so` becomes true shortly. KWOK may write the status of a pod twice, milliseconds apart,
    /// and nothing shows that it has no write left.
    async fn is_written_over(&self, is_so: impl Fn(&Live) -> bool) -> bool {
        let mut changes = self.test_cluster.recorder.follow(&self.namespace);
        let seen = async {
            while !self.look(&is_so) {
                if changes.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        tokio::time::timeout(SECOND_WRITE, seen).await.is_ok()
    }

    /// Like [`TestContext::pod_becomes`], for the first pod of a clique, if it has one.
    pub async fn first_pod_becomes(&self, clique: &str, containers: Containers) -> Result<(), Stop> {
        match self.pods_of(clique).first() {
            Some(pod) => self.pod_becomes(pod, containers).await,
            None => Ok(()),
        }
    }

    /// Allows a pod with [`READINESS_GATE`] to become Ready.
    pub async fn may_be_ready(&self, name: &str) -> Result<(), Stop> {
        let known = self.look(|live| live.get("Pod", name).map(|pod| pod["status"]["conditions"].clone()));
        let mut conditions = list(&known.unwrap_or_default()).to_vec();
        conditions.push(json!({"type": READINESS_GATE, "status": "True"}));
        self.patch_sub("Pod", name, "status", json!({"status": {"conditions": conditions}})).await.map(drop)
    }

    /// Adds a finalizer, so that the pod stays in termination after it is deleted.
    pub async fn hold_pod(&self, name: &str) -> Result<(), Stop> {
        self.patch("Pod", name, json!({"metadata": {"finalizers": [HELD]}})).await.map(drop)
    }

    /// Removes the finalizer of [`TestContext::hold_pod`].
    pub async fn let_pod_go(&self, name: &str) -> Result<(), Stop> {
        self.patch("Pod", name, json!({"metadata": {"finalizers": null}})).await.map(drop)
    }

    pub async fn until_held_pod_gone(&self, name: &str) -> Result<(), Stop> {
        self.let_pod_go(name).await?;
        let gone = Awaited::of_harness(format!("Pod {name} deleted"));
        self.until(gone, CLEANUP, |live| live.get("Pod", name).is_none()).await
    }

    /// Cordons or uncordons a node. The harness uncordons the nodes of a case when it ends.
    pub async fn cordon(&self, node: &str, closed: bool) -> Result<(), Stop> {
        self.patch("Node", node, json!({"spec": {"unschedulable": closed}})).await.map(drop)
    }

    /// Closes a node to all pods that do not tolerate [`CLOSED`], or opens it again. KAI places no pod at all
    /// on a cordoned node, regardless of tolerations.
    pub async fn close(&self, node: &str, closed: bool) -> Result<(), Stop> {
        // The log of a namespace has the versions of nodes, but not their current state.
        let answer = self.attempt(http::Method::GET, "Node", node, &Value::Null).await?;
        let found = answer.accepted(format!("read Node {node}"))?;
        let mut taints = list(&found["spec"]["taints"]).to_vec();
        taints.retain(|taint| taint["key"] != CLOSED);
        taints.extend(closed.then(|| json!({"key": CLOSED, "effect": "NoSchedule"})));
        self.patch("Node", node, json!({"spec": {"taints": taints}})).await.map(drop)
    }
}

fn said(pod: &Value, containers: Containers) -> Value {
    let known = &pod["status"];
    let is_ready = containers.are_ready();
    let said = if is_ready { "True" } else { "False" };
    let own = ["Ready", "ContainersReady"];
    let others =
        list(&known["conditions"]).iter().filter(|condition| own.iter().all(|own| condition["type"] != *own));
    let now = Timestamp::now();
    let turned = own.iter().map(|own| json!({"type": own, "status": said, "lastTransitionTime": now}));
    let conditions = others.cloned().chain(turned);
    let running = json!({"running": {}});
    let (state, last) = match containers {
        Containers::Ready | Containers::Unready => (running.clone(), json!({})),
        Containers::Crashing | Containers::Recovered => {
            (running.clone(), json!({"terminated": {"exitCode": 1, "reason": "Error"}}))
        }
        Containers::Creating => (json!({"waiting": {"reason": "ContainerCreating"}}), json!({})),
        Containers::Waiting => (json!({"waiting": {"reason": "PodInitializing"}}), json!({})),
    };
    let has_started = state == running;
    let own = list(&pod["spec"]["containers"]).iter().map(|container| {
        json!({
            "name": container["name"], "image": container["image"], "imageID": "", "restartCount": 1,
            "ready": is_ready, "started": has_started, "state": state, "lastState": last,
        })
    });
    let mut status =
        json!({"conditions": conditions.collect::<Vec<_>>(), "containerStatuses": own.collect::<Vec<_>>()});
    if containers == Containers::Waiting {
        let inits = list(&pod["spec"]["initContainers"]).iter().map(|container| {
            json!({
                "name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0,
                "ready": false, "started": true, "state": running,
            })
        });
        status["initContainerStatuses"] = inits.collect();
    }
    status
}

#[cfg(test)]
mod tests {
    use conformance_facts::health::{is_healthy, is_ready};
    use conformance_history::Pod;

    use super::*;

    #[rstest::rstest]
    #[case(Containers::Ready, true, true)]
    #[case(Containers::Recovered, true, true)]
    #[case(Containers::Creating, true, false)]
    #[case(Containers::Waiting, true, false)]
    #[case(Containers::Crashing, false, false)]
    #[case(Containers::Unready, false, false)]
    fn judges_take_it_for_what_it_is(
        #[case] containers: Containers,
        #[case] healthy: bool,
        #[case] ready: bool,
    ) {
        let mut pod = json!({
            "spec": {"nodeName": "n", "initContainers": [{"name": "i"}], "containers": [{"name": "c", "image": "i"}]},
            "status": {"conditions": [{"type": "PodScheduled", "status": "True"}]},
        });
        pod["status"] = said(&pod, containers);
        assert_eq!((is_healthy(Pod(&pod)), is_ready(Pod(&pod))), (healthy, ready));
        assert_eq!(pod["status"]["conditions"][0]["status"], "True");
    }
}
