//! Watching a cluster at rest: the suite's only wait of fixed length, because the contract sets it (GANG-11).

use std::future::pending;
use std::time::Duration;

use conformance_history::SharedMark;
use serde_json::json;

use crate::context::{Stop, TestContext};

impl TestContext {
    /// Lets `length` pass, not scaled and whatever happens, and marks its end. To be called right after a mark: the judge
    /// looks at every write between the two.
    ///
    /// # Errors
    /// [`Stop::Cluster`] if a part of the cluster has died meanwhile.
    pub async fn watch_rest(&self, length: Duration) -> Result<(), Stop> {
        // Synchronises nothing: "changes in no object for 10 s" has no other event to wait for than their end. Waiting for
        // a quiet stretch instead would forgive every write before it.
        let _ = tokio::time::timeout(length, pending::<()>()).await;
        self.test_cluster.cluster.healthy().await?;
        self.mark(SharedMark::WatchedForRest, json!({"seconds": length.as_secs()}));
        Ok(())
    }
}
