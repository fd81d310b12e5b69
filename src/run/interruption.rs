//! Interrupts a run. After the first signal, no case starts, and running cases are stopped. In a user's
//! cluster, their objects are deleted. On a local control plane, a case that does not stop soon is abandoned,
//! because killing the processes deletes everything. On the second signal, the caller drops the run.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

#[derive(Debug, Default)]
pub struct Interruption {
    token: CancellationToken,
    accepts_requests: AtomicBool,
    running: AtomicUsize,
    cause: OnceLock<&'static str>,
}

impl Interruption {
    /// Accepts interruption requests while the guard exists: otherwise a run has nothing to end gracefully.
    #[must_use]
    pub fn accept_requests(&self) -> AcceptingRequests<'_> {
        self.accepts_requests.store(true, Ordering::Relaxed);
        AcceptingRequests(&self.accepts_requests)
    }

    /// Requests the interruption and returns the number of running cases. Returns `None` if the run does not
    /// accept requests or has already been interrupted.
    pub fn request(&self, cause: &'static str) -> Option<usize> {
        if !self.accepts_requests.load(Ordering::Relaxed) || self.cause.set(cause).is_err() {
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

    pub(crate) async fn requested_before(&self, grace: Duration) {
        self.requested().await;
        tokio::time::sleep(grace).await;
    }

    /// Returns the output of `work`, or drops `work` and returns `None` if the interruption comes first.
    pub(crate) async fn unless_requested<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.token.run_until_cancelled(work).await
    }

    pub(crate) fn running(&self) -> Running<'_> {
        self.running.fetch_add(1, Ordering::Relaxed);
        Running(&self.running)
    }
}

#[derive(Debug)]
pub struct AcceptingRequests<'a>(&'a AtomicBool);

impl Drop for AcceptingRequests<'_> {
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
    fn a_request_is_ignored_unless_requests_are_accepted() {
        let interruption = Interruption::default();
        drop(interruption.accept_requests());
        assert_eq!((interruption.request("SIGINT"), interruption.is_requested()), (None, false));
    }

    #[test]
    fn the_first_request_returns_the_number_of_running_cases() {
        let interruption = Interruption::default();
        let _accepting = interruption.accept_requests();
        let (first, second) = (interruption.running(), interruption.running());
        drop(first);
        assert_eq!(interruption.request("SIGINT"), Some(1));
        assert_eq!((interruption.request("SIGTERM"), interruption.cause()), (None, Some("SIGINT")));
        drop(second);
        assert_eq!(interruption.running.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_request_ends_running_work() {
        let interruption = Interruption::default();
        let _accepting = interruption.accept_requests();
        assert_eq!(interruption.unless_requested(async { 1 }).await, Some(1));
        interruption.request("SIGTERM");
        assert_eq!(interruption.unless_requested(std::future::pending::<()>()).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_grace_period_starts_with_the_request() {
        let (interruption, grace) = (Interruption::default(), Duration::from_secs(2));
        let _accepting = interruption.accept_requests();
        let an_hour = Duration::from_secs(3600);
        let ended = tokio::time::timeout(an_hour, interruption.requested_before(grace)).await;
        assert!(ended.is_err(), "nothing was requested");
        interruption.request("SIGTERM");
        let begin = tokio::time::Instant::now();
        interruption.requested_before(grace).await;
        assert_eq!(begin.elapsed(), grace);
    }
}
