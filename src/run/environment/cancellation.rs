use std::future::pending;
use std::time::Duration;

use conformance_driver::case::Isolation;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Ends running cases early: all that share it, or each after its time limit. They count as interrupted.
#[derive(Debug, Clone, Default)]
pub struct Cancellation {
    token: CancellationToken,
    limit: Option<Duration>,
}

impl Cancellation {
    /// Shares the requests of `self`. The limit starts with the driver of the case.
    #[must_use]
    pub fn with_limit(&self, limit: Duration) -> Self {
        Self { token: self.token.clone(), limit: Some(limit) }
    }

    pub fn request(&self) {
        self.token.cancel();
    }

    pub fn is_requested(&self) -> bool {
        self.token.is_cancelled()
    }

    pub async fn requested(&self) {
        self.token.cancelled().await;
    }

    /// Cases on a dedicated control plane are not ended: only their drivers repair what they broke.
    pub(super) async fn ends(&self, isolation: Isolation) {
        match (isolation, self.limit) {
            (Isolation::Shared, None) => self.requested().await,
            (Isolation::Shared, Some(limit)) => {
                tokio::select! {
                    () = self.requested() => {}
                    () = sleep(limit) => {}
                }
            }
            (Isolation::Dedicated | Isolation::Exclusive | Isolation::Upgrade, _) => pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_case_ends_after_its_limit_or_on_request() {
        let all = Cancellation::default();
        let limit = Duration::from_secs(25);
        let begin = tokio::time::Instant::now();
        all.with_limit(limit).ends(Isolation::Shared).await;
        assert_eq!(begin.elapsed(), limit);
        assert!(all.ends(Isolation::Shared).now_or_never().is_none());
        let limited = all.with_limit(limit);
        all.request();
        limited.ends(Isolation::Shared).await;
        assert!(limited.is_requested() && begin.elapsed() == limit);
        assert!(
            limited.ends(Isolation::Dedicated).now_or_never().is_none(),
            "its driver repairs the cluster"
        );
    }
}
