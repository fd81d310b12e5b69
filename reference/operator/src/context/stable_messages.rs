use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use grove_api::PodGang;
use kube::ResourceExt;

/// How long a message in a PodGang's status stays unchanged. A scheduler's message contains node counts,
/// which change often (STAT-08).
pub(crate) const STABLE: Duration = Duration::from_secs(10);

/// The time of the last status write, by uid of the PodGang.
#[derive(Default)]
pub(crate) struct StableMessages(Mutex<HashMap<String, Instant>>);

impl StableMessages {
    pub(crate) fn stable_for(&self, pod_gang: &PodGang) -> Option<Duration> {
        let written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let written = written.get(&pod_gang.uid().unwrap_or_default()).copied()?;
        STABLE.checked_sub(written.elapsed()).filter(|left| !left.is_zero())
    }

    pub(crate) fn record_write(&self, pod_gang: &PodGang) {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        written.insert(pod_gang.uid().unwrap_or_default(), Instant::now());
    }

    pub(crate) fn forget(&self, uid: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uid);
    }
}
