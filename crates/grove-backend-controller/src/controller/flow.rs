//! How much is under way at a time: enough that the API server has always something to do, and no more.
//!
//! Whatever is sent to an API server that has as much to do as it can waits there, each request as long as all others. Pods of
//! thousands of PodCliques at once would hold up the gates of the first gangs until the last pod is made, and all gangs would be
//! half made for as long as it takes. So pods are made in the order in which they were asked for, and what completes a gang
//! (references, `Initialized`, gates) does not queue behind them. Nor is a PodCliqueSet begun while pods of others wait to be made:
//! its PodCliques and PodGangs would have to be told of for as long as they wait.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit};

/// PodCliques that make pods.
const CREATIONS: usize = 8;
/// PodCliques that wait for their turn before no other set is begun.
const WAITING: usize = 6;
/// How long it takes until a set that was begun shows in that number.
const BEGINNING: Duration = Duration::from_millis(200);
/// Pods whose gates are being taken away.
const RELEASES: usize = 64;

/// Who may go on. First come, first served.
pub(super) struct Flow {
    creations: Semaphore,
    waiting: AtomicUsize,
    begun: Mutex<Option<Instant>>,
    releases: Semaphore,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            creations: Semaphore::new(CREATIONS),
            waiting: AtomicUsize::new(0),
            begun: Mutex::new(None),
            releases: Semaphore::new(RELEASES),
        }
    }
}

impl Flow {
    /// Waits until a PodClique may make pods. Its turn lasts until what is returned is dropped.
    pub(super) async fn creation(&self) -> Option<SemaphorePermit<'_>> {
        let _waiting = Waiting::among(&self.waiting);
        // Neither is ever closed.
        self.creations.acquire().await.ok()
    }

    /// Whether another PodCliqueSet may be begun, which it is then.
    pub(super) fn may_begin(&self, now: Instant) -> bool {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let may = match self.waiting.load(Ordering::Relaxed) {
            0 => true,
            WAITING.. => false,
            _ => begun.is_none_or(|begun| now.duration_since(begun) >= BEGINNING),
        };
        if may {
            *begun = Some(now);
        }
        may
    }

    /// The same for taking the gate of a pod away.
    pub(super) async fn release(&self) -> Option<SemaphorePermit<'_>> {
        self.releases.acquire().await.ok()
    }
}

/// One of those who wait, for as long as it is there.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn among(all: &'a AtomicUsize) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(all)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn no_set_is_begun_while_pods_of_others_wait() {
        let flow = Flow::default();
        let begin = Instant::now();
        assert!(flow.may_begin(begin) && flow.may_begin(begin), "nobody waits");
        let turns = futures::future::join_all((0..CREATIONS).map(|_| flow.creation())).await;
        let mut waiting: Vec<_> = (0..WAITING).map(|_| Box::pin(flow.creation())).collect();
        assert!(
            waiting[0].as_mut().now_or_never().is_none() && !flow.may_begin(begin),
            "one was begun just now"
        );
        assert!(flow.may_begin(begin + BEGINNING));
        waiting.iter_mut().for_each(|turn| assert!(turn.as_mut().now_or_never().is_none()));
        assert!(!flow.may_begin(begin + 2 * BEGINNING), "too many wait");
        drop(turns);
        for turn in waiting {
            turn.await;
        }
        assert!(flow.may_begin(begin + BEGINNING));
    }
}
