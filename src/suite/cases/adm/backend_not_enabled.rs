//! All cliques name a scheduler of Grove's that this controller's configuration does not enable, then one that nobody
//! knows.

use super::attempts::clique;
use crate::suite::case::{Case, Lane};
use crate::suite::history::History;
use crate::suite::judge::admission::{Attempt, answers, refused};
use crate::suite::judge::{Broken, Finding, finding};
use crate::suite::trial::{Stop, Trial};

/// ADM-02.
pub const CASE: Case = Case {
    id: "adm/backend-not-enabled",
    title: "A scheduler without an enabled backend is refused by name",
    clauses: &["ADM-02"],
    nodes: &[],
    manifest: include_str!("backend_not_enabled.yaml"),
    lane: Lane::Shared,
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const ATTEMPTS: &[Attempt] = &[
    refused("a backend that is not enabled", &["kai-scheduler", "not enabled"], |pcs| {
        clique(pcs, 0)["spec"]["podSpec"]["schedulerName"] = "kai-scheduler".into();
    }),
    refused("a scheduler that has no backend", &["nobodys-scheduler", "not enabled"], |pcs| {
        clique(pcs, 0)["spec"]["podSpec"]["schedulerName"] = "nobodys-scheduler".into();
    }),
];

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.creates(&trial.manifest("solo")?, ATTEMPTS).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("ADM-02", || {
        answers(history, ATTEMPTS)?;
        // That the names of enabled ones are admitted is half of the promise, and is not shown by the default.
        let reason = "no backend but the default is enabled, so none that is named beside it can be admitted";
        Err(Broken::NotReached(reason.into()))
    })]
}
