//! Companions are the other objects of a user's manifest, created before and deleted after the PodCliqueSets.

use std::time::Instant;

use conformance_cluster::{ClusterError, deploy};
use conformance_history::{SharedMark, name};
use serde_json::Value;

use super::{Awaited, Stop, TestContext};
use crate::limits;

const ADDING_TO_PODS: [&str; 5] = [
    "LimitRange",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "PriorityClass",
    "RuntimeClass",
];

impl TestContext {
    /// Applies the object with its status. It is deleted at the end of the case at the latest.
    pub async fn apply_companion(&self, object: Value) -> Result<(), Stop> {
        let client = &self.test_cluster.client;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        if ADDING_TO_PODS.contains(&kind.as_str()) {
            self.mark(SharedMark::ForeignAdmission, Value::Null);
        }
        // An earlier attempt, or another target, may have left a cluster-scoped object with this name.
        let deleted = Awaited::of_harness(format!("the earlier {kind} {name} deleted"));
        self.poll_until(deleted, limits::CLEANUP, || async {
            let found = deploy::find(client, &object).await?;
            let is_terminating =
                found.is_some_and(|found| found["metadata"]["deletionTimestamp"].is_string());
            Ok((!is_terminating).then_some(()))
        })
        .await?;
        self.companions.lock().push(object.clone());
        Ok(deploy::apply_when_served(client, &object).await?)
    }

    /// Deletes the companions in reverse order, without waiting. Tries all, and returns the last error.
    pub async fn delete_companions(&self) -> Result<(), ClusterError> {
        let applied = std::mem::take(&mut *self.companions.lock());
        let mut deleted = Ok(());
        for object in applied.iter().rev() {
            deleted = deploy::delete(&self.test_cluster.client, object).await.and(deleted);
        }
        deleted
    }

    /// Waits until admission accepts the PodCliqueSets, because the operator may notice the companions late.
    pub async fn until_admitted(&self, sets: &[Value]) -> Result<(), Stop> {
        let begin = Instant::now();
        for set in sets {
            while let Some(refusal) = self.refusal_of(set).await? {
                if begin.elapsed() > self.length_since(limits::REACTION, begin) {
                    let admitted = Awaited::of_harness(format!("PodCliqueSet {} admitted", name(set)));
                    let situation = format!("  admission refuses it: {refusal}");
                    return Err(self.timeout(admitted, limits::REACTION, begin, situation));
                }
                tokio::time::sleep(limits::PACE).await;
            }
        }
        Ok(())
    }

    /// Returns the refusal of a dry run if the operator may withdraw it once it has noticed the companions.
    async fn refusal_of(&self, set: &Value) -> Result<Option<String>, Stop> {
        match deploy::dry_run(&self.test_cluster.client, set).await {
            Ok(()) => Ok(None),
            Err(kube::Error::Api(status)) if deploy::is_refused_by_schema(&status) => {
                let action = format!("create PodCliqueSet {}", name(set));
                Err(Stop::Refused { action, reason: status.message })
            }
            Err(kube::Error::Api(status)) if (400..500).contains(&status.code) => Ok(Some(status.message)),
            Err(source) => Err(ClusterError::api("send a PodCliqueSet to admission", source).into()),
        }
    }
}
