//! A Workload has room for 8 PodGroup templates. Host names and Services' names must not contain a dot.

use conformance_check::admission;
use conformance_driver::admission_attempts::{clique, group, required, template};

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Too many podgroups for a Workload and invalid names are refused").clauses(&[KUBE_05, KUBE_12]);

const NAMES: &[Attempt] = &[
    refused("a dot in the PodCliqueSet's name", &["name"], |pcs| {
        pcs["metadata"]["name"] = "many.groups".into()
    }),
    refused("a dot in a clique's name", &["name"], |pcs| clique(pcs, 0)["name"] = "front.end".into()),
    refused("a dot in a scaling group's name", &["name"], |pcs| {
        grouped(pcs, 1, 1);
        template(pcs)["podCliqueScalingGroups"][0]["name"] = "model.a".into();
    }),
    admitted("hyphens in all names", |pcs| {
        grouped(pcs, 1, 1);
        pcs["metadata"]["name"] = "many-groups".into();
        template(pcs)["podCliqueScalingGroups"][0]["name"] = "model-a".into();
    }),
];

const FLAT: &[Attempt] = &[
    admitted("8 cliques", |pcs| cliques(pcs, 8)),
    refused("9 cliques", &[], |pcs| cliques(pcs, 9)),
    admitted("4 cliques in 2 replicas of a scaling group", |pcs| grouped(pcs, 4, 2)),
    refused("3 cliques in 3 replicas of a scaling group", &[], |pcs| grouped(pcs, 3, 3)),
];

const WHOLE: &[Attempt] = &[
    admitted("9 cliques", |pcs| cliques(pcs, 9)),
    admitted("3 cliques in 3 replicas of a scaling group", |pcs| grouped(pcs, 3, 3)),
];

/// Each list of templates in a tree also has room for 8, as has a scaling group with a topology constraint.
const TREE: &[Attempt] = &[
    admitted("8 cliques", |pcs| cliques(pcs, 8)),
    refused("9 cliques", &["8", "9"], |pcs| cliques(pcs, 9)),
    refused("3 cliques in 3 replicas of a scaling group", &["8", "9"], |pcs| grouped(pcs, 3, 3)),
    admitted("3 cliques in 3 replicas of a scaling group with a constraint", |pcs| constrained(pcs, 3, 3)),
    refused("1 clique in 9 replicas of a scaling group with a constraint", &["8", "9"], |pcs| {
        constrained(pcs, 1, 9);
    }),
    refused("9 cliques in a replica of a scaling group with a constraint", &["8", "9"], |pcs| {
        constrained(pcs, 9, 1);
    }),
];

fn limits(target: Target) -> &'static [Attempt] {
    match target.scope() {
        Some("PodGang") => WHOLE,
        Some("Tree") => TREE,
        _ => FLAT,
    }
}

fn cliques(pcs: &mut Value, count: usize) {
    let first = clique(pcs, 0).clone();
    let numbered = (0..count).map(|number| {
        let mut clique = first.clone();
        clique["name"] = format!("c{number}").into();
        clique["spec"]["roleName"] = format!("c{number}").into();
        clique
    });
    template(pcs)["cliques"] = numbered.collect();
}

fn grouped(pcs: &mut Value, count: usize, replicas: usize) {
    cliques(pcs, count);
    let members: Vec<_> = (0..count).map(|number| format!("c{number}")).collect();
    template(pcs)["podCliqueScalingGroups"] =
        json!([{"name": "sg", "replicas": replicas, "minAvailable": replicas, "cliqueNames": members}]);
}

fn constrained(pcs: &mut Value, count: usize, replicas: usize) {
    grouped(pcs, count, replicas);
    group(pcs, 0)["topologyConstraint"] = required("rack");
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let mut base = test.manifest("many")?;
    test.attempt_creates(&base, NAMES).await?;
    base["metadata"]["name"] = "limit".into();
    test.attempt_creates(&base, limits(test.target)).await
}

fn check(history: &History) -> Vec<Finding> {
    let target = history.header.target;
    let kept = |attempts: &[Attempt]| {
        answers(history, attempts)?;
        admission::left_nothing(history, attempts)
    };
    vec![
        finding(KUBE_05, || kept(&[NAMES, limits(target)].concat())),
        finding(KUBE_12, || kept(limits(target))),
    ]
}
