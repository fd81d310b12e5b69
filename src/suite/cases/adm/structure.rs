//! A clique beside a scaling group of one, changed one rule at a time: each rule with a variation that breaks it and a
//! neighbour that does not. `set` + `model` + `worker` may have 45 characters together, so the PodCliqueSet's name 34.

use serde_json::{Value, json};

use super::attempts::{clique, group, template};
use crate::suite::case::{Case, Lane};
use crate::suite::history::History;
use crate::suite::judge::admission::{Attempt, admitted, answers, refused};
use crate::suite::judge::{Finding, finding};
use crate::suite::trial::{Stop, Trial};

/// ADM-04.
pub const CASE: Case = Case {
    id: "adm/structure",
    title: "Each structural rule refuses what breaks it and admits its neighbour",
    clauses: &["ADM-04"],
    nodes: &[],
    manifest: include_str!("structure.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const CLIQUES: &[Attempt] = &[
    admitted("as it is", |_| {}),
    refused("no clique", &["spec.template.cliques"], |pcs| {
        *template(pcs) = json!({"cliques": []});
    }),
    refused("two cliques of one name", &["cliques[1]", "duplicate"], |pcs| {
        clique(pcs, 1)["name"] = "router".into()
    }),
    refused("a clique's name that is none for DNS", &["cliques[0].name"], |pcs| {
        clique(pcs, 0)["name"] = "Front_End".into();
    }),
    admitted("a clique's name that is one for DNS", |pcs| clique(pcs, 0)["name"] = "front-end".into()),
    refused("a clique of less than no pods", &["cliques[0].spec.replicas"], |pcs| {
        clique(pcs, 0)["spec"]["replicas"] = (-1).into();
    }),
    refused("a clique's minAvailable of 0", &["cliques[0].spec.minAvailable"], |pcs| {
        clique(pcs, 0)["spec"]["minAvailable"] = 0.into();
    }),
    refused("a clique's minAvailable above its replicas", &["cliques[0].spec.minAvailable"], |pcs| {
        clique(pcs, 0)["spec"]["minAvailable"] = 3.into();
    }),
    admitted("a clique's minAvailable equal to its replicas", |pcs| {
        clique(pcs, 0)["spec"]["minAvailable"] = 2.into()
    }),
    admitted("a clique of one pod", |pcs| {
        clique(pcs, 0)["spec"]["replicas"] = 1.into();
        clique(pcs, 0)["spec"]["minAvailable"] = 1.into();
    }),
];

const GROUPS: &[Attempt] = &[
    refused("two scaling groups of one name", &["podCliqueScalingGroups[1].name"], |pcs| {
        add_group(pcs, "model")
    }),
    admitted("two scaling groups of two names", |pcs| add_group(pcs, "edge")),
    refused("a scaling group's name that is none for DNS", &["podCliqueScalingGroups[0].name"], |pcs| {
        group(pcs, 0)["name"] = "Model_A".into();
    }),
    refused("a scaling group of no replica", &["podCliqueScalingGroups[0].replicas"], |pcs| {
        group(pcs, 0)["replicas"] = 0.into();
    }),
    refused("a scaling group's minAvailable of 0", &["podCliqueScalingGroups[0].minAvailable"], |pcs| {
        group(pcs, 0)["minAvailable"] = 0.into();
    }),
    refused(
        "a scaling group's minAvailable above its replicas",
        &["podCliqueScalingGroups[0].minAvailable"],
        |pcs| {
            group(pcs, 0)["minAvailable"] = 3.into();
        },
    ),
    admitted("a scaling group's minAvailable equal to its replicas", |pcs| {
        group(pcs, 0)["minAvailable"] = 2.into()
    }),
    admitted("a scaling group of one replica", |pcs| group(pcs, 0)["replicas"] = 1.into()),
    refused("a member that is no clique", &["podCliqueScalingGroups[0].cliqueNames", "ghost"], |pcs| {
        group(pcs, 0)["cliqueNames"] = json!(["worker", "ghost"]);
    }),
    admitted("members that are cliques", |pcs| group(pcs, 0)["cliqueNames"] = json!(["worker", "router"])),
];

const WHOLE: &[Attempt] = &[
    refused("less than no replicas", &["spec.replicas"], |pcs| pcs["spec"]["replicas"] = (-1).into()),
    refused("names of 46 characters together", &["45"], |pcs| {
        pcs["metadata"]["name"] = "s".repeat(35).into()
    }),
    admitted("names of 45 characters together", |pcs| pcs["metadata"]["name"] = "s".repeat(34).into()),
];

/// Startup order is refused for now, whatever the order: what a sound one must not be told is that it is unsound.
const ORDER: &[Attempt] = &[
    refused("a wait for no clique", &["unknown clique names"], |pcs| starts_after(pcs, 1, "ghost")),
    refused("a wait in a circle", &["circular"], |pcs| {
        starts_after(pcs, 0, "worker");
        starts_after(pcs, 1, "router");
    }),
    admitted("a wait for a clique", |pcs| starts_after(pcs, 1, "router"))
        .whatever_the_answer()
        .silent_about(&["unknown clique names", "circular"]),
];

fn add_group(pcs: &mut Value, name: &str) {
    let model = group(pcs, 0).clone();
    let edge = json!({"name": name, "replicas": 1, "minAvailable": 1, "cliqueNames": ["router"]});
    template(pcs)["podCliqueScalingGroups"] = json!([model, edge]);
}

fn starts_after(pcs: &mut Value, index: usize, other: &str) {
    template(pcs)["cliqueStartupType"] = "CliqueStartupTypeExplicit".into();
    clique(pcs, index)["spec"]["startsAfter"] = json!([other]);
}

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    for (name, attempts) in [("cliques", CLIQUES), ("groups", GROUPS), ("whole", WHOLE), ("order", ORDER)] {
        let mut base = trial.manifest("set")?;
        base["metadata"]["name"] = name.into();
        trial.creates(&base, attempts).await?;
    }
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("ADM-04", || answers(history, &[CLIQUES, GROUPS, WHOLE, ORDER].concat()))]
}
