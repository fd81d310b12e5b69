//! Creates pods in the order of the requests, for a few PodCliques at a time. Otherwise all gangs would stay
//! incomplete until the last pod exists. Writes that complete a gang do not wait for pod creations.
//!
//! A PodCliqueSet is not started while many pods of other PodCliqueSets wait. Otherwise its gangs would stay
//! partially bound while those pods wait, and its statuses would be written often.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};

const MAX_CREATING_POD_CLIQUES: usize = 8;
/// With this many waiting pods, any scheduler is busy until the pods of the next PodCliqueSet exist.
const MAX_WAITING_PODS: usize = 400;
/// How long the pods of a started PodCliqueSet count as waiting, although `waiting_pods` may not contain them
/// yet. A scheduler that binds nothing delays the next PodCliqueSet by at most this time.
const STARTING: Duration = Duration::from_secs(2);
const MAX_CONCURRENT_RELEASES: usize = 64;

pub(crate) struct Flow {
    creations: Semaphore,
    /// Pods that wait to be created, or for a node.
    waiting_pods: AtomicUsize,
    started: Mutex<VecDeque<(Instant, usize)>>,
    releases: Semaphore,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            creations: Semaphore::new(MAX_CREATING_POD_CLIQUES),
            waiting_pods: AtomicUsize::new(0),
            started: Mutex::default(),
            releases: Semaphore::new(MAX_CONCURRENT_RELEASES),
        }
    }
}

impl Flow {
    /// Waits for permission to create pods. The permission ends when the permit is dropped.
    pub(crate) async fn creation(&self, pods: usize) -> Option<SemaphorePermit<'_>> {
        let _waiting = WaitingPods::add(&self.waiting_pods, pods);
        // The semaphores are never closed.
        self.creations.acquire().await.ok()
    }

    /// The arguments state whether a pod waited for a node before and after a change.
    pub(crate) fn record_change(&self, [before, after]: [bool; 2]) {
        if before != after {
            match after {
                true => self.waiting_pods.fetch_add(1, Ordering::Relaxed),
                false => self.waiting_pods.fetch_sub(1, Ordering::Relaxed),
            };
        }
    }

    /// Whether a PodCliqueSet with this number of pods may start. If so, counts it as started.
    pub(crate) fn may_start(&self, now: Instant, pods: usize) -> bool {
        let mut started = self.started.lock();
        while started.front().is_some_and(|(start, _)| now.duration_since(*start) >= STARTING) {
            started.pop_front();
        }
        let waiting = self.waiting_pods.load(Ordering::Relaxed);
        let all = started.iter().map(|(_, pods)| *pods).fold(waiting, usize::saturating_add);
        let may_start = started.is_empty() || all < MAX_WAITING_PODS;
        if may_start {
            started.push_back((now, pods));
        }
        may_start
    }

    pub(crate) async fn release(&self) -> Option<SemaphorePermit<'_>> {
        self.releases.acquire().await.ok()
    }
}

struct WaitingPods<'a>(&'a AtomicUsize, usize);

impl<'a> WaitingPods<'a> {
    fn add(all: &'a AtomicUsize, count: usize) -> Self {
        all.fetch_add(count, Ordering::Relaxed);
        Self(all, count)
    }
}

impl Drop for WaitingPods<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn pod_clique_sets_start_until_enough_pods_wait() {
        let (flow, start) = (Flow::default(), Instant::now());
        let nearly_full = flow.may_start(start, MAX_WAITING_PODS - 1);
        assert!(nearly_full && flow.may_start(start, 1), "the waiting pods are below the limit");
        assert!(!flow.may_start(start, 1), "pods of started PodCliqueSets count");
        (0..MAX_WAITING_PODS).for_each(|_| flow.record_change([false, true]));
        assert!(flow.may_start(start + STARTING, 1), "the start may be delayed by at most this time");
        assert!(!flow.may_start(start + STARTING, 1), "too many pods wait");
        flow.record_change([true, true]);
        (0..2).for_each(|_| flow.record_change([true, false]));
        assert!(flow.may_start(start + STARTING, usize::MAX), "two pods are bound");
        assert!(!flow.may_start(start + STARTING, 1), "the count must not overflow");
    }

    #[tokio::test]
    async fn pods_that_wait_to_be_created_count_as_waiting() {
        let (flow, start) = (Flow::default(), Instant::now());
        let permits =
            futures::future::join_all((0..MAX_CREATING_POD_CLIQUES).map(|_| flow.creation(MAX_WAITING_PODS)))
                .await;
        assert!((0..2).all(|_| flow.may_start(start, 1)), "no pod waits");
        let mut waiting = Box::pin(flow.creation(MAX_WAITING_PODS));
        assert!(waiting.as_mut().now_or_never().is_none() && !flow.may_start(start, 1));
        drop(permits);
        let _permit = waiting.await;
        assert!(flow.may_start(start, 1));
    }
}
