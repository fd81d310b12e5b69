//! One clique in a scaling group: PodGangs of one podgroup, so that a required level of the PodCliqueSet can be
//! honoured in either gang scope. A level of the scaling group cannot, nor can any preferred one.

use serde_json::{Value, json};

use super::attempts::{group, required, template};
use crate::suite::case::{Case, Lane};
use crate::suite::cluster::TOPOLOGY;
use crate::suite::history::History;
use crate::suite::judge::admission::{Attempt, admitted, answers, refused};
use crate::suite::judge::{Finding, finding};
use crate::suite::trial::{Stop, Trial};

/// ADM-09.
pub const CASE: Case = Case {
    id: "adm/unhonourable-topology",
    title: "A topology level that cannot be honoured is refused, or said to have no effect",
    clauses: &["ADM-09"],
    nodes: &[],
    manifest: include_str!("unhonourable_topology.yaml"),
    lane: Lane::Shared,
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const ATTEMPTS: &[Attempt] = &[
    admitted("a required level that is honoured", |pcs| {
        template(pcs)["topologyConstraint"] = required("rack")
    }),
    refused("a required level that is not", &["podCliqueScalingGroups[0].topologyConstraint"], |pcs| {
        group(pcs, 0)["topologyConstraint"] = required("rack");
    }),
    refused("a preferred level alone", &["spec.template.topologyConstraint", "preferred"], |pcs| {
        template(pcs)["topologyConstraint"] = pack(json!({"preferred": "rack"}));
    }),
    refused(
        "a preferred level alone where no level is honoured",
        &["podCliqueScalingGroups[0].topologyConstraint"],
        |pcs| {
            group(pcs, 0)["topologyConstraint"] = pack(json!({"preferred": "rack"}));
        },
    ),
    admitted("a preferred level beside one that is honoured", |pcs| {
        template(pcs)["topologyConstraint"] = pack(json!({"required": "rack", "preferred": "host"}));
    })
    .with_warning(&["preferred", "no effect"]),
];

fn pack(levels: Value) -> Value {
    json!({"topologyName": TOPOLOGY, "pack": levels})
}

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.creates(&trial.manifest("grouped")?, ATTEMPTS).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("ADM-09", || answers(history, ATTEMPTS))]
}
