//! Scales through the scale subresource, as an autoscaler does, or by a patch, as `kubectl apply` does.

use conformance_history::{MarkName, SharedMark};
use http::Method;
use serde_json::{Value, json};

use crate::context::{Answer, Stop, TestContext};

pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

impl TestContext {
    pub async fn scale_by_apply(&self, set: &str, replicas: u32) -> Result<(), Stop> {
        let applied = json!({"kind": "PodCliqueSet", "name": set, "replicas": replicas});
        self.mark(SharedMark::Scaled, applied.clone());
        let annotations = json!({(LAST_APPLIED): applied.to_string()});
        let patch = json!({"metadata": {"annotations": annotations}, "spec": {"replicas": replicas}});
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
