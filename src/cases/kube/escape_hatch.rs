//! `brought`, 2 pods, in a PodGroup of 2 that the user has made.

use conformance_contract::ruling::Finding;
use conformance_contract::target::KUBE;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::{binding, finding};
use serde_json::json;

use super::hands_off;

/// KUBE-15.
pub(super) const CASE: Case = Case {
    id: "kube/escape-hatch",
    title: "Pods that bring a scheduling group keep it, and nothing is made for them",
    clauses: &["KUBE-15"],
    nodes: &[nodes(1)],
    manifest: include_str!("escape_hatch.yaml"),
    lane: Lane::Shared,
    only: KUBE,
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const MINE: &str = "mine";

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    let group = json!({
        "metadata": {"name": MINE},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    });
    trial.create("PodGroup", &group).await?;
    trial.submit("brought").await?;
    trial.until_bound(2).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("KUBE-15", || {
        hands_off::pods_are_in(history, Some(MINE))?;
        hands_off::no_gang_resources(history, &[MINE])?;
        hands_off::marked_external(history)?;
        binding::whole(&history.end(), &history.units("brought")?)
    })]
}
