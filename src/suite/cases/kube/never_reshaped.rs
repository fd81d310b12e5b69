//! A live gang is scaled in every way, its minimum is changed by hand in its PodGang, and a changed minimum is sent to
//! its PodCliqueSet (which admission refuses): its Workloads and PodGroups stay as they were created.

use serde_json::{Value, json};

use crate::suite::case::{Case, Lane, nodes};
use crate::suite::history::History;
use crate::suite::judge::{Finding, finding, gang_resources};
use crate::suite::target::KUBE;
use crate::suite::trial::{Stop, Trial};

/// KUBE-04.
pub const CASE: Case = Case {
    id: "kube/never-reshaped",
    title: "Whatever happens to a live gang, its gang resources are neither patched nor recreated to follow",
    clauses: &["KUBE-04"],
    nodes: &[nodes(1)],
    manifest: include_str!("never_reshaped.yaml"),
    lane: Lane::Shared,
    only: KUBE,
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const SET: &str = "kept";
const POD_GANG: &str = "kept-0";
const DONE: &str = "all of it was tried";

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.submit(SET).await?;
    trial.until_converged(SET).await?;
    for (kind, name, replicas) in [
        ("PodClique", "kept-0-router", 4),
        ("PodCliqueScalingGroup", "kept-0-model", 3),
        ("PodCliqueSet", SET, 2),
    ] {
        trial.scale(kind, name, replicas).await?;
        trial.until_converged(SET).await?;
    }
    // Whether these are refused is for others to judge (ADM-03).
    let mut podgroups =
        trial.look(|live| live.get("PodGang", POD_GANG).map(|found| found["spec"]["podgroups"].clone()));
    if let Some(podgroup) = podgroups.as_mut().and_then(|podgroups| podgroups.get_mut(0)) {
        podgroup["minReplicas"] = json!(2);
    }
    let body = json!({"spec": {"podgroups": podgroups}});
    trial.attempt(http::Method::PATCH, "PodGang", POD_GANG, &body).await?;
    trial.attempt(http::Method::PATCH, "PodCliqueSet", SET, &larger_minimum(&trial.manifest(SET)?)).await?;
    // A change of generation that has to be dealt with, and behind it all that came before.
    trial.scale("PodClique", "kept-0-router", 2).await?;
    trial.until_converged(SET).await?;
    trial.mark(DONE, Value::Null);
    Ok(())
}

/// A patch that raises the minimum of the first clique to all of its pods.
fn larger_minimum(pcs: &Value) -> Value {
    let mut cliques = pcs["spec"]["template"]["cliques"].clone();
    cliques[0]["spec"]["minAvailable"] = cliques[0]["spec"]["replicas"].clone();
    json!({"spec": {"template": {"cliques": cliques}}})
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("KUBE-04", || {
        gang_resources::never_reshaped(history, history.entries.len())?;
        history.reached(DONE).map(drop)
    })]
}
