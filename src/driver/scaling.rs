//! Scales through the scale subresource, as an autoscaler does, or by a patch, as `kubectl apply` does.

use conformance_history::{MarkName, SharedMark};
use http::Method;
use serde_json::{Value, json};

use crate::context::{Answer, Stop, TestContext};

/// Annotations in which kubectl, Argo CD, Helm and kapp track the objects that they apply. Some change with
/// each apply, others when the object moves to another application or release.
const TRACKING_ANNOTATIONS: [&str; 5] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "kubernetes.io/change-cause",
    "argocd.argoproj.io/tracking-id",
    "meta.helm.sh/release-name",
    "kapp.k14s.io/original",
];
/// Labels of Helm and Flux with the same purpose.
const TRACKING_LABELS: [&str; 2] = ["helm.sh/chart", "kustomize.toolkit.fluxcd.io/name"];

/// Adds what client tools store in an object that they apply with this number of replicas.
pub fn track(object: &mut Value, replicas: u32) {
    let applied = json!({"kind": "PodCliqueSet", "spec": {"replicas": replicas}}).to_string();
    for key in TRACKING_ANNOTATIONS {
        object["metadata"]["annotations"][key] = applied.as_str().into();
    }
    for key in TRACKING_LABELS {
        object["metadata"]["labels"][key] = format!("replicas-{replicas}").into();
    }
}

impl TestContext {
    pub async fn scale_by_apply(&self, set: &str, replicas: u32) -> Result<(), Stop> {
        self.mark(SharedMark::Scaled, json!({"kind": "PodCliqueSet", "name": set, "replicas": replicas}));
        let mut patch = json!({"spec": {"replicas": replicas}});
        track(&mut patch, replicas);
        self.patch("PodCliqueSet", set, patch).await.map(drop)
    }

    pub async fn scale_as_an_autoscaler(&self, kind: &str, name: &str, replicas: u32) -> Result<(), Stop> {
        self.mark(SharedMark::Scaled, json!({"kind": kind, "name": name, "replicas": replicas}));
        self.patch_sub(kind, name, "scale", json!({"spec": {"replicas": replicas}})).await.map(drop)
    }

    /// Scales through `/scale` or through the object itself, and records `{"kind", "name", "replicas", "by",
    /// "code"}`. Returns whether the API server accepted the request.
    pub async fn try_to_scale(
        &self,
        mark: MarkName,
        (kind, name): (&str, &str),
        replicas: u32,
        by: &str,
    ) -> Result<bool, Stop> {
        let tail = if by.is_empty() { String::new() } else { format!("/{by}") };
        let patch = json!({"spec": {"replicas": replicas}});
        let answer = self.attempt_at(Method::PATCH, kind, name, &tail, &patch).await?;
        let (code, message) = match &answer {
            Answer::Accepted(_) => (200, String::new()),
            Answer::Refused { code, message } => (*code, message.clone()),
        };
        let detail = json!({
            "kind": kind, "name": name, "replicas": replicas, "by": by, "code": code, "message": message,
        });
        self.mark(mark, detail);
        Ok(code == 200)
    }

    /// Reads `/scale` and records it in a mark: `{"kind", "name", "scale"}`.
    pub async fn read_scale(&self, mark: MarkName, kind: &str, name: &str) -> Result<(), Stop> {
        let scale = self.attempt_at(Method::GET, kind, name, "/scale", &Value::Null).await?;
        let scale = scale.accepted(format!("read /scale of {kind} {name}"))?;
        self.mark(mark, json!({"kind": kind, "name": name, "scale": scale}));
        Ok(())
    }
}
