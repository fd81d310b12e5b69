//! Changes the status of running pods: simulated nodes have no kubelet that makes pods unhealthy.

use std::time::Duration;

use conformance_facts::health::has_fields;
use conformance_history::{Live, SharedMark, list, revision, text};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::context::{Awaited, Stop, TestContext};
use crate::limits::CLEANUP;

/// Finalizer that keeps a deleted pod terminating.
const HELD: &str = "conformance.grove.io/held";

/// Readiness gate of pods that become Ready only once a case allows it.
const READINESS_GATE: &str = "conformance.grove.io/may-be-ready";

/// Label of pods whose containers never start on simulated nodes.
pub const UNSTARTED: &str = "conformance.grove.io/unstarted";

const CLOSED: &str = "conformance.grove.io/closed";

/// KWOK may write a status twice. On a fast machine, the second write follows within this period.
const SECOND_WRITE: Duration = Duration::from_millis(250);

const TRIES: u32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containers {
    /// Started and Ready.
    Ready,
    /// Started, failed once, and not Ready.
    Crashing,
    Recovered,
    Unready,
    /// Not started yet: an image is being pulled.
    Creating,
    /// Not started yet: an init container runs.
    Waiting,
    /// Ended with exit code 0. The phase of the pod is Succeeded.
    Succeeded,
}

impl Containers {
    fn are_ready(self) -> bool {
        matches!(self, Self::Ready | Self::Recovered)
    }
}

impl TestContext {
    /// Sets the container statuses of a bound pod, and sets them again if KWOK overwrites them.
    pub async fn set_pod_status(&self, name: &str, containers: Containers) -> Result<(), Stop> {
        self.until_pod_started(name).await?;
        let pod = self.look(|live| live.get("Pod", name).cloned());
        let pod = pod.ok_or_else(|| Stop::Refused {
            action: format!("set the status of Pod {name}"),
            reason: "the pod does not exist".into(),
        })?;
        let status = status(&pod, containers);
        self.hold_pod_status(name, &status, &lasting(&status)).await
    }

    /// Waits until a bound pod has started: KWOK would overwrite its status. A terminating pod never starts.
    pub(crate) async fn until_pod_started(&self, name: &str) -> Result<(), Stop> {
        let started = Awaited::of_harness(format!("pod {name} running"));
        self.until(started, CLEANUP, |live| !live.get("Pod", name).is_some_and(starts_later)).await
    }

    /// Sets the status of a pod, and sets it again if KWOK overwrites one of the `lasting` fields.
    pub(crate) async fn hold_pod_status(
        &self,
        name: &str,
        status: &Value,
        lasting: &Value,
    ) -> Result<(), Stop> {
        let write = || async {
            let written = self.patch_sub("Pod", name, "status", json!({ "status": status })).await?;
            Ok::<_, Stop>(vec![(written, lasting.clone())])
        };
        self.hold_statuses("Pod", &self.namespace, write).await
    }

    /// Writes statuses, and writes them again if KWOK overwrites one of their lasting fields. `write` returns
    /// the written objects with these fields. The namespace of cluster-scoped objects is "".
    pub(crate) async fn hold_statuses<F: Future<Output = Result<Vec<(Value, Value)>, Stop>> + Send>(
        &self,
        kind: &str,
        namespace: &str,
        write: impl Fn() -> F,
    ) -> Result<(), Stop> {
        for _ in 0..TRIES {
            let written = write().await?;
            for (object, lasting) in &written {
                self.mark_status(kind, object, lasting);
            }
            let is_overwritten = |live: &Live| {
                written.iter().any(|(object, lasting)| {
                    live.get(kind, text(&object["metadata"]["name"])).is_some_and(|found| {
                        found["metadata"]["uid"] == object["metadata"]["uid"]
                            && revision(found) > revision(object)
                            && !has_fields(&found["status"], lasting)
                    })
                })
            };
            if written.is_empty() || !self.becomes_true_soon(namespace, is_overwritten).await {
                break;
            }
        }
        // Return no error if KWOK has overwritten every attempt, because the check finds that in the history.
        Ok(())
    }

