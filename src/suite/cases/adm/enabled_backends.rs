//! The harness enables a second scheduler beside the default: `outside`, 2 pods, is for it. Others name a scheduler of
//! Grove's that the configuration does not enable, and one that nobody knows.

use super::attempts::on;
use crate::cluster::local::EXTERNAL_SCHEDULER;
use crate::suite::case::{Case, Lane};
use crate::suite::expect;
use crate::suite::history::History;
use crate::suite::judge::admission::{Attempt, admitted, answers, refused};
use crate::suite::judge::{Finding, backends, finding};
use crate::suite::trial::{Stop, Trial};

/// ADM-02.
pub const CASE: Case = Case {
    id: "adm/enabled-backends",
    title: "An enabled scheduler gets what names it; one without an enabled backend is refused by name",
    clauses: &["ADM-02"],
    nodes: &[],
    manifest: include_str!("enabled_backends.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const SET: &str = "outside";

const ATTEMPTS: &[Attempt] = &[
    admitted("a backend that is enabled", |pcs| pcs["metadata"]["name"] = SET.into()),
    refused("a backend that is not enabled", &["lpx-scheduler", "not enabled"], |pcs| {
        on(pcs, "lpx-scheduler");
    }),
    refused("a scheduler that has no backend", &["nobodys-scheduler", "not enabled"], |pcs| {
        on(pcs, "nobodys-scheduler");
    }),
];

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    let outside = trial.manifest(SET)?;
    trial.creates(&outside, ATTEMPTS).await?;
    trial.until_released(&expect::gangs(&outside)[0]).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("ADM-02", || {
        answers(history, ATTEMPTS)?;
        backends::serves(history, SET, EXTERNAL_SCHEDULER)
    })]
}
