use std::time::Duration;

use kube::ResourceExt;
use kube::api::ObjectList;
use tokio::time::{Instant, sleep};

use crate::ClusterError;

const PAUSE: Duration = Duration::from_millis(200);

/// Polls until `missing` returns `None`. A timeout reports the last text that `missing` returned.
pub(crate) async fn until_complete<F: Future<Output = Result<Option<String>, ClusterError>> + Send>(
    what: impl Into<String>,
    limit: Duration,
    missing: impl Fn() -> F,
) -> Result<(), ClusterError> {
    let begin = Instant::now();
    while let Some(last) = missing().await? {
        if begin.elapsed() > limit {
            return Err(ClusterError::NotReady { what: what.into(), seconds: limit.as_secs(), last });
        }
        sleep(PAUSE).await;
    }
    Ok(())
}

pub(crate) fn names_left<K: ResourceExt + Clone>(found: &ObjectList<K>) -> Option<String> {
    let names: Vec<_> = found.iter().map(ResourceExt::name_any).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn polling_ends_when_nothing_is_missing() {
        let asked = AtomicUsize::new(0);
        let missing = || async {
            let count = asked.fetch_add(1, Ordering::Relaxed);
            Ok((count < 3).then(|| format!("{count} of 3")))
        };
        assert!(until_complete("three", Duration::from_secs(9), missing).await.is_ok());
        assert_eq!(asked.load(Ordering::Relaxed), 4);
    }

    #[tokio::test]
    async fn a_timeout_reports_the_last_text() {
        let missing = || async { Ok(Some("one of two".to_owned())) };
        let error = until_complete("both", Duration::ZERO, missing).await.expect_err("the wait times out");
        assert_eq!(error.to_string(), "timed out after 0 s waiting for both: one of two");
    }
}
