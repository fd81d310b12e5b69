//! A running gang of 2 + 1 pods. What KAI may set once a PodGroup is there is set; then the backend is made to write the
//! PodGroup anew, by an edit of its own field and by a clique that grows to 3 pods.

use conformance_contract::ruling::Finding;
use conformance_contract::target::Target;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_driver::limits::REACTION;
use conformance_expect::schedulers::kai::{POD_GROUP, QUEUE};
use conformance_history::History;
use conformance_judge::{finding, foreign_fields};
use serde_json::json;

/// KAI-05.
pub(super) const CASE: Case = Case {
    id: "kai/managed-fields",
    title: "What KAI manages in a PodGroup after its creation survives an update",
    clauses: &["KAI-05"],
    nodes: &[nodes(1)],
    manifest: include_str!("managed_fields.yaml"),
    lane: Lane::Shared,
    only: &[Target::Kai],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const SET: &str = "managed";
const POD_GANG: &str = "managed-0";
/// Mark: the backend has dealt with the PodGang's new generation.
const DEALT_WITH: &str = "generation dealt with";

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.submit(SET).await?;
    trial.until_converged(SET).await?;
    let managed = json!({
        "metadata": {"labels": {"kai.scheduler/node-pool": "other-pool", QUEUE.0: "other-queue"}},
        "spec": {"queue": "other-queue", "markUnschedulable": false, "schedulingBackoff": 1},
    });
    trial.patch_as_others(POD_GROUP, POD_GANG, managed).await?;
    trial.provoke_repair(POD_GROUP, POD_GANG, "minMember", json!(1)).await?;
    trial.scale("PodClique", "managed-0-worker", 3).await?;
    trial
        .until("the new pod referred to", REACTION, |live| {
            let podgroups = live.get("PodGang", POD_GANG).map(|gang| gang["spec"]["podgroups"].clone());
            let worker = podgroups
                .as_ref()
                .and_then(|all| all.as_array()?.iter().find(|of| of["name"] == "managed-0-worker"));
            worker.and_then(|of| of["podReferences"].as_array()).is_some_and(|pods| pods.len() == 3)
        })
        .await?;
    trial.provoke_repair(POD_GROUP, POD_GANG, "minMember", json!(1)).await?;
    trial.mark(DEALT_WITH, serde_json::Value::Null);
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("KAI-05", || {
        foreign_fields::kept(history)?;
        history.reached(DEALT_WITH).map(drop)
    })]
}