    /// Records a status that the harness wrote. The case ends in an error if another client overwrites it.
    fn mark_status(&self, kind: &str, written: &Value, lasting: &Value) {
        let metadata = &written["metadata"];
        let detail = json!({"kind": kind, "name": metadata["name"], "uid": metadata["uid"],
            "revision": revision(written), "status": lasting});
        self.mark(SharedMark::StatusSet, detail);
    }

    /// Waits at most [`SECOND_WRITE`] for the condition. No event shows that KWOK has finished writing.
    async fn becomes_true_soon(&self, namespace: &str, condition: impl Fn(&Live) -> bool) -> bool {
        let recorder = &self.test_cluster.recorder;
        let mut changes = recorder.follow(namespace);
        let reached = async {
            while !recorder.look(namespace, &condition) {
                if changes.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        let length = SECOND_WRITE.mul_f64(self.test_cluster.speed.factor());
        tokio::time::timeout(length, reached).await.is_ok()
    }

    pub async fn set_first_pod_status(&self, clique: &str, containers: Containers) -> Result<(), Stop> {
        match self.pods_of(clique).first() {
            Some(pod) => self.set_pod_status(pod, containers).await,
            None => Ok(()),
        }
    }

    pub async fn allow_ready(&self, name: &str) -> Result<(), Stop> {
        let known = self.look(|live| live.get("Pod", name).map(|pod| pod["status"]["conditions"].clone()));
        let mut conditions = list(&known.unwrap_or_default()).to_vec();
        let gate = json!({"type": READINESS_GATE, "status": "True"});
        conditions.push(gate.clone());
        self.hold_pod_status(name, &json!({"conditions": conditions}), &json!({"conditions": [gate]})).await
    }

    pub async fn hold_pod(&self, name: &str) -> Result<(), Stop> {
        self.patch("Pod", name, json!({"metadata": {"finalizers": [HELD]}})).await.map(drop)
    }

    pub async fn release_pod(&self, name: &str) -> Result<(), Stop> {
        self.patch("Pod", name, json!({"metadata": {"finalizers": null}})).await.map(drop)
    }

    pub async fn release_pod_and_wait(&self, name: &str) -> Result<(), Stop> {
        self.release_pod(name).await?;
        let deleted = Awaited::of_harness(format!("Pod {name} deleted"));
        self.until(deleted, CLEANUP, |live| live.get("Pod", name).is_none()).await
    }

    /// Cordons or uncordons a node. At the end of a case, the harness uncordons its nodes.
    pub async fn cordon(&self, node: &str, closed: bool) -> Result<(), Stop> {
        self.patch("Node", node, json!({"spec": {"unschedulable": closed}})).await.map(drop)
    }

    /// Taints a node against pods that do not tolerate [`CLOSED`]. On a cordoned node, KAI places no pod.
    pub async fn close(&self, node: &str, closed: bool) -> Result<(), Stop> {
        // Read the node from the API server, because the live state of a namespace does not include nodes.
        let answer = self.attempt(http::Method::GET, "Node", node, &Value::Null).await?;
        let found = answer.accepted(format!("read Node {node}"))?;
        let mut taints = list(&found["spec"]["taints"]).to_vec();
        taints.retain(|taint| taint["key"] != CLOSED);
        taints.extend(closed.then(|| json!({"key": CLOSED, "effect": "NoSchedule"})));
        self.patch("Node", node, json!({"spec": {"taints": taints}})).await.map(drop)
    }
}

fn starts_later(pod: &Value) -> bool {
    let metadata = &pod["metadata"];
    let stays_pending = !metadata["labels"][UNSTARTED].is_null() || !metadata["deletionTimestamp"].is_null();
    !pod["spec"]["nodeName"].is_null() && pod["status"]["phase"] == "Pending" && !stays_pending
}

/// The part of a pod's status that a kubelet would write for these containers. Other conditions are kept.
fn status(pod: &Value, containers: Containers) -> Value {
    let known = &pod["status"];
    let is_ready = containers.are_ready();
    let ready = if is_ready { "True" } else { "False" };
    let replaced = ["Ready", "ContainersReady"];
    let kept = list(&known["conditions"])
        .iter()
        .filter(|condition| replaced.iter().all(|replaced| condition["type"] != *replaced));
    let now = Timestamp::now();
    let new =
        replaced.iter().map(|of_type| json!({"type": of_type, "status": ready, "lastTransitionTime": now}));
    let conditions: Vec<_> = kept.cloned().chain(new).collect();
    let running = json!({"running": {}});
    let (state, last) = match containers {
        Containers::Ready | Containers::Unready => (running.clone(), json!({})),
        Containers::Crashing | Containers::Recovered => {
            (running.clone(), json!({"terminated": {"exitCode": 1, "reason": "Error"}}))
        }
        Containers::Creating => (json!({"waiting": {"reason": "ContainerCreating"}}), json!({})),
        Containers::Waiting => (json!({"waiting": {"reason": "PodInitializing"}}), json!({})),
        Containers::Succeeded => (json!({"terminated": {"exitCode": 0, "reason": "Completed"}}), json!({})),
    };
    let has_started = state == running;
    let statuses = list(&pod["spec"]["containers"]).iter().map(|container| {
        json!({
            "name": container["name"], "image": container["image"], "imageID": "", "restartCount": 1,
            "ready": is_ready, "started": has_started, "state": state, "lastState": last,
        })
    });
    let statuses: Vec<_> = statuses.collect();
    let mut status = json!({"conditions": conditions, "containerStatuses": statuses});
    if containers == Containers::Waiting {
        let inits = list(&pod["spec"]["initContainers"]).iter().map(|container| {
            json!({
                "name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0,
                "ready": false, "started": true, "state": running,
            })
        });
        status["initContainerStatuses"] = inits.collect();
    }
    if containers == Containers::Succeeded {
        status["phase"] = "Succeeded".into();
    }
    status
}

/// The fields of a written status that another client must not overwrite.
fn lasting(status: &Value) -> Value {
    let conditions = list(&status["conditions"]).iter().filter(|condition| condition["type"] == "Ready");
    let conditions =
        conditions.map(|condition| json!({"type": condition["type"], "status": condition["status"]}));
    let containers = list(&status["containerStatuses"]).iter().map(|container| {
        json!({
            "name": container["name"], "ready": container["ready"], "started": container["started"],
            "state": container["state"], "lastState": container["lastState"],
        })
    });
    json!({
        "phase": status["phase"],
        "conditions": conditions.collect::<Vec<_>>(),
        "containerStatuses": containers.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use conformance_facts::health::{is_healthy, is_ready};
    use conformance_history::Pod;

    use super::*;

    #[rstest::rstest]
    #[case::unbound(None, "Pending", json!({}), false)]
    #[case::bound(Some("n"), "Pending", json!({}), true)]
    #[case::never_started(Some("n"), "Pending", json!({"labels": {UNSTARTED: "true"}}), false)]
    #[case::terminating(Some("n"), "Pending", json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}), false)]
    #[case::running(Some("n"), "Running", json!({}), false)]
    fn kwok_overwrites_the_status_of_a_pod_that_it_starts_later(
        #[case] node: Option<&str>,
        #[case] phase: &str,
        #[case] metadata: Value,
        #[case] wanted: bool,
    ) {
        let pod = json!({"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": phase}});
        assert_eq!(starts_later(&pod), wanted);
    }

    #[rstest::rstest]
    #[case(Containers::Ready, true, true)]
    #[case(Containers::Recovered, true, true)]
    #[case(Containers::Creating, true, false)]
    #[case(Containers::Waiting, true, false)]
    #[case(Containers::Crashing, false, false)]
    #[case(Containers::Unready, false, false)]
    #[case(Containers::Succeeded, false, false)]
    fn checks_read_a_written_status_as_the_state_that_it_represents(
        #[case] containers: Containers,
        #[case] healthy: bool,
        #[case] ready: bool,
    ) {
        let mut pod = json!({
            "spec": {"nodeName": "n", "initContainers": [{"name": "i"}], "containers": [{"name": "c", "image": "i"}]},
            "status": {"conditions": [{"type": "PodScheduled", "status": "True"}]},
        });
        pod["status"] = status(&pod, containers);
        assert_eq!((is_healthy(Pod(&pod)), is_ready(Pod(&pod))), (healthy, ready));
        assert_eq!(pod["status"]["conditions"][0]["status"], "True");
        let lasting = lasting(&pod["status"]);
        assert!(has_fields(&pod["status"], &lasting));
        pod["status"]["conditions"][1]["status"] = json!(if ready { "False" } else { "True" });
        assert!(!has_fields(&pod["status"], &lasting));
    }
}
