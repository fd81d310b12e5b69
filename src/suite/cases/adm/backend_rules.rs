//! kube-scheduler cannot keep a replica of a scaling group in one domain, so default-scheduler refuses such a
//! constraint in either gang scope; nor does a Workload have room for 9 podgroups of a PodGang in PodGroup scope. Both
//! are rules of that backend's own.

use serde_json::{Value, json};

use super::attempts::{clique, group, on, required, template};
use crate::cluster::local::EXTERNAL_SCHEDULER;
use crate::suite::case::{Case, Lane};
use crate::suite::history::History;
use crate::suite::judge::admission::{Attempt, admitted, answers, refused};
use crate::suite::judge::{Finding, finding};
use crate::suite::names;
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
    refused("the same on one for a scheduler that is not enabled", &["kai-scheduler"], |pcs| {
        group(pcs, 0)["topologyConstraint"] = required("rack");
        on(pcs, "kai-scheduler");
    })
    .silent_about(&[RULE]),
    refused("more podgroups than a Workload holds on one of its own", &["8", "9"], nine_podgroups),
    admitted("the same on one for another scheduler that is enabled", |pcs| {
        nine_podgroups(pcs);
        on(pcs, EXTERNAL_SCHEDULER);
    }),
    // Volcano's rules: a queue name is a DNS label, and cliques agree with the PodCliqueSet.
    admitted("another backend's rules on one of default-scheduler's", |pcs| {
        pcs["metadata"]["annotations"]["scheduling.grove.io/volcano-queue"] = "No Queue".into();
        clique(pcs, 0)["annotations"] = json!({"scheduling.grove.io/volcano-queue": "another"});
    }),
];

/// 8 standalone cliques beside the one of the scaling group's only replica.
fn nine_podgroups(pcs: &mut Value) {
    pcs["metadata"]["annotations"][names::GANG_SCOPE] = "PodGroup".into();
    let first = clique(pcs, 0).clone();
    let further = (1..9).map(|number| {
        let mut clique = first.clone();
        clique["name"] = format!("c{number}").into();
        clique["spec"]["roleName"] = format!("c{number}").into();
        clique
    });
    if let Some(cliques) = template(pcs)["cliques"].as_array_mut() {
        cliques.extend(further);
    }
}

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.creates(&trial.manifest("grouped")?, ATTEMPTS).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("ADM-06", || answers(history, ATTEMPTS))]
}
