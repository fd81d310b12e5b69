//! A Workload has room for 8 PodGroup templates. Host names and Services' names must not contain a dot. Each
//! attempt breaks one rule, and a similar attempt breaks none, so the refusal need not name the rule.

use conformance_driver::admission_attempts::{clique, group, required, template};
use conformance_facts::attempts::Wanted;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Too many podgroups for a Workload and invalid names are refused").clauses(&[KUBE_05, KUBE_12]);

const NAMES: &[Attempt] = &[
    refused("a dot in the PodCliqueSet's name", &[], |pcs| pcs["metadata"]["name"] = "many.groups".into()),
    refused("a dot in a clique's name", &[], |pcs| clique(pcs, 0)["name"] = "front.end".into()),
    refused("a dot in a scaling group's name", &[], |pcs| {
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
    refused("9 cliques", &[], |pcs| cliques(pcs, 9)),
    refused("3 cliques in 3 replicas of a scaling group", &[], |pcs| grouped(pcs, 3, 3)),
    admitted("3 cliques in 3 replicas of a scaling group with a constraint", |pcs| constrained(pcs, 3, 3)),
    refused("1 clique in 9 replicas of a scaling group with a constraint", &[], |pcs| {
        constrained(pcs, 1, 9);
    }),
    refused("9 cliques in a replica of a scaling group with a constraint", &[], |pcs| {
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
    let limits = limits(history.header.target);
    let refused = |attempts: &[Attempt]| {
        let (valid, broken): (Vec<_>, Vec<_>) =
            attempts.iter().copied().partition(|attempt| attempt.wanted == Wanted::Admitted);
        all([answers(history, &broken), precondition(ADM_04, answers(history, &valid))])
    };
    vec![
        finding(KUBE_05, || refused(&[NAMES, limits].concat())),
        // An operator that admits such a PodCliqueSet breaks KUBE-05, and may still fail closed.
        finding(KUBE_12, || precondition(KUBE_05, refused(limits))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rulings(target: Target, overrides: &[Override<'_>]) -> [Ruling; 2] {
        let asked = [NAMES, limits(target)].concat();
        let found = check(&answered(Story::on(target), &asked, overrides).end());
        [found[0].ruling.clone(), found[1].ruling.clone()]
    }

    #[rstest]
    #[case::flat(Target::KUBE_POD_GROUP)]
    #[case::whole(Target::KUBE_POD_GANG)]
    #[case::tree(Target::KUBE_TREE)]
    fn each_wrong_answer_breaks_its_clause(#[case] target: Target) {
        assert_eq!(rulings(target, &[]), [Ok(()), Ok(())]);
        for attempt in [NAMES, limits(target)].concat() {
            let is_valid = attempt.wanted == Wanted::Admitted;
            let [represented, _] = rulings(target, &[(attempt.title, if is_valid { 422 } else { 201 }, "")]);
            let is_right = match represented {
                Err(Broken::Precondition { clause, .. }) => is_valid && clause == ADM_04,
                Err(Broken::Violated(_)) => !is_valid,
                _ => false,
            };
            assert!(is_right, "{}: {represented:?}", attempt.title);
        }
    }

    #[test]
    fn an_admitted_tree_that_is_too_large_leaves_failing_closed_undecided() {
        let [represented, closed] = rulings(Target::KUBE_TREE, &[("9 cliques", 201, "")]);
        assert!(matches!(represented, Err(Broken::Violated(_))), "{represented:?}");
        assert!(matches!(closed, Err(Broken::Precondition { clause: KUBE_05, .. })), "{closed:?}");
    }
}
