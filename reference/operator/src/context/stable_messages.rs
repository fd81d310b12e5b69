use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use grove_api::PodGang;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;
use tokio::time::Instant;

/// How long a status message stays unchanged: the node counts of a scheduler change often (STAT-08).
pub(crate) const STABLE: Duration = Duration::from_secs(10);

/// When each condition's current message was first written, by uid of the PodGang and type.
#[derive(Default)]
pub(crate) struct StableMessages(Mutex<HashMap<String, HashMap<String, Instant>>>);

impl StableMessages {
    pub(crate) fn stable_for(&self, pod_gang: &PodGang, condition: &str) -> Option<Duration> {
        let written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let written = written.get(&pod_gang.uid().unwrap_or_default())?.get(condition).copied()?;
        STABLE.checked_sub(written.elapsed()).filter(|left| !left.is_zero())
    }

    pub(crate) fn record_write(&self, pod_gang: &PodGang, before: &[Condition], after: &[Condition]) {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let written = written.entry(pod_gang.uid().unwrap_or_default()).or_default();
        let is_known =
            |new: &Condition| before.iter().any(|old| old.type_ == new.type_ && old.message == new.message);
        for new in after.iter().filter(|new| !is_known(new)) {
            written.insert(new.type_.clone(), Instant::now());
        }
    }

    pub(crate) fn forget(&self, uid: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uid);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conditions(messages: [&str; 2]) -> Vec<Condition> {
        let condition = |(type_, message)| {
            let fields = json!({"type": type_, "status": "False", "reason": "R", "message": message,
                                "lastTransitionTime": "2026-01-01T00:00:00Z"});
            serde_json::from_value(fields).unwrap()
        };
        ["Scheduled", "Ready"].into_iter().zip(messages).map(condition).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_is_held_from_its_first_write() {
        let (messages, pod_gang) = (StableMessages::default(), PodGang::default());
        let left = |type_: &str| messages.stable_for(&pod_gang, type_).map(|left| left.as_secs());
        assert_eq!(left("Scheduled"), None);
        messages.record_write(&pod_gang, &[], &conditions(["0/3 nodes", "a"]));
        assert_eq!(left("Scheduled"), Some(10));
        tokio::time::advance(Duration::from_secs(4)).await;
        messages.record_write(&pod_gang, &conditions(["0/3 nodes", "a"]), &conditions(["0/3 nodes", "b"]));
        assert_eq!((left("Scheduled"), left("Ready")), (Some(6), Some(10)));
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!((left("Scheduled"), left("Ready")), (None, Some(4)));
        messages.record_write(&pod_gang, &conditions(["0/3 nodes", "b"]), &conditions(["0/4 nodes", "b"]));
        assert_eq!((left("Scheduled"), left("Ready")), (Some(10), Some(4)));
        messages.forget("");
        assert_eq!(left("Scheduled"), None);
    }
}
