//! Keeps the messages in the status of a PodGang steady.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use grove_api::PodGang;
use kube::ResourceExt;

/// How long the message about an unchanged fact stays the same. Schedulers count nodes in it, and nodes come
/// and go (STAT-08).
pub(crate) const STEADY: Duration = Duration::from_secs(10);

/// When the status of each PodGang was last written, by uid.
#[derive(Default)]
pub(crate) struct Wordings(Mutex<HashMap<String, Instant>>);

impl Wordings {
    /// How long messages about the same facts still stay the same; `None` if they may change.
    pub(crate) fn steady_for(&self, pod_gang: &PodGang) -> Option<Duration> {
        let written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let written = written.get(&pod_gang.uid().unwrap_or_default()).copied()?;
        STEADY.checked_sub(written.elapsed()).filter(|left| !left.is_zero())
    }

    pub(crate) fn written(&self, pod_gang: &PodGang) {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        written.insert(pod_gang.uid().unwrap_or_default(), Instant::now());
    }

    pub(crate) fn forget(&self, uid: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uid);
    }
}
