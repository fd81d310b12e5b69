//! Limits concurrent work: enough to keep the API server busy, and no more.
//!
//! An overloaded API server delays every request. If thousands of PodCliques created pods at once, the gates
//! of the first gangs would wait for the last pod. Meanwhile, all gangs would be incomplete. So pods are
//! created in the order of the requests. Writes that complete a gang (references, `Initialized`, gates) do
//! not queue behind them.
//!
//! A PodCliqueSet is not started while many pods of others wait to be created or scheduled. Otherwise its
//! gangs would be partially bound, and its statuses written, for as long as those wait.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit};

/// PodCliques that create pods concurrently.
const CREATIONS: usize = 8;
/// Number of waiting pods at which no other PodCliqueSet is started. They keep any scheduler busy until the
/// next one's pods exist.
const ENOUGH: usize = 400;
/// How long a started PodCliqueSet is counted, because its pods appear in `on_the_way` only later. Also the
/// longest time for which a scheduler that binds nothing delays the next PodCliqueSet.
const LATELY: Duration = Duration::from_secs(2);
/// Pods whose gates are removed concurrently.
const RELEASES: usize = 64;

/// Requests proceed in order of arrival.
pub(crate) struct Flow {
    creations: Semaphore,
    /// Pods that wait to be created, and pods that wait for a node.
    on_the_way: AtomicUsize,
    /// When PodCliqueSets were started, and how many pods they have.
    begun: Mutex<VecDeque<(Instant, usize)>>,
    releases: Semaphore,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            creations: Semaphore::new(CREATIONS),
            on_the_way: AtomicUsize::new(0),
            begun: Mutex::default(),
            releases: Semaphore::new(RELEASES),
        }
    }
}

impl Flow {
    /// Waits until a PodClique may create this many pods. It may do so until the permit is dropped.
    pub(crate) async fn creation(&self, pods: usize) -> Option<SemaphorePermit<'_>> {
        let _waiting = Waiting::among(&self.on_the_way, pods);
        // The semaphores are never closed.
        self.creations.acquire().await.ok()
    }

    /// Whether a pod waits for a node, before and after a change.
    pub(crate) fn pod_changed(&self, [before, after]: [bool; 2]) {
        if before != after {
            match after {
                true => self.on_the_way.fetch_add(1, Ordering::Relaxed),
                false => self.on_the_way.fetch_sub(1, Ordering::Relaxed),
            };
        }
    }

    /// Whether another PodCliqueSet with this many pods may start; if so, counts it as started.
    pub(crate) fn may_begin(&self, now: Instant, pods: usize) -> bool {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        while begun.front().is_some_and(|(begun, _)| now.duration_since(*begun) >= LATELY) {
            begun.pop_front();
        }
        let on_the_way = self.on_the_way.load(Ordering::Relaxed);
        let all = begun.iter().map(|(_, pods)| *pods).fold(on_the_way, usize::saturating_add);
        let may = begun.is_empty() || all < ENOUGH;
        if may {
            begun.push_back((now, pods));
        }
        may
    }

    pub(crate) async fn release(&self) -> Option<SemaphorePermit<'_>> {
        self.releases.acquire().await.ok()
    }
}

/// Counts waiting pods until it is dropped.
struct Waiting<'a>(&'a AtomicUsize, usize);

impl<'a> Waiting<'a> {
    fn among(all: &'a AtomicUsize, count: usize) -> Self {
        all.fetch_add(count, Ordering::Relaxed);
        Self(all, count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn sets_are_begun_until_enough_pods_are_on_their_way() {
        let (flow, begin) = (Flow::default(), Instant::now());
        assert!(flow.may_begin(begin, ENOUGH - 1) && flow.may_begin(begin, 1), "there is room for one more");
        assert!(!flow.may_begin(begin, 1), "those that were begun count");
        (0..ENOUGH).for_each(|_| flow.pod_changed([false, true]));
        assert!(flow.may_begin(begin + LATELY, 1), "the scheduler may be away");
        assert!(!flow.may_begin(begin + LATELY, 1), "all wait for it");
        flow.pod_changed([true, true]);
        (0..2).for_each(|_| flow.pod_changed([true, false]));
        assert!(flow.may_begin(begin + LATELY, usize::MAX), "two are bound");
        assert!(!flow.may_begin(begin + LATELY, 1), "more than there can be are on their way");
    }

    #[tokio::test]
    async fn pods_that_wait_to_be_made_are_on_their_way() {
        let (flow, begin) = (Flow::default(), Instant::now());
        let turns = futures::future::join_all((0..CREATIONS).map(|_| flow.creation(ENOUGH))).await;
        assert!((0..2).all(|_| flow.may_begin(begin, 1)), "nobody waits");
        let mut waiting = Box::pin(flow.creation(ENOUGH));
        assert!(waiting.as_mut().now_or_never().is_none() && !flow.may_begin(begin, 1));
        drop(turns);
        let _turn = waiting.await;
        assert!(flow.may_begin(begin, 1));
    }
}
