//! How a run is interrupted: in order by the first signal, at once by the second.
//!
//! After the first, no case is started, and running ones are stopped. Their objects are removed, the clusters
//! are ended, and the report is marked as incomplete. The second is not handled here: the owner drops the
//! run.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio_util::sync::CancellationToken;

/// The interruption state, shared by the run and the signal handler.
#[derive(Debug, Default)]
pub struct Interruption {
    token: CancellationToken,
    heeded: AtomicBool,
    running: AtomicUsize,
    cause: OnceLock<&'static str>,
}

impl Interruption {
    /// While the returned guard lives, a request ends the run in order. Before and after, there is nothing to
    /// finish.
    #[must_use]
    pub fn heed(&self) -> Heeded<'_> {
        self.heeded.store(true, Ordering::Relaxed);
        Heeded(&self.heeded)
    }

    /// Asks the run to end, and returns the number of running cases. `None` if the run will not react: no
    /// guard exists, or it was asked before.
    pub fn request(&self, cause: &'static str) -> Option<usize> {
        if !self.heeded.load(Ordering::Relaxed) || self.cause.set(cause).is_err() {
            return None;
        }
        // Read before the cases are cancelled.
        let running = self.running.load(Ordering::Relaxed);
        self.token.cancel();
        Some(running)
    }

    pub fn cause(&self) -> Option<&'static str> {
        self.cause.get().copied()
    }

    pub fn is_requested(&self) -> bool {
        self.token.is_cancelled()
    }

    pub async fn requested(&self) {
        self.token.cancelled().await;
    }

    /// The result of `work`; `None` if the run is asked to end first, which drops `work`.
    pub(crate) async fn unless_requested<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.token.run_until_cancelled(work).await
    }

    pub(crate) fn running(&self) -> Running<'_> {
        self.running.fetch_add(1, Ordering::Relaxed);
        Running(&self.running)
    }
}

#[derive(Debug)]
pub struct Heeded<'a>(&'a AtomicBool);

impl Drop for Heeded<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

#[derive(Debug)]
pub(crate) struct Running<'a>(&'a AtomicUsize);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_does_not_heed_it_is_not_asked() {
        let interruption = Interruption::default();
        drop(interruption.heed());
        assert_eq!((interruption.request("SIGINT"), interruption.is_requested()), (None, false));
    }

    #[test]
    fn it_is_asked_once_and_says_what_runs() {
        let interruption = Interruption::default();
        let _heeded = interruption.heed();
        let (first, second) = (interruption.running(), interruption.running());
        drop(first);
        assert_eq!(interruption.request("SIGINT"), Some(1));
        assert_eq!((interruption.request("SIGTERM"), interruption.cause()), (None, Some("SIGINT")));
        drop(second);
        assert_eq!(interruption.running.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn work_ends_where_it_is() {
        let interruption = Interruption::default();
        let _heeded = interruption.heed();
        assert_eq!(interruption.unless_requested(async { 1 }).await, Some(1));
        interruption.request("SIGTERM");
        assert_eq!(interruption.unless_requested(std::future::pending::<()>()).await, None);
    }
}
