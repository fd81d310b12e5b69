//! Waiting for rest: the one wait of the suite that is as long as the contract says (GANG-11), and watched throughout.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::judge::rest::writes;
use super::trial::{Stop, Trial};

/// The mark at the end of the watch.
pub const WATCHED: &str = "watched for rest";

impl Trial {
    /// Waits until nothing has been written for `length`, but no longer than three times that; what schedulers and KWOK
    /// write of their own accord does not count. The judge looks at the last `length` before the mark.
    ///
    /// # Errors
    /// [`Stop::Cluster`] if a part of the cluster has died meanwhile.
    pub async fn quiet_for(&self, length: Duration) -> Result<(), Stop> {
        let mut changes = self.ground.recorder.follow(&self.namespace);
        let rest = async {
            loop {
                changes.mark_unchanged();
                let history = self.history();
                let last = writes(&history, 0, history.entries.len()).last().map(|write| write.version.at);
                let quiet = last
                    .map_or(SignedDuration::MAX, |last| Timestamp::now().duration_since(last))
                    .unsigned_abs();
                let Some(missing) = length.checked_sub(quiet).filter(|missing| !missing.is_zero()) else {
                    return;
                };
                let _ = tokio::time::timeout(missing, changes.changed()).await;
            }
        };
        let _ = tokio::time::timeout(length * 3, rest).await;
        self.ground.healthy().await?;
        self.mark(WATCHED, json!({"seconds": length.as_secs()}));
        Ok(())
    }
}
