//! The suite's only waits of fixed length. They let an operator become idle, watch an idle cluster, and keep
//! a component down while a timer runs. They also wait until an operator no longer treats a PodClique as
//! starting.

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
    /// Waits until a converged operator is idle, and adds a mark. It is idle after a period without requests,
    /// or at the limit. Requests that it sends before it sees its own last writes change nothing, or
    /// conflict.
    pub async fn comes_to_rest(&self) -> Result<(), Stop> {
        if let Ok(cluster) = self.local() {
            let (begin, end) = (Timestamp::now(), Instant::now() + self.length(limits::LAST_WRITES));
            let mut last = begin;
            // No synchronization is possible: the audit log is no watch, and silence has no event.
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
            // Without an audit log, requests that change nothing are not visible, and no check asks for them.
            self.until_settled(|_| false).await;
        }
        self.mark(SharedMark::AtRest, Value::Null);
        Ok(())
    }

    /// Waits for `length`, unscaled and regardless of events, and adds a mark. Call it right after a mark:
    /// the check looks at every write between the two.
    pub async fn watch_rest(&self, length: Duration) -> Result<(), Stop> {
        // No synchronization is possible: "no object changes for 10 s" has no other event than the end of
        // that time. A wait for a quiet period instead would forgive every write before it.
        let begin = Timestamp::now();
        let _ = tokio::time::timeout(length, pending::<()>()).await;
        self.test_cluster.cluster.healthy().await?;
        self.note_operator_writes(begin)?;
        self.mark(SharedMark::WatchedForRest, json!({"seconds": length.as_secs()}));
        Ok(())
    }

    /// Keeps a stopped component down for `length` (unscaled), while a timer under test runs.
    pub async fn stays_away(&self, length: Duration) -> Result<(), Stop> {
        // No synchronization is possible: a stopped component produces no event to wait for.
        tokio::time::sleep(length).await;
        Ok(self.test_cluster.cluster.healthy().await?)
    }

    /// Waits until a PodCliqueSet has converged and its last PodClique is past its start.
    pub async fn until_started(&self, set: &str) -> Result<(), Stop> {
        self.until_converged(set).await?;
        let made = self.look(|live| {
            let all = live.of("PodClique").map(|clique| text(&clique["metadata"]["creationTimestamp"]));
            all.filter_map(|made| made.parse::<Timestamp>().ok()).max()
        });
        // No synchronization is possible: an operator does not report when it treats a PodClique as started.
        let age =
            made.and_then(|made| Timestamp::now().duration_since(made).try_into().ok()).unwrap_or_default();
        tokio::time::sleep(limits::START.saturating_sub(age)).await;
        Ok(())
    }

    /// Returns the operator's write requests in the case's namespace since then, and records them in a mark.
    /// A history lacks requests that change nothing. Without access to the API server's audit log the list is
    /// empty.
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
