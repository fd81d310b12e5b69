//! `held`, 2 pods in one rack of a topology of the case's own, which is deleted while they run. Volcano can hold one
//! topology only, which all trials share: there a queue is closed instead.

use conformance_contract::names;
use conformance_contract::ruling::{Finding, Ruling};
use conformance_contract::target::Target;
use conformance_driver::admission_attempts::template;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_driver::limits;
use conformance_driver::test_cluster::binding;
use conformance_history::History;
use conformance_judge::admission::{self, Attempt, admitted, answers, refused};
use conformance_judge::finding;
use conformance_judge::topology_resources::BINDING;
use serde_json::{Value, json};

/// ADM-08.
pub(super) const CASE: Case = Case {
    id: "adm/never-blocked",
    title: "Metadata edits and deletion are admitted after the workload's topology is gone",
    clauses: &["ADM-08"],
    nodes: &[nodes(1).rack("r")],
    manifest: include_str!("never_blocked.yaml"),
    lane: Lane::Shared,
    only: &[Target::KubePodGroup, Target::KubePodGang, Target::KubeTree, Target::Koordinator, Target::Kai],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

/// Shows that admission has seen the topology go.
const NEW: &[Attempt] =
    &[refused("a new one in the topology that is gone", &["ClusterTopologyBinding"], |_| {})];

/// What is never blocked, before the deletion.
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

const DELETION_ADMITTED: &str = "deletion admitted";

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    let topology = trial.domain("topology");
    trial.create(BINDING, &binding(&topology, &[("rack", names::RACK)])).await?;
    let mut held = trial.manifest("held")?;
    template(&mut held)["topologyConstraint"]["topologyName"] = topology.clone().into();
    trial.submit_value(held.clone()).await?;
    trial.until_bound(2).await?;
    trial.delete(BINDING, &topology).await?;
    trial.creates_until(&held, NEW, limits::REACTION).await?;
    edit_and_delete(trial, "held").await
}

/// Makes the edits that are never blocked, and deletes the PodCliqueSet.
pub(super) async fn edit_and_delete(trial: &Trial, name: &str) -> Result<(), Stop> {
    trial.updates(name, EDITS).await?;
    trial.delete("PodCliqueSet", name).await?;
    trial.mark(DELETION_ADMITTED, Value::Null);
    let gone = format!("{name} is gone");
    trial.until(&gone, limits::CLEANUP, |live| live.get("PodCliqueSet", name).is_none()).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("ADM-08", || {
        answers(history, NEW)?;
        never_blocked(history, "held")
    })]
}

/// The edits and the deletion were admitted, and the PodCliqueSet is gone.
pub(super) fn never_blocked(history: &History, name: &str) -> Ruling {
    answers(history, EDITS)?;
    history.reached(DELETION_ADMITTED)?;
    admission::deleted(history, "PodCliqueSet", name)
}
