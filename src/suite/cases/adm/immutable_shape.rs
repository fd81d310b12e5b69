//! `moulded`: a clique beside a scaling group of two. `pinned`: one clique, so that a constraint of the PodCliqueSet is
//! admissible in either gang scope.

use serde_json::{Value, json};

use super::attempts::{clique, group, required, template};
use crate::cluster::local::EXTERNAL_SCHEDULER;
use crate::suite::case::{Case, Lane};
use crate::suite::history::History;
use crate::suite::judge::admission::{Attempt, admitted, answers, refused};
use crate::suite::judge::{Finding, finding};
use crate::suite::names;
use crate::suite::trial::{Stop, Trial};

/// ADM-03.
pub const CASE: Case = Case {
    id: "adm/immutable-shape",
    title: "The shape of gangs cannot be changed, and the refusal says to recreate the PodCliqueSet",
    clauses: &["ADM-03"],
    nodes: &[],
    manifest: include_str!("immutable_shape.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const SHAPE: &[Attempt] = &[
    refused("a clique more", &["cliques", "recreate"], |pcs| {
        let mut more = clique(pcs, 0).clone();
        more["name"] = "one-more".into();
        more["spec"]["roleName"] = "one-more".into();
        list(&mut template(pcs)["cliques"]).push(more);
    }),
    refused("a clique less", &["cliques", "recreate"], |pcs| {
        list(&mut template(pcs)["cliques"]).remove(0);
    }),
    refused("a clique renamed", &["cliques[0].name", "recreate"], |pcs| {
        clique(pcs, 0)["name"] = "gateway".into()
    }),
    refused("a clique's minAvailable", &["cliques[0].spec.minAvailable", "recreate"], |pcs| {
        clique(pcs, 0)["spec"]["minAvailable"] = 2.into();
    }),
    refused(
        "a member more in a scaling group",
        &["podCliqueScalingGroups[0].cliqueNames", "recreate"],
        |pcs| {
            list(&mut group(pcs, 0)["cliqueNames"]).push("router".into());
        },
    ),
    refused(
        "a member less in a scaling group",
        &["podCliqueScalingGroups[0].cliqueNames", "recreate"],
        |pcs| {
            list(&mut group(pcs, 0)["cliqueNames"]).pop();
        },
    ),
    refused(
        "a scaling group's minAvailable",
        &["podCliqueScalingGroups[0].minAvailable", "recreate"],
        |pcs| {
            group(pcs, 0)["minAvailable"] = 2.into();
        },
    ),
    refused("a scaling group more", &["podCliqueScalingGroups", "recreate"], |pcs| {
        let more = json!({"name": "edge", "replicas": 1, "minAvailable": 1, "cliqueNames": ["router"]});
        list(&mut template(pcs)["podCliqueScalingGroups"]).push(more);
    }),
    refused("a scaling group less", &["podCliqueScalingGroups", "recreate"], |pcs| {
        list(&mut template(pcs)["podCliqueScalingGroups"]).clear();
    }),
    refused("another scheduler", &["schedulerName", "recreate"], |pcs| {
        for clique in list(&mut template(pcs)["cliques"]) {
            clique["spec"]["podSpec"]["schedulerName"] = EXTERNAL_SCHEDULER.into();
        }
    }),
    refused("a topology constraint added", &["topology constraint", "recreate"], |pcs| {
        template(pcs)["topologyConstraint"] = required("rack");
    }),
    admitted("replicas of a clique and of a scaling group", |pcs| {
        clique(pcs, 0)["spec"]["replicas"] = 3.into();
        group(pcs, 0)["replicas"] = 3.into();
    }),
];

/// Of kube-scheduler's backend.
const SCOPE: &[Attempt] = &[refused("another gang scope", &["gang-scope", "recreate"], |pcs| {
    let scope = &mut pcs["metadata"]["annotations"][names::GANG_SCOPE];
    *scope = if *scope == "PodGang" { "PodGroup" } else { "PodGang" }.into();
})];

const PACKED: &[Attempt] = &[
    refused("a topology constraint changed", &["topology constraint", "recreate"], |pcs| {
        template(pcs)["topologyConstraint"]["pack"]["required"] = "block".into();
    }),
    refused("a topology constraint for another topology", &["topologyName", "recreate"], |pcs| {
        template(pcs)["topologyConstraint"]["topologyName"] = "another".into();
    }),
    refused("a topology constraint removed", &["topology constraint", "recreate"], |pcs| {
        if let Some(template) = template(pcs).as_object_mut() {
            template.remove("topologyConstraint");
        }
    }),
];

/// A list, empty where there is none.
fn list(value: &mut Value) -> &mut Vec<Value> {
    if !value.is_array() {
        *value = json!([]);
    }
    match value {
        Value::Array(list) => list,
        _ => unreachable!("it has just been made one"),
    }
}

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.submit("moulded").await?;
    trial.updates("moulded", SHAPE).await?;
    if trial.target.scope().is_some() {
        trial.updates("moulded", SCOPE).await?;
    }
    trial.submit("pinned").await?;
    trial.updates("pinned", PACKED).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("ADM-03", || {
        answers(history, SHAPE)?;
        if history.header.target.scope().is_some() {
            answers(history, SCOPE)?;
        }
        answers(history, PACKED)
    })]
}
