//! How a run is interrupted: by one signal in order, by a second one at once.
//!
//! The first lets no case begin and ends those that run; what they made is removed, the clusters are ended, and a report
//! is written that says it is incomplete. The second is not this module's: whoever owns the run drops it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio_util::sync::CancellationToken;

/// What may interrupt a run, shared by the run and whoever gets the signals.
#[derive(Debug, Default)]
pub struct Interruption {
    token: CancellationToken,
    heeded: AtomicBool,
    running: AtomicUsize,
    cause: OnceLock<&'static str>,
}

impl Interruption {
    /// As long as this lives, the run ends in order when it is asked to. Before and after there is nothing to finish.
    #[must_use]
    pub fn heed(&self) -> Heeded<'_> {
        self.heeded.store(true, Ordering::Relaxed);
        Heeded(&self.heeded)
    }

    /// Asks the run to end; how many cases run at that moment. `None` if it is not going to: it does not heed this, or
    /// was asked before.
    pub fn request(&self, cause: &'static str) -> Option<usize> {
        if !self.heeded.load(Ordering::Relaxed) || self.cause.set(cause).is_err() {
            return None;
        }
        // Before the cases see it and end.
        let running = self.running.load(Ordering::Relaxed);
        self.token.cancel();
        Some(running)
    }

    /// The signal that asked for it, once one came.
    pub fn cause(&self) -> Option<&'static str> {
        self.cause.get().copied()
    }

    /// Whether the run was asked to end.
    pub fn is_requested(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Returns when the run is asked to end.
    pub async fn requested(&self) {
        self.token.cancelled().await;
    }

    /// What the work gives, or `None` if the run is asked to end first; the work is dropped then.
    pub(crate) async fn unless_requested<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.token.run_until_cancelled(work).await
    }

    /// Counts a case that runs, until it is dropped.
    pub(crate) fn running(&self) -> Running<'_> {
        self.running.fetch_add(1, Ordering::Relaxed);
        Running(&self.running)
    }
}

/// A run that has clusters.
#[derive(Debug)]
pub struct Heeded<'a>(&'a AtomicBool);

impl Drop for Heeded<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// A case that runs.
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
