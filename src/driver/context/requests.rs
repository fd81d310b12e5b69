//! Requests that a case sends to the API server, and the responses.

use std::sync::PoisonError;

use conformance_cluster::ClusterError;
use conformance_contract::names;
use conformance_history::{Kind, Pod, SharedMark};
use serde_json::{Value, json};

use super::{Awaited, Stop, TestContext};
use crate::limits;

impl TestContext {
    /// Sends a request and returns the response, accepted or refused.
    pub async fn attempt(
        &self,
        method: http::Method,
        kind: &str,
        name: &str,
        body: &Value,
    ) -> Result<Answer, Stop> {
        self.attempt_at(method, kind, name, "", body).await
    }

    pub(crate) async fn attempt_at(
        &self,
        method: http::Method,
        kind: &str,
        name: &str,
        tail: &str,
        body: &Value,
    ) -> Result<Answer, Stop> {
        let action = format!("{method} {kind} {name}");
        let wrong = |reason: String| Stop::Refused { action: action.clone(), reason };
        let kind = self.test_cluster.recorder.kind(kind);
        let kind = kind.ok_or_else(|| wrong("histories do not record this kind".into()))?;
        let collection = kind.path(Some(&self.namespace));
        let is_new = method == http::Method::POST && tail.is_empty();
        let path = if is_new { collection } else { format!("{collection}/{name}{tail}") };
        let content =
            if method == http::Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::CONTENT_TYPE, content)
            .body(if body.is_null() { Vec::new() } else { body.to_string().into_bytes() })
            .map_err(|e| wrong(e.to_string()))?;
        match self.test_cluster.client.request::<Value>(request).await {
            Ok(object) => Ok(Answer::Accepted(object)),
            // A denial by admission or validation is an answer. A 5xx or 429 is a failing cluster.
            Err(kube::Error::Api(status)) if status.code < 500 && status.code != 429 => {
                Ok(Answer::Refused { code: status.code, message: status.message.clone() })
            }
            Err(source) => Err(ClusterError::api(action, source).into()),
        }
    }

    /// Creates an object. A cluster-scoped object is deleted at the end of the test.
    pub async fn create(&self, kind: &str, object: &Value) -> Result<Value, Stop> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let known = Kind::named(kind);
        let is_of_the_cluster = known.is_some_and(|kind| !kind.namespaced);
        let mut labelled = object.clone();
        if let Some(known) = known {
            // Histories qualify the names of some kinds; the API server needs the plain kind.
            labelled["kind"] = known.kind().into();
        }
        if is_of_the_cluster {
            // The label identifies leftovers of a killed run.
            labelled["metadata"]["labels"][names::RUN] = self.test_cluster.run.clone().into();
        }
        let made = self.attempt(http::Method::POST, kind, &name, &labelled).await?;
        let mut made = made.accepted(format!("create {kind} {name}"))?;
        made["kind"] = kind.into();
        if is_of_the_cluster {
            self.of_the_cluster.lock().unwrap_or_else(PoisonError::into_inner).push(made.clone());
        }
        Ok(made)
    }

    /// Deletes the cluster-scoped objects that the case created. A failed delete does not stop the others;
    /// the last error is returned.
    pub async fn clear_cluster(&self) -> Result<(), Stop> {
        let made = std::mem::take(&mut *self.of_the_cluster.lock().unwrap_or_else(PoisonError::into_inner));
        let mut cleared = Ok(());
        for object in made.iter().rev() {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            // The uid protects an unrelated object that has the same name by now.
            let this_one = json!({"apiVersion": "v1", "kind": "DeleteOptions",
                "preconditions": {"uid": object["metadata"]["uid"]}});
            let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
            let gone = self.attempt(http::Method::DELETE, &kind, &name, &this_one).await;
            cleared = gone.map(drop).and(cleared);
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

    /// Deletes a pod without grace, as if its node had vanished.
    pub async fn lose_pod(&self, name: &str) -> Result<(), Stop> {
        self.lose_pod_by(Loss::AtOnce, name).await
    }

    /// Makes a pod fail or deletes it, and waits until the loss is recorded. Otherwise the next wait could
    /// end with a state from before the loss. A bound pod must run before it fails, because KWOK would set it
    /// to Running afterwards. On real nodes it fails by `activeDeadlineSeconds`, because a kubelet overwrites
    /// the phase while containers run.
    pub async fn lose_pod_by(&self, loss: Loss, name: &str) -> Result<(), Stop> {
        let is_real = self.test_cluster.cluster.node_pools().size().is_some();
        if loss == Loss::Failed {
            let runs = |pod: &Value| pod["spec"]["nodeName"].is_null() || pod["status"]["phase"] == "Running";
            let condition = Awaited::of_harness(format!("pod {name} running"));
            self.until(condition, limits::CLEANUP, |live| live.get("Pod", name).is_none_or(runs)).await?;
        }
        let (uid, is_bound) = self.look(|live| {
            let pod = live.get("Pod", name);
            (pod.map(|pod| pod["metadata"]["uid"].clone()), pod.is_some_and(|pod| Pod(pod).node().is_some()))
        });
        self.mark(SharedMark::PodLost, json!({"name": name, "by": loss.name()}));
        let deletion =
            |grace: u32| json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": grace});
        let (method, tail, body) = match loss {
            Loss::AtOnce => (http::Method::DELETE, "", deletion(0)),
            Loss::WithGrace => (http::Method::DELETE, "", deletion(1)),
            Loss::Failed if is_real && is_bound => {
                (http::Method::PATCH, "", json!({"spec": {"activeDeadlineSeconds": 1}}))
            }
            Loss::Failed => (
                http::Method::PATCH,
                "/status",
                json!({"status": {"phase": "Failed", "reason": "Lost", "message": "failed by the suite"}}),
            ),
            Loss::Evicted => {
                let of = json!({"name": name, "namespace": self.namespace});
                let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": of});
                (http::Method::POST, "/eviction", eviction)
            }
        };
        let answer = self.attempt_at(method, "Pod", name, tail, &body).await?;
        answer.accepted(format!("lose pod {name}"))?;
        let is_there = |pod: &Value| {
            let is_same = Some(&pod["metadata"]["uid"]) == uid.as_ref();
            is_same && !Pod(pod).is_terminating() && pod["status"]["phase"] != "Failed"
        };
        let recorded = Awaited::of_harness(format!("the loss of pod {name} in the history"));
        self.until(recorded, limits::CLEANUP, |live| !live.get("Pod", name).is_some_and(is_there)).await
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Deleted without grace, as if its node had vanished.
    AtOnce,
    /// Deleted with grace, as by a user.
    WithGrace,
    Failed,
    /// Evicted, as by a drain.
    Evicted,
}

impl Loss {
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
    Refused {
        /// HTTP status code.
        code: u16,
        message: String,
    },
}

impl Answer {
    /// The object, or a [`Stop::Refused`] with the API server's message.
    pub fn accepted(self, action: String) -> Result<Value, Stop> {
        match self {
            Self::Accepted(object) => Ok(object),
            Self::Refused { message, .. } => Err(Stop::Refused { action, reason: message }),
        }
    }
}
