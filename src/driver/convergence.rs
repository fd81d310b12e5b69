//! Waits until a PodCliqueSet has converged: every wanted object exists and no controller has work left.
//!
//! No clause defines the counts in statuses. If they report that everything is complete, the PodCliqueSet has
//! converged; otherwise a period without writes counts as convergence. Checks compare later versions with the
//! converged state, so a late write would look like an effect of the case.

use conformance_contract::clauses::Feature;
use conformance_expect::{Gang, scaling};
use conformance_facts::convergence::{is_scheduled_and_ready, lacks, statuses_are_complete};
use conformance_facts::gang_resources::mismatches;
use conformance_history::{Live, SharedMark};
use serde_json::Value;

use super::limits::{REACTION, SCHEDULING};
use crate::context::{Duty, Stop, TestContext};

impl TestContext {
    pub async fn submit_and_converge(&mut self, set: &str) -> Result<Vec<Gang>, Stop> {
        let gangs = self.submit(set).await?;
        self.until_converged(set).await?;
        Ok(gangs)
    }

    /// Waits until a PodCliqueSet has converged after its last scaling. Checks start at the mark `converged`.
    pub async fn until_converged(&self, set: &str) -> Result<(), Stop> {
        self.until_all_converged(&[set]).await
    }

    /// Waits until all PodCliqueSets have converged, with a single wait for a period without writes.
    pub async fn until_all_converged(&self, sets: &[&str]) -> Result<(), Stop> {
        let history = self.history();
        let gangs_of = |set: &str| {
            let pcs = history.header.submitted.get(set);
            pcs.map(|pcs| scaling::gangs(&history, pcs, history.entries.len())).unwrap_or_default()
        };
        let sets: Vec<_> = sets.iter().map(|set| (*set, gangs_of(set))).collect();
        for (set, gangs) in &sets {
            self.until_complete(set, gangs).await?;
        }
        let has_status = self.target.declares(Feature::PodGangStatus);
        self.until_settled(|live| {
            sets.iter().all(|(set, gangs)| {
                statuses_are_complete(live, set, gangs)
                    && (!has_status || gangs.iter().all(|gang| is_scheduled_and_ready(live, gang)))
            })
        })
        .await;
        for (set, _) in &sets {
            self.mark(SharedMark::Converged, serde_json::json!({"name": set}));
        }
        Ok(())
    }

    async fn until_complete(&self, set: &str, gangs: &[Gang]) -> Result<(), Stop> {
        let complete = self
            .until(&format!("PodCliqueSet {set} converged"), SCHEDULING, |live| {
                lacks(live, set, gangs).is_none()
            })
            .await;
        match complete {
            Err(Stop::Timeout(mut timeout)) => {
                self.look(|live| {
                    let lack = lacks(live, set, gangs).unwrap_or_default();
                    timeout.duty = lack.clause.map_or(Duty::Harness, Duty::Clause);
                    timeout.condition = format!("{} (still waiting for {lack})", timeout.condition);
                });
                Err(Stop::Timeout(timeout))
            }
            complete => complete,
        }
    }

    /// Waits until gang resources match the PodGangs: an operator may update their pod counts last.
    pub async fn until_resources_match(&self, set: &str) -> Result<(), Stop> {
        let history = self.history();
        let pcs = history.header.submitted.get(set);
        let gangs = pcs.map(|pcs| scaling::gangs(&history, pcs, history.entries.len())).unwrap_or_default();
        let match_pod_gangs = |live: &Live| mismatches(&history, live, &gangs).next().is_none();
        self.until("gang resources that match their PodGangs", REACTION, match_pod_gangs).await
    }
}

impl TestContext {
    /// Like [`TestContext::until_converged`], but a timeout (the inner error) does not stop the driver.
    pub async fn try_until_converged(&self, set: &str) -> Result<Result<(), Stop>, Stop> {
        self.continue_after_timeout(self.until_converged(set).await)
    }

    /// Lets the driver continue after a wait that timed out (the inner error).
    pub fn continue_after_timeout(&self, waited: Result<(), Stop>) -> Result<Result<(), Stop>, Stop> {
        match waited {
            Err(stop @ Stop::Timeout(_)) => {
                self.mark(SharedMark::ContinuedAfterTimeout, Value::Null);
                Ok(Err(stop))
            }
            ended => ended.map(Ok),
        }
    }
}
