//! What a kubelet would say of a pod, said in its place: on nodes that are simulated nothing else changes a pod that runs.

use std::time::Duration;

use conformance_history::{Live, SharedMark, condition, list, revision, text};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::context::{Awaited, Stop, TestContext};
use crate::limits::CLEANUP;

/// Finalizer of the harness's own on a pod that is to hang in termination.
const HELD: &str = "conformance.grove.io/held";

/// The readiness gate of pods that are Ready when a case lets them be.
const READINESS_GATE: &str = "conformance.grove.io/may-be-ready";

/// The label of pods whose containers simulated nodes leave unstarted.
pub const UNSTARTED: &str = "conformance.grove.io/unstarted";

/// The taint of a node that is closed to all but those whom a case lets in.
const CLOSED: &str = "conformance.grove.io/closed";

/// Within this time KWOK writes a second time, where it does.
const SECOND_WRITE: Duration = Duration::from_millis(250);

/// So often the harness says it.
const TRIES: u32 = 5;

/// What happens to a pod's containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containers {
    /// They have started and are Ready.
    Ready,
    /// They have started, have ended in an error once, and are not Ready.
    Crashing,
    /// They have started again after they had ended in an error once, and are Ready.
    Recovered,
    /// They have started, have never ended, and are not Ready.
    Unready,
    /// They have not started yet: an image is being pulled.
    Creating,
    /// They have not started yet: an init container runs.
    Waiting,
}

impl Containers {
    fn are_ready(self) -> bool {
        matches!(self, Self::Ready | Self::Recovered)
    }
}

impl TestContext {
    /// Says what has become of a bound pod's containers.
    ///
    /// # Errors
    /// [`Stop::Refused`], also if there is no such pod.
    pub async fn pod_becomes(&self, name: &str, containers: Containers) -> Result<(), Stop> {
        let pod = self.look(|live| live.get("Pod", name).cloned());
        let pod = pod.ok_or_else(|| Stop::Refused {
            action: format!("say what has become of Pod {name}"),
            reason: "there is none".into(),
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
        // One that never holds is found in the history ([`said`](conformance_judge::said)).
        Ok(())
    }

    /// Whether something becomes so shortly. KWOK may write the status of a pod twice, the second time milliseconds later, and
    /// nothing tells when it has no write left.
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

    /// The same of a clique's first pod, if it has one.
    ///
    /// # Errors
    /// As [`TestContext::pod_becomes`].
    pub async fn first_pod_becomes(&self, clique: &str, containers: Containers) -> Result<(), Stop> {
        match self.pods_of(clique).first() {
            Some(pod) => self.pod_becomes(pod, containers).await,
            None => Ok(()),
        }
    }

    /// Lets a pod be Ready that has [`READINESS_GATE`].
    ///
    /// # Errors
    /// [`Stop::Refused`].
    pub async fn may_be_ready(&self, name: &str) -> Result<(), Stop> {
        let known = self.look(|live| live.get("Pod", name).map(|pod| pod["status"]["conditions"].clone()));
        let mut conditions = list(&known.unwrap_or_default()).to_vec();
        conditions.push(json!({"type": READINESS_GATE, "status": "True"}));
        self.patch_sub("Pod", name, "status", json!({"status": {"conditions": conditions}})).await.map(drop)
    }

    /// Keeps a pod that is deleted from going: it hangs in termination until it is let go.
    ///
    /// # Errors
    /// [`Stop::Refused`].
    pub async fn hold_pod(&self, name: &str) -> Result<(), Stop> {
        self.patch("Pod", name, json!({"metadata": {"finalizers": [HELD]}})).await.map(drop)
    }

    /// Lets a pod go that was held.
    ///
    /// # Errors
    /// [`Stop::Refused`].
    pub async fn let_pod_go(&self, name: &str) -> Result<(), Stop> {
        self.patch("Pod", name, json!({"metadata": {"finalizers": null}})).await.map(drop)
    }

    /// The same, and waits until it is gone.
    ///
    /// # Errors
    /// As [`TestContext::let_pod_go`]; [`Stop::Wait`].
    pub async fn until_held_pod_gone(&self, name: &str) -> Result<(), Stop> {
        self.let_pod_go(name).await?;
        let gone = Awaited::of_harness(format!("{name} gone"));
        self.until(gone, CLEANUP, |live| live.get("Pod", name).is_none()).await
    }

    /// Has a node take no more pods, or take them again. The harness opens the nodes of a case that ends.
    ///
    /// # Errors
    /// [`Stop::Refused`].
    pub async fn cordon(&self, node: &str, closed: bool) -> Result<(), Stop> {
        self.patch("Node", node, json!({"spec": {"unschedulable": closed}})).await.map(drop)
    }

    /// Closes a node to all pods that do not tolerate [`CLOSED`], or opens it again. (A cordoned node takes no pod at all from
    /// KAI, whatever the pod tolerates.)
    ///
    /// # Errors
    /// [`Stop::Refused`], [`Stop::Cluster`].
    pub async fn close(&self, node: &str, closed: bool) -> Result<(), Stop> {
        // A namespace's log holds the versions of nodes, but not their current state.
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
    use conformance_history::Pod;
    use conformance_judge::life::health::{is_healthy, is_ready};

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
