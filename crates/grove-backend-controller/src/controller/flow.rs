//! How much is under way at a time: enough that the API server has always something to do, and no more.
//!
//! Whatever is sent to an API server that has as much to do as it can waits there, each request as long as all others. Pods of
//! thousands of PodCliques at once would hold up the gates of the first gangs until the last pod is made, and all gangs would be
//! half made for as long as it takes. So pods are made in the order in which they were asked for, and what completes a gang
//! (references, `Initialized`, gates) does not queue behind them.

use tokio::sync::{Semaphore, SemaphorePermit};

/// PodCliques that make pods.
const CREATIONS: usize = 8;
/// Pods whose gates are being taken away.
const RELEASES: usize = 64;

/// Who may go on. First come, first served.
pub(super) struct Flow {
    creations: Semaphore,
    releases: Semaphore,
}

impl Default for Flow {
    fn default() -> Self {
        Self { creations: Semaphore::new(CREATIONS), releases: Semaphore::new(RELEASES) }
    }
}

impl Flow {
    /// Waits until a PodClique may make pods. Its turn lasts until what is returned is dropped.
    pub(super) async fn creation(&self) -> Option<SemaphorePermit<'_>> {
        // Neither is ever closed.
        self.creations.acquire().await.ok()
    }

    /// The same for taking the gate of a pod away.
    pub(super) async fn release(&self) -> Option<SemaphorePermit<'_>> {
        self.releases.acquire().await.ok()
    }
}
