//! Two cliques; each may name a scheduler or leave it to the default, which is default-scheduler here.

use super::attempts::clique;
use crate::suite::case::{Case, Lane};
use crate::suite::history::History;
use crate::suite::judge::admission::{Attempt, admitted, answers, refused};
use crate::suite::judge::{Finding, finding};
use crate::suite::trial::{Stop, Trial};

/// ADM-01.
pub const CASE: Case = Case {
    id: "adm/one-backend",
    title: "All cliques are for one scheduler, and one that names none is for the default",
    clauses: &["ADM-01"],
    nodes: &[],
    manifest: include_str!("one_backend.yaml"),
    lane: Lane::Shared,
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const ATTEMPTS: &[Attempt] = &[
    refused("two schedulers", &["default-scheduler", "kai-scheduler"], |pcs| {
        clique(pcs, 0)["spec"]["podSpec"]["schedulerName"] = "default-scheduler".into();
        clique(pcs, 1)["spec"]["podSpec"]["schedulerName"] = "kai-scheduler".into();
    }),
    refused("none beside one that is not the default", &["default-scheduler", "kai-scheduler"], |pcs| {
        clique(pcs, 1)["spec"]["podSpec"]["schedulerName"] = "kai-scheduler".into();
    }),
    admitted("none beside the default", |pcs| {
        clique(pcs, 1)["spec"]["podSpec"]["schedulerName"] = "default-scheduler".into();
    }),
    admitted("an empty name beside the default", |pcs| {
        clique(pcs, 0)["spec"]["podSpec"]["schedulerName"] = "".into();
        clique(pcs, 1)["spec"]["podSpec"]["schedulerName"] = "default-scheduler".into();
    }),
    admitted("no name at all", |_| {}),
];

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.creates(&trial.manifest("pair")?, ATTEMPTS).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("ADM-01", || answers(history, ATTEMPTS))]
}
