//! The profile says `gangScheduling: false`. `loose`, 1 + 1 pods, runs without gangs; `brought`, whose pods name a
//! PodGroup of their own, is refused.

use serde_json::json;

use super::hands_off;
use crate::cluster::local::ControllerSpec;
use crate::suite::alone;
use crate::suite::case::{Case, Lane, nodes};
use crate::suite::history::History;
use crate::suite::judge::admission::{Attempt, answers, refused};
use crate::suite::judge::{Finding, binding, finding};
use crate::suite::target::KUBE;
use crate::suite::trial::{Stop, Trial};

/// KUBE-13, and KUBE-15 where it must be refused.
pub const CASE: Case = Case {
    id: "kube/pass-through",
    title: "Without gangScheduling pods get the schedulerName and nothing else is made or set",
    clauses: &["KUBE-13", "KUBE-15"],
    nodes: &[nodes(1)],
    manifest: include_str!("pass_through.yaml"),
    lane: Lane::Alone,
    only: KUBE,
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const BROUGHT: &[Attempt] =
    &[refused("a scheduling group without gangScheduling", &["schedulingGroup"], |_| {})];

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    alone::restored(trial, |trial| Box::pin(without_gangs(trial))).await
}

async fn without_gangs(trial: &mut Trial) -> Result<(), Stop> {
    trial.restart_controller(ControllerSpec::with_profile(json!({"gangScheduling": false}))).await?;
    trial.creates(&trial.manifest("brought")?, BROUGHT).await?;
    trial.submit("loose").await?;
    trial.until_bound(2).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("KUBE-13", || {
            // What is put back schedules gangs again.
            let (until, _) = history.reached(alone::PUT_BACK)?;
            let without_gangs = history.upto(until);
            hands_off::pods_are_in(&without_gangs, None)?;
            hands_off::no_gang_resources(&without_gangs, &[])?;
            binding::whole(&without_gangs.end(), &without_gangs.units("loose")?)
        }),
        finding("KUBE-15", || answers(history, BROUGHT)),
    ]
}
