//! The suite's only waits of fixed length: letting an operator come to rest; watching a cluster at rest, and what the operator
//! does meanwhile; leaving a part of the control plane away while a clock runs; and waiting until an operator takes nothing
//! for a start any longer.

use std::future::pending;
use std::time::Duration;

use conformance_cluster::local::OperatorWrite;
use conformance_history::{SharedMark, text};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::context::{Stop, TestContext};
use crate::limits;

impl TestContext {
    /// Lets an operator that has converged come to rest, and marks that it is: until it has sent nothing for a while, or the
    /// limit runs out. What it sends before it sees its own last writes changes nothing, or is refused as out of date.
    ///
    /// # Errors
    /// [`Stop::Cluster`] if the audit log cannot be read.
    pub async fn comes_to_rest(&self) -> Result<(), Stop> {
        if let Ok(cluster) = self.local() {
            let (begin, end) = (Timestamp::now(), Instant::now() + self.length(limits::LAST_WRITES));
            let mut last = begin;
            // Synchronises nothing: the audit log is no watch, and silence has no other event than its end.
            while Instant::now() < end {
                let silent = Timestamp::now().duration_since(last).try_into().unwrap_or_default();
                match self.length(limits::SILENCE).saturating_sub(silent) {
                    Duration::ZERO => break,
                    left => tokio::time::sleep(left).await,
                }
                let writes = cluster.operator_writes(&self.namespace, begin)?;
                last = writes.iter().map(|write| write.at).fold(last, Timestamp::max);
            }
        } else {
            // What changes nothing is not seen there, nor asked about.
            self.until_settled(|_| false).await;
        }
        self.mark(SharedMark::AtRest, Value::Null);
        Ok(())
    }

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

    /// Leaves a part of the control plane that was taken away for so long, not scaled: a clock runs meanwhile.
    ///
    /// # Errors
    /// [`Stop::Cluster`] if another part has died meanwhile.
    pub async fn stays_away(&self, length: Duration) -> Result<(), Stop> {
        // Synchronises nothing: while nobody is there nothing happens that could be waited for.
        tokio::time::sleep(length).await;
        Ok(self.test_cluster.cluster.healthy().await?)
    }

    /// Waits until a PodCliqueSet runs and its start is over, counted from when the last PodClique was made.
    ///
    /// # Errors
    /// [`Stop::Wait`] if it does not come to run.
    pub async fn until_started(&self, set: &str) -> Result<(), Stop> {
        self.until_converged(set).await?;
        let made = self.look(|live| {
            let all = live.of("PodClique").map(|clique| text(&clique["metadata"]["creationTimestamp"]));
            all.filter_map(|made| made.parse::<Timestamp>().ok()).max()
        });
        // Synchronises nothing either: an operator shows nowhere that it takes a PodClique for started.
        let age =
            made.and_then(|made| Timestamp::now().duration_since(made).try_into().ok()).unwrap_or_default();
        tokio::time::sleep(limits::START.saturating_sub(age)).await;
        Ok(())
    }

    /// Marks, and gives, what the operator has requested to be written in the case's namespace since then, where the API
    /// server's audit log is the harness's to read: what changed nothing is in no history.
    ///
    /// # Errors
    /// [`Stop::Cluster`] if it cannot be read.
    pub fn note_operator_writes(&self, since: Timestamp) -> Result<Vec<OperatorWrite>, Stop> {
        let Ok(cluster) = self.local() else { return Ok(Vec::new()) };
        let writes = cluster.operator_writes(&self.namespace, since)?;
        let told = writes.iter().map(|write| {
            json!({"verb": write.verb, "group": write.group, "resource": write.resource, "name": write.name,
                "code": write.code})
        });
        let told: Vec<_> = told.collect();
        self.mark(SharedMark::OperatorWrites, json!({"since": since.to_string(), "writes": told}));
        Ok(writes)
    }
}
