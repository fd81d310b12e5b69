//! Watching a cluster at rest, and what the operator does meanwhile: the suite's only wait of fixed length, because the contract sets it (GANG-11).

use std::future::pending;
use std::time::Duration;

use conformance_history::SharedMark;
use jiff::Timestamp;
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
        let begin = Timestamp::now();
        let _ = tokio::time::timeout(length, pending::<()>()).await;
        self.test_cluster.cluster.healthy().await?;
        self.note_operator_writes(begin)?;
        self.mark(SharedMark::WatchedForRest, json!({"seconds": length.as_secs()}));
        Ok(())
    }

    /// Marks what the operator has requested to be written in the case's namespace since then, where the API server's audit
    /// log is the harness's to read: what changed nothing is in no history.
    ///
    /// # Errors
    /// [`Stop::Cluster`] if it cannot be read.
    pub fn note_operator_writes(&self, since: Timestamp) -> Result<(), Stop> {
        let Ok(cluster) = self.local() else { return Ok(()) };
        let writes = cluster.operator_writes(&self.namespace, since)?;
        let told = writes.iter().map(|write| {
            json!({"verb": write.verb, "group": write.group, "resource": write.resource, "name": write.name,
                "code": write.code})
        });
        let told: Vec<_> = told.collect();
        self.mark(SharedMark::OperatorWrites, json!({"since": since.to_string(), "writes": told}));
        Ok(())
    }
}
