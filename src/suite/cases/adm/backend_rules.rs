//! A rule of the target's own backend, on a PodCliqueSet of its own and on one of another backend; and rules of other
//! backends on one of the target's.
//!
//! kube-scheduler cannot keep a replica of a scaling group in one domain, so default-scheduler refuses such a
//! constraint in either gang scope; nor does a Workload have room for 9 podgroups of a PodGang in PodGroup scope.
//! Volcano wants a queue that exists, KAI one queue for all cliques, and Koordinator cannot keep a scaling group's
//! replica in one domain, not even rather than not.

use serde_json::{Value, json};

use super::attempts::{clique, group, on, required, template};
use crate::cluster::local::EXTERNAL_SCHEDULER;
use crate::suite::case::{Case, Lane};
use crate::suite::cluster::TOPOLOGY;
use crate::suite::history::History;
use crate::suite::judge::admission::{Attempt, admitted, answers, refused};
use crate::suite::judge::{Finding, finding};
use crate::suite::names::{self, KAI_QUEUE, VOLCANO_QUEUE};
use crate::suite::target::Target;
use crate::suite::trial::{Stop, Trial};

/// ADM-06.
pub const CASE: Case = Case {
    id: "adm/backend-rules",
    title: "A backend's rules are applied to PodCliqueSets that select it, and to no other",
    clauses: &["ADM-06"],
    nodes: &[],
    manifest: include_str!("backend_rules.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const RULE: &str = "podCliqueScalingGroups[0].topologyConstraint";

const OF_KUBE: &[Attempt] = &[
    refused("default-scheduler's rule on one of its own", &[RULE], |pcs| {
        group(pcs, 0)["topologyConstraint"] = required("rack");
    }),
    refused("the same on one for a scheduler that is not enabled", &["lpx-scheduler"], |pcs| {
        group(pcs, 0)["topologyConstraint"] = required("rack");
        on(pcs, "lpx-scheduler");
    })
    .silent_about(&[RULE]),
    refused("more podgroups than a Workload holds on one of its own", &["8", "9"], nine_podgroups),
    admitted("the same on one for another scheduler that is enabled", |pcs| {
        nine_podgroups(pcs);
        on(pcs, EXTERNAL_SCHEDULER);
    }),
    // Volcano's rules: a queue name is a DNS label, and cliques agree with the PodCliqueSet.
    admitted("another backend's rules on one of default-scheduler's", |pcs| {
        pcs["metadata"]["annotations"][VOLCANO_QUEUE] = "No Queue".into();
        clique(pcs, 0)["annotations"] = json!({VOLCANO_QUEUE: "another"});
    }),
];

/// A tree honours any required level, and no preferred one.
const OF_KUBE_TREE: &[Attempt] = &[
    refused("default-scheduler's rule on one of its own", &[RULE], preferred_by_a_group),
    refused("the same on one for a scheduler that is not enabled", &["lpx-scheduler"], |pcs| {
        preferred_by_a_group(pcs);
        on(pcs, "lpx-scheduler");
    })
    .silent_about(&[RULE]),
    refused("more podgroups than a CompositePodGroup holds on one of its own", &["8", "9"], nine_podgroups),
    admitted("the same on one for another scheduler that is enabled", |pcs| {
        nine_podgroups(pcs);
        on(pcs, EXTERNAL_SCHEDULER);
    }),
];

const OF_VOLCANO: &[Attempt] = &[
    refused("Volcano's rule on one of its own", &[NO_QUEUE], no_such_queue),
    admitted("the same on one for another scheduler that is enabled", |pcs| {
        no_such_queue(pcs);
        on(pcs, EXTERNAL_SCHEDULER);
    }),
    admitted("default-scheduler's rule on one of Volcano's", nine_podgroups),
    admitted("KAI's rule on one of Volcano's", two_kai_queues),
];

const OF_KOORDINATOR: &[Attempt] = &[
    refused("Koordinator's rule on one of its own", &[RULE], preferred_by_a_group),
    admitted("the same on one for another scheduler that is enabled", |pcs| {
        preferred_by_a_group(pcs);
        on(pcs, EXTERNAL_SCHEDULER);
    }),
    admitted("default-scheduler's rule on one of Koordinator's", nine_podgroups),
    admitted("Volcano's and KAI's rules on one of Koordinator's", |pcs| {
        no_such_queue(pcs);
        two_kai_queues(pcs);
    }),
];

const OF_KAI: &[Attempt] = &[
    refused("KAI's rule on one of its own", &["queue"], two_kai_queues),
    admitted("the same on one for another scheduler that is enabled", |pcs| {
        two_kai_queues(pcs);
        on(pcs, EXTERNAL_SCHEDULER);
    }),
    admitted("default-scheduler's rule on one of KAI's", nine_podgroups),
    admitted("Volcano's rule on one of KAI's", no_such_queue),
];

fn attempts(target: Target) -> &'static [Attempt] {
    match target {
        Target::KubeTree => OF_KUBE_TREE,
        Target::Volcano => OF_VOLCANO,
        Target::Koordinator => OF_KOORDINATOR,
        Target::Kai => OF_KAI,
        _ => OF_KUBE,
    }
}

const NO_QUEUE: &str = "no-such-queue";

fn no_such_queue(pcs: &mut Value) {
    pcs["metadata"]["annotations"][VOLCANO_QUEUE] = NO_QUEUE.into();
}

/// A gang is in one queue.
fn two_kai_queues(pcs: &mut Value) {
    pcs["metadata"]["labels"][KAI_QUEUE] = "default-queue".into();
    clique(pcs, 0)["labels"] = json!({KAI_QUEUE: "another-queue"});
}

fn preferred_by_a_group(pcs: &mut Value) {
    group(pcs, 0)["topologyConstraint"] = json!({"topologyName": TOPOLOGY, "pack": {"preferred": "rack"}});
}

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
    trial.creates(&trial.manifest("ruled")?, attempts(trial.target)).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("ADM-06", || answers(history, attempts(history.header.target)))]
}
