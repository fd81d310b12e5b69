use conformance_cluster::ClusterError;
use conformance_contract::clauses::ids::DEL_01;
use conformance_contract::names;
use conformance_history::{Kind, Pod, SharedMark, revision};
use serde_json::{Value, json};

use super::{Awaited, Stop, TestContext};
use crate::limits;

impl TestContext {
    pub async fn attempt(
        &self,
        method: http::Method,
        kind: &str,
        name: &str,
        body: &Value,
    ) -> Result<Answer, Stop> {
        self.attempt_at(method, kind, name, "", body).await
    }

    /// Like [`TestContext::attempt`], with a suffix of the object's path, such as `/status`.
    pub(crate) async fn attempt_at(
        &self,
        method: http::Method,
        kind: &str,
        name: &str,
        tail: &str,
        body: &Value,
    ) -> Result<Answer, Stop> {
        let action = format!("{method} {kind} {name}");
        let refused = |reason: String| Stop::Refused { action: action.clone(), reason };
        let kind = self.test_cluster.recorder.kind(kind);
        let kind = kind.ok_or_else(|| refused("histories do not record this kind".into()))?;
        let collection = kind.path(Some(&self.namespace));
        let is_new = method == http::Method::POST && tail.is_empty();
        let is_change = method == http::Method::PATCH;
        let path = if is_new { collection } else { format!("{collection}/{name}{tail}") };
        let content = if is_change { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::CONTENT_TYPE, content)
            .body(if body.is_null() { Vec::new() } else { body.to_string().into_bytes() })
            .map_err(|e| refused(e.to_string()))?;
        match self.test_cluster.client.request::<Value>(request).await {
            Ok(object) => {
                if is_change {
                    self.changed.lock().insert((kind.name, name.to_owned()), revision(&object));
                }
                Ok(Answer::Accepted(object))
            }
            Err(kube::Error::Api(status)) if status.code < 500 && status.code != 429 => {
                Ok(Answer::Refused { code: status.code, message: status.message.clone() })
            }
            Err(source) => Err(ClusterError::api(action, source).into()),
        }
    }

