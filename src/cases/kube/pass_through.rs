//! The profile says `gangScheduling: false`. `loose`, 1 + 1 pods, runs without gangs; `brought`, whose pods name a
//! PodGroup of their own, is refused.

use conformance_cluster::local::ControllerSpec;
use conformance_contract::ruling::Finding;
use conformance_contract::target::KUBE;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_driver::control_plane;
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::admission::{Attempt, answers, refused};
use conformance_judge::{binding, finding};
use serde_json::json;

use super::hands_off;

/// KUBE-13, and KUBE-15 where it must be refused.
pub(super) const CASE: Case = Case {
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
    control_plane::restored(trial, |trial| Box::pin(without_gangs(trial))).await
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
            let (until, _) = history.reached(control_plane::PUT_BACK)?;
            let without_gangs = history.upto(until);
            hands_off::pods_are_in(&without_gangs, None)?;
            hands_off::no_gang_resources(&without_gangs, &[])?;
            binding::whole(&without_gangs.end(), &without_gangs.units("loose")?)
        }),
        finding("KUBE-15", || answers(history, BROUGHT)),
    ]
}
