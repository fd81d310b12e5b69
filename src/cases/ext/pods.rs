//! `read`, 2 + 3 pods, for a scheduler that is to read the PodGang itself; there is no process of it.

use conformance_contract::ruling::Finding;
use conformance_contract::target::Target;
use conformance_driver::case::{Case, Lane};
use conformance_driver::context::{Stop, Trial};
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::{backends, finding, pods};

use crate::kube::hands_off;

/// EXT-01.
pub(super) const CASE: Case = Case {
    id: "ext/pods",
    title: "Pods get the profile's name, gate and labels and are released; nothing is made for their scheduler",
    clauses: &["EXT-01"],
    nodes: &[],
    manifest: include_str!("pods.yaml"),
    lane: Lane::Shared,
    only: &[Target::External],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const SET: &str = "read";
const RELEASED: &str = "all pods released";

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    for gang in trial.submit(SET).await? {
        trial.until_released(&gang).await?;
    }
    trial.mark(RELEASED, serde_json::Value::Null);
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("EXT-01", || {
        pods::as_they_should_be(history, SET, &history.gangs(SET)?)?;
        backends::serves(history, SET, history.header.target.backend())?;
        hands_off::no_gang_resources(history, &[])?;
        history.reached(RELEASED).map(drop)
    })]
}
