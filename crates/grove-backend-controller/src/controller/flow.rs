//! How much is under way at a time: enough that the API server has always something to do, and no more.
//!
//! Whatever is sent to an API server that has as much to do as it can waits there, each request as long as all others. Pods of
//! thousands of PodCliques at once would hold up the gates of the first gangs until the last pod is made, and all gangs would be
//! half made for as long as it takes. So pods are made in the order in which they were asked for, and what completes a gang
//! (references, `Initialized`, gates) does not queue behind them. Nor is a PodCliqueSet begun while many pods of others wait to be
//! made, or for a scheduler: its gangs would be bound in part, and its PodCliques and PodGangs told of, for as long as they wait.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit};

/// PodCliques that make pods.
const CREATIONS: usize = 8;
/// Pods on their way before no other set is begun: what keeps any scheduler busy until the next set's are made.
const ENOUGH: usize = 400;
/// How long it takes until the pods of a set that was begun show in that number, and how long a scheduler that binds none, or is
/// away, keeps the next set from being begun.
const LATELY: Duration = Duration::from_secs(2);
/// Pods whose gates are being taken away.
const RELEASES: usize = 64;

/// Who may go on. First come, first served.
pub(super) struct Flow {
    creations: Semaphore,
    /// Pods whose PodCliques wait to make them, and pods that wait for a node.
    on_the_way: AtomicUsize,
    /// When sets were begun, and how many pods they have.
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
    /// Waits until a PodClique may make so many pods. Its turn lasts until what is returned is dropped.
    pub(super) async fn creation(&self, pods: usize) -> Option<SemaphorePermit<'_>> {
        let _waiting = Waiting::among(&self.on_the_way, pods);
        // Neither is ever closed.
        self.creations.acquire().await.ok()
    }

    /// A pod is on its way to a node, or was before.
    pub(super) fn pod_changed(&self, [before, after]: [bool; 2]) {
        if before != after {
            match after {
                true => self.on_the_way.fetch_add(1, Ordering::Relaxed),
                false => self.on_the_way.fetch_sub(1, Ordering::Relaxed),
            };
        }
    }

    /// Whether another PodCliqueSet, of so many pods, may be begun, which it is then.
    pub(super) fn may_begin(&self, now: Instant, pods: usize) -> bool {
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

    /// Waits until the gate of a pod may be taken away.
    pub(super) async fn release(&self) -> Option<SemaphorePermit<'_>> {
        self.releases.acquire().await.ok()
    }
}

/// Those that wait, for as long as it is there.
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
