//! When partially bound parts of PodGangs were terminated. Parts that wait for the same room are terminated
//! one after the other, so each termination must be known before the caches show it. A restarted operator
//! does not know the earlier ones, so it may terminate one part too early, but never before its own delay.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

/// A PodGang, or a scaling group replica in a base PodGang. Younger parts are greater.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Part {
    pub created: Option<Timestamp>,
    /// The uid of the PodGang.
    pub pod_gang: String,
    pub replica: Option<GroupReplica>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupReplica {
    pub index: i32,
    pub group: String,
}

#[derive(Default)]
pub(crate) struct Releases(Mutex<BTreeMap<Part, Timestamp>>);

impl Releases {
    /// `time_left` gets the time of each part's last termination. If it returns zero, the caller must terminate
    /// this part, and concurrent callers already see its termination.
    pub(crate) fn release(
        &self,
        part: &Part,
        now: Timestamp,
        time_left: impl FnOnce(&BTreeMap<Part, Timestamp>) -> Duration,
    ) -> Duration {
        let mut released = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = time_left(&released);
        if left.is_zero() {
            released.insert(part.clone(), now);
        }
        left
    }

    pub(crate) fn forget(&self, pod_gang: &str) {
        let mut released = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        released.retain(|part, _| part.pod_gang != pod_gang);
    }
}
