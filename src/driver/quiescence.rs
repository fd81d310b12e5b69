//! The suite's only waits of fixed length: no event marks the end of these periods.

use std::future::pending;
use std::time::Duration;

use conformance_cluster::local::OperatorWrite;
use conformance_expect::Gang;
use conformance_history::{SharedMark, text};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::context::{Stop, TestContext};
use crate::limits;

impl TestContext {
    /// Waits until the operator is idle: it has sent no write request for a period. An operator may send
    /// requests that change nothing until it observes its own last writes.
    pub async fn wait_until_idle(&self) -> Result<(), Stop> {
        if let Ok(cluster) = self.local() {
            let (begin, end) = (Timestamp::now(), Instant::now() + self.length(limits::LAST_WRITES));
            let mut last = begin;
            // Poll, because the audit log is no watch, and no event marks the end of the writes.
            while Instant::now() < end {
                let silent = Timestamp::now().duration_since(last).try_into().unwrap_or_default();
                match self.length(limits::SILENCE).saturating_sub(silent) {
                    Duration::ZERO => break,
                    left => tokio::time::sleep(left).await,
                }
                let writes = cluster.operator_writes(&self.namespace, begin, self.audit_from)?;
                last = writes.iter().map(|write| write.at).fold(last, Timestamp::max);
            }
        } else {
            // Without an audit log, no check needs requests that change nothing, so silence is enough.
            self.until_settled(|_| false).await;
        }
        self.mark(SharedMark::OperatorIdle, Value::Null);
        Ok(())
    }

    /// Watches for a fixed, unscaled length, from the last mark until the mark that this call records.
    pub async fn watch_while_idle(&self, length: Duration) -> Result<(), Stop> {
        // Wait for a fixed time, because a wait for silence would ignore all writes before the silence.
        let begin = Timestamp::now();
        let _ = tokio::time::timeout(length, pending::<()>()).await;
        self.test_cluster.cluster.healthy().await?;
        self.record_operator_writes(begin)?;
        self.mark(SharedMark::IdlePeriodEnded, json!({"seconds": length.as_secs()}));
        Ok(())
    }

    /// Waits for a fixed, unscaled length, for example while a timer under test runs.
    pub async fn watch_for(&self, length: Duration) -> Result<(), Stop> {
        tokio::time::sleep(length).await;
        Ok(self.test_cluster.cluster.healthy().await?)
    }

    pub async fn submit_and_start(&mut self, set: &str) -> Result<Vec<Gang>, Stop> {
        let gangs = self.submit(set).await?;
        self.until_started(set).await?;
        Ok(gangs)
    }

    pub async fn until_started(&self, set: &str) -> Result<(), Stop> {
        self.until_converged(set).await?;
        let newest = self.look(|live| {
            let times = live.of("PodClique").map(|clique| text(&clique["metadata"]["creationTimestamp"]));
            times.filter_map(|time| time.parse::<Timestamp>().ok()).max()
        });
        // The wait is a sleep, because an operator does not report when it treats a PodClique as started.
        let age = newest
            .and_then(|newest| Timestamp::now().duration_since(newest).try_into().ok())
            .unwrap_or_default();
        tokio::time::sleep(limits::START.saturating_sub(age)).await;
        Ok(())
    }

    /// Records the operator's writes from the audit log: a history lacks requests that change nothing.
    pub fn record_operator_writes(&self, since: Timestamp) -> Result<Vec<OperatorWrite>, Stop> {
        let Ok(cluster) = self.local() else { return Ok(Vec::new()) };
        let writes = cluster.operator_writes(&self.namespace, since, self.audit_from)?;
        let details = writes.iter().map(|write| {
            json!({"verb": write.verb, "group": write.group, "resource": write.resource, "name": write.name,
                "code": write.code})
        });
        let details: Vec<_> = details.collect();
        self.mark(SharedMark::OperatorWrites, json!({"since": since.to_string(), "writes": details}));
        Ok(writes)
    }
}
