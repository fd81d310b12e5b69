//! Waits until a PodCliqueSet has converged: every wanted object exists and no controller has work left.
//!
//! No clause defines the counts that an operator keeps in its statuses. If they report that all is complete,
//! nothing is left to do. If not, convergence is assumed after a period without writes. Checks use the
//! converged state as their baseline ("was anything else touched?"), so a late write would look like a touch.

use conformance_contract::clauses::Feature;
use conformance_expect::scaling;
use conformance_facts::convergence::{is_counted, is_well, lacks};
use conformance_facts::gang_resources::mismatches;
use conformance_history::{Live, SharedMark};
use serde_json::Value;

use super::limits::{REACTION, SCHEDULING};
use crate::context::{Duty, Stop, TestContext};

impl TestContext {
    /// Waits until a PodCliqueSet has converged as last scaled. Checks start at the mark `converged`.
    pub async fn until_converged(&self, set: &str) -> Result<(), Stop> {
        let history = self.history();
        let pcs = history.header.submitted.get(set);
        let gangs = pcs.map(|pcs| scaling::gangs(&history, pcs, history.entries.len())).unwrap_or_default();
        let waited = self
            .until(&format!("PodCliqueSet {set} converged"), SCHEDULING, |live| {
                lacks(live, set, &gangs).is_none()
            })
            .await;
        match waited {
            Ok(()) => {
                let speak = self.target.declares(Feature::PodGangStatus);
                self.until_settled(|live| {
                    is_counted(live, set, &gangs) && (!speak || gangs.iter().all(|gang| is_well(live, gang)))
                })
                .await;
                self.mark(SharedMark::Converged, serde_json::json!({"name": set}));
                Ok(())
            }
            Err(Stop::Wait(mut waited)) => {
                self.look(|live| {
                    let lack = lacks(live, set, &gangs).unwrap_or_default();
                    waited.duty = lack.clause.map_or(Duty::Harness, Duty::Clause);
                    waited.condition = format!("{} (still waiting for {lack})", waited.condition);
                });
                Err(Stop::Wait(waited))
            }
            Err(stop) => Err(stop),
        }
    }

    /// Waits until the gang resources of a PodCliqueSet match its PodGangs. A gang resource that contains the
    /// number of pods may be updated after everything else.
    pub async fn until_followed(&self, set: &str) -> Result<(), Stop> {
        let history = self.history();
        let pcs = history.header.submitted.get(set);
        let gangs = pcs.map(|pcs| scaling::gangs(&history, pcs, history.entries.len())).unwrap_or_default();
        let follow = |live: &Live| mismatches(&history, live, &gangs).next().is_none();
        self.until("gang resources that match their PodGangs", REACTION, follow).await
    }
}

impl TestContext {
    /// Like [`TestContext::until_converged`], for a case whose clause applies to any PodCliqueSet, converged
    /// or not. The driver continues after a timeout, which is returned as the inner error.
    pub async fn converged_or_not(&self, set: &str) -> Result<Result<(), Stop>, Stop> {
        match self.until_converged(set).await {
            Err(stop @ Stop::Wait(_)) => {
                self.mark(SharedMark::WentOn, Value::Null);
                Ok(Err(stop))
            }
            ended => ended.map(Ok),
        }
    }
}
