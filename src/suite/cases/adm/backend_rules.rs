//! kube-scheduler cannot keep a replica of a scaling group in one domain, so default-scheduler refuses such a
//! constraint in either gang scope: a rule of that backend's own.

use serde_json::json;

use super::attempts::{clique, group, required};
use crate::suite::case::{Case, Lane};
use crate::suite::history::History;
use crate::suite::judge::admission::{Attempt, admitted, answers, refused};
use crate::suite::judge::{Finding, finding};
use crate::suite::trial::{Stop, Trial};

/// ADM-06.
pub const CASE: Case = Case {
    id: "adm/backend-rules",
    title: "A backend's rules are applied to PodCliqueSets that select it, and to no other",
    clauses: &["ADM-06"],
    nodes: &[],
    manifest: include_str!("backend_rules.yaml"),
    lane: Lane::Shared,
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const RULE: &str = "podCliqueScalingGroups[0].topologyConstraint";

const ATTEMPTS: &[Attempt] = &[
    refused("default-scheduler's rule on one of its own", &[RULE], |pcs| {
        group(pcs, 0)["topologyConstraint"] = required("rack");
    }),
    refused("the same on one for another scheduler", &["kai-scheduler"], |pcs| {
        group(pcs, 0)["topologyConstraint"] = required("rack");
        clique(pcs, 0)["spec"]["podSpec"]["schedulerName"] = "kai-scheduler".into();
    })
    .silent_about(&[RULE]),
    // Volcano's rules: a queue name is a DNS label, and cliques agree with the PodCliqueSet.
    admitted("another backend's rules on one of default-scheduler's", |pcs| {
        pcs["metadata"]["annotations"]["scheduling.grove.io/volcano-queue"] = "No Queue".into();
        clique(pcs, 0)["annotations"] = json!({"scheduling.grove.io/volcano-queue": "another"});
    }),
];

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.creates(&trial.manifest("grouped")?, ATTEMPTS).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("ADM-06", || answers(history, ATTEMPTS))]
}