    /// Creates an object. A cluster-scoped object is deleted at the end of the case.
    pub async fn create(&self, kind: &str, object: &Value) -> Result<Value, Stop> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let known = Kind::named(kind);
        let is_cluster_scoped = known.is_some_and(|kind| !kind.namespaced);
        let mut labelled = object.clone();
        if let Some(known) = known {
            // Histories use qualified names for some kinds, but the API server needs the plain kind.
            labelled["kind"] = known.kind().into();
        }
        if is_cluster_scoped {
            // The label identifies leftovers of a killed run.
            labelled["metadata"]["labels"][names::RUN] = self.test_cluster.run.clone().into();
        }
        let answer = self.attempt(http::Method::POST, kind, &name, &labelled).await?;
        let mut created = answer.accepted(format!("create {kind} {name}"))?;
        created["kind"] = kind.into();
        if is_cluster_scoped {
            self.cluster_scoped.lock().push(created.clone());
        }
        Ok(created)
    }

    /// Deletes the cluster-scoped objects and the companions. Tries all of them, and returns the last error.
    pub async fn clear_cluster(&self) -> Result<(), Stop> {
        let created = std::mem::take(&mut *self.cluster_scoped.lock());
        let mut cleared = self.delete_companions().await.map_err(Stop::from);
        for object in created.iter().rev() {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            // The uid protects an object of someone else that has taken the same name.
            let options = json!({"apiVersion": "v1", "kind": "DeleteOptions",
                "preconditions": {"uid": object["metadata"]["uid"]}});
            let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
            let deleted = self.attempt(http::Method::DELETE, &kind, &name, &options).await;
            cleared = deleted.map(drop).and(cleared);
        }
        cleared
    }

    pub async fn patch(&self, kind: &str, name: &str, patch: Value) -> Result<Value, Stop> {
        self.attempt(http::Method::PATCH, kind, name, &patch).await?.accepted(format!("patch {kind} {name}"))
    }

    pub async fn patch_sub(
        &self,
        kind: &str,
        name: &str,
        subresource: &str,
        patch: Value,
    ) -> Result<Value, Stop> {
        let tail = format!("/{subresource}");
        self.attempt_at(http::Method::PATCH, kind, name, &tail, &patch)
            .await?
            .accepted(format!("patch {kind} {name}{tail}"))
    }

    pub async fn scale(&self, kind: &str, name: &str, replicas: u32) -> Result<(), Stop> {
        self.mark(SharedMark::Scaled, json!({"kind": kind, "name": name, "replicas": replicas}));
        self.patch(kind, name, json!({"spec": {"replicas": replicas}})).await.map(drop)
    }

    /// Deletes an object with background propagation, as kubectl does.
    pub async fn delete(&self, kind: &str, name: &str) -> Result<(), Stop> {
        self.mark(SharedMark::Deleted, json!({"kind": kind, "name": name}));
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
        self.attempt(http::Method::DELETE, kind, name, &options)
            .await?
            .accepted(format!("delete {kind} {name}"))
            .map(drop)
    }

    pub async fn remove_set(&self, set: &str) -> Result<(), Stop> {
        self.delete("PodCliqueSet", set).await?;
        let removed = Awaited::demanded_by(DEL_01, format!("PodCliqueSet {set} and its pods deleted"));
        self.until(removed, limits::CLEANUP, |live| {
            let has_pods = live.pods().any(|pod| pod.label(names::PART_OF) == Some(set));
            !has_pods && live.get("PodCliqueSet", set).is_none()
        })
        .await
    }

    /// Deletes a pod without grace, as if its node had disappeared.
    pub async fn force_delete_pod(&self, name: &str) -> Result<(), Stop> {
        self.disrupt_pod(Disruption::AtOnce, name).await
    }

    /// Disrupts the pod, and waits until the history contains the change. On real nodes the kubelet owns the
    /// phase, so the harness sets `activeDeadlineSeconds` instead of the phase Failed.
    pub async fn disrupt_pod(&self, disruption: Disruption, name: &str) -> Result<(), Stop> {
        let is_real = self.test_cluster.cluster.node_pools().size().is_some();
        if disruption == Disruption::Failed {
            self.until_pod_started(name).await?;
        }
        let (uid, is_bound) = self.look(|live| {
            let pod = live.get("Pod", name);
            (pod.map(|pod| pod["metadata"]["uid"].clone()), pod.is_some_and(|pod| Pod(pod).node().is_some()))
        });
        self.mark(SharedMark::PodLost, json!({"name": name, "by": disruption.name()}));
        let deletion =
            |grace: u32| json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": grace});
        let request = match disruption {
            Disruption::AtOnce => Some((http::Method::DELETE, "", deletion(0))),
            Disruption::WithGrace => Some((http::Method::DELETE, "", deletion(1))),
            Disruption::Failed if is_real && is_bound => {
                Some((http::Method::PATCH, "", json!({"spec": {"activeDeadlineSeconds": 1}})))
            }
            Disruption::Failed => None,
            Disruption::Evicted => {
                let metadata = json!({"name": name, "namespace": self.namespace});
                let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata});
                Some((http::Method::POST, "/eviction", eviction))
            }
        };
        if let Some((method, tail, body)) = request {
            let answer = self.attempt_at(method, "Pod", name, tail, &body).await?;
            answer.accepted(format!("disrupt pod {name}"))?;
        } else {
            let status = json!({"phase": "Failed", "reason": "Lost", "message": "failed by the suite"});
            self.hold_pod_status(name, &status, &json!({"phase": "Failed"})).await?;
        }
        let is_unchanged = |pod: &Value| {
            let is_same = Some(&pod["metadata"]["uid"]) == uid.as_ref();
            is_same && !Pod(pod).is_terminating() && pod["status"]["phase"] != "Failed"
        };
        let recorded = Awaited::of_harness(format!("the loss of pod {name} in the history"));
        self.until(recorded, limits::CLEANUP, |live| !live.get("Pod", name).is_some_and(is_unchanged)).await
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disruption {
    /// The harness deletes the pod without grace, as if its node had disappeared.
    AtOnce,
    WithGrace,
    Failed,
    Evicted,
}

impl Disruption {
    pub const ALL: [Self; 4] = [Self::AtOnce, Self::WithGrace, Self::Failed, Self::Evicted];

    pub fn name(self) -> &'static str {
        match self {
            Self::AtOnce => "deleted at once",
            Self::WithGrace => "deleted with grace",
            Self::Failed => "failed",
            Self::Evicted => "evicted",
        }
    }
}

#[derive(Debug, Clone)]
pub enum Answer {
    Accepted(Value),
    Refused { code: u16, message: String },
}

impl Answer {
    pub fn accepted(self, action: String) -> Result<Value, Stop> {
        match self {
            Self::Accepted(object) => Ok(object),
            Self::Refused { message, .. } => Err(Stop::Refused { action, reason: message }),
        }
    }
}
