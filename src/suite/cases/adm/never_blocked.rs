//! `held`, 2 pods in one rack of a topology of the case's own, which is deleted while they run.

use http::Method;
use serde_json::{Value, json};

use super::attempts::template;
use crate::suite::case::{Case, Lane, nodes};
use crate::suite::history::History;
use crate::suite::judge::admission::{self, Attempt, admitted, answers, refused};
use crate::suite::judge::{Finding, finding};
use crate::suite::limits;
use crate::suite::names;
use crate::suite::trial::{Stop, Trial};

/// ADM-08.
pub const CASE: Case = Case {
    id: "adm/never-blocked",
    title: "Metadata edits and deletion are admitted after the workload's topology is gone",
    clauses: &["ADM-08"],
    nodes: &[nodes(1).rack("r")],
    manifest: include_str!("never_blocked.yaml"),
    lane: Lane::Shared,
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

/// Shows that admission has seen the topology go.
const NEW: &[Attempt] =
    &[refused("a new one in the topology that is gone", &["ClusterTopologyBinding"], |_| {})];

const EDITS: &[Attempt] = &[
    admitted("a label added", |pcs| pcs["metadata"]["labels"]["example.com/team"] = "inference".into()),
    admitted("an annotation added", |pcs| pcs["metadata"]["annotations"]["example.com/note"] = "kept".into()),
    admitted("a finalizer added", |pcs| match pcs["metadata"]["finalizers"].as_array_mut() {
        Some(finalizers) => finalizers.push(FINALIZER.into()),
        None => pcs["metadata"]["finalizers"] = json!([FINALIZER]),
    }),
    admitted("the label changed", |pcs| pcs["metadata"]["labels"]["example.com/team"] = "training".into()),
    admitted("label and annotation removed", |pcs| {
        for (field, key) in [("labels", "example.com/team"), ("annotations", "example.com/note")] {
            if let Some(keys) = pcs["metadata"][field].as_object_mut() {
                keys.remove(key);
            }
        }
    }),
    admitted("the finalizer removed", |pcs| {
        if let Some(finalizers) = pcs["metadata"]["finalizers"].as_array_mut() {
            finalizers.retain(|finalizer| finalizer != FINALIZER);
        }
    }),
];

const FINALIZER: &str = "example.com/hold";
const TOPOLOGY: &str = "ClusterTopologyBinding";

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    let topology = trial.domain("topology");
    let levels = json!([{"domain": "rack", "key": names::RACK}]);
    let binding = json!({"apiVersion": "grove.io/v1alpha1", "kind": TOPOLOGY,
        "metadata": {"name": topology}, "spec": {"levels": levels}});
    trial.create(TOPOLOGY, &binding).await?;
    let outcome = live_through(trial, &topology).await;
    // It is no object of the namespace. Most times it is gone by now, and that is no refusal that matters.
    trial.attempt(Method::DELETE, TOPOLOGY, &topology, &Value::Null).await?;
    outcome
}

async fn live_through(trial: &mut Trial, topology: &str) -> Result<(), Stop> {
    let mut held = trial.manifest("held")?;
    template(&mut held)["topologyConstraint"]["topologyName"] = topology.into();
    trial.submit_value(held.clone()).await?;
    trial.until_bound(2).await?;
    trial.delete(TOPOLOGY, topology).await?;
    trial.creates_until(&held, NEW, limits::REACTION).await?;
    trial.updates("held", EDITS).await?;
    trial.delete("PodCliqueSet", "held").await?;
    trial.mark("deletion admitted", Value::Null);
    trial.until("held is gone", limits::CLEANUP, |live| live.get("PodCliqueSet", "held").is_none()).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("ADM-08", || {
        answers(history, NEW)?;
        answers(history, EDITS)?;
        history.reached("deletion admitted")?;
        admission::deleted(history, "PodCliqueSet", "held")
    })]
}
