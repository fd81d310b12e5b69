//! A base and a scaled PodGang with a priority class of the trial's own. Whether a PodGroup can carry one depends on a
//! gate of the API server (WorkloadAwarePreemption), which drops the field without it: a PodGroup of the harness asks.

use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::json;

use crate::cluster::{ClusterError, deploy};
use crate::suite::case::{Case, Lane, nodes};
use crate::suite::history::History;
use crate::suite::judge::{Finding, finding, gang_resources};
use crate::suite::names;
use crate::suite::trial::{Stop, Trial};

/// GANG-13.
pub const CASE: Case = Case {
    id: "gang/priority",
    title: "The priority class of a PodCliqueSet reaches its PodGangs and what stands for them in the backend",
    clauses: &["GANG-13"],
    nodes: &[nodes(1)],
    manifest: include_str!("priority.yaml"),
    lane: Lane::Shared,
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const SET: &str = "urgent";
const ASKED: &str = "asked for the field of a PodGroup";

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    // Priority classes are the cluster's, so this one has the trial's name and goes with it.
    let class = format!("{}-high", trial.namespace);
    let client = trial.ground.client.clone();
    let object = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": class},
        "value": 1000, "preemptionPolicy": "Never",
    });
    deploy::create_unless_there(&client, &object).await?;
    let driven = with_class(trial, &class).await;
    let gone = Api::<PriorityClass>::all(client).delete(&class, &DeleteParams::default()).await;
    gone.map_err(|source| ClusterError::api(format!("delete PriorityClass {class}"), source))?;
    driven
}

async fn with_class(trial: &mut Trial, class: &str) -> Result<(), Stop> {
    let probe = json!({
        "apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup",
        "metadata": {"name": "probe", "labels": {names::CANARY: "true"}},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}, "priorityClassName": class},
    });
    let kept = trial.create("PodGroup", &probe).await?["spec"]["priorityClassName"] == class;
    trial.mark(ASKED, json!({"class": class, "kept": kept}));
    let mut pcs = trial.manifest(SET)?;
    pcs["spec"]["template"]["priorityClassName"] = class.into();
    trial.submit_value(pcs).await?;
    trial.until_converged(SET).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("GANG-13", || {
        let (_, asked) = history.reached(ASKED)?;
        let class = asked.detail["class"].as_str().unwrap_or_default();
        history.reached("converged")?;
        gang_resources::have_priority(
            &history.end(),
            &history.gangs(SET)?,
            class,
            asked.detail["kept"] == true,
        )
    })]
}
