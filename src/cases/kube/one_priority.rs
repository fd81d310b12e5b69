//! Two cliques with priority classes. kube-scheduler 1.37 compares the class of each pod with that of its
//! PodGroup, which is the PodCliqueSet's. It never binds a gang in which the two differ (kubernetes #139920).
//! The API server of 1.37 rejects PodGroups with a system class, whose value is above 1000000000. On 1.36,
//! all these gangs are bound. All attempts are dry runs.

use conformance_driver::admission_attempts::{clique, template};
use conformance_expect::refusals::SYSTEM_PRIORITIES;
use conformance_facts::attempts::Wanted;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Priorities with which a gang is never bound are refused").clauses(&[KUBE_22, KUBE_23]);

/// The case prefixes these names with its namespace, because PriorityClasses are cluster-scoped.
const CLASS: &str = "high";
const OTHER: &str = "low";

const UNIFORM: &[Attempt] = &[
    admitted("no class", |_| {}),
    admitted("a class of the PodCliqueSet", |pcs| of_set(pcs, CLASS)),
    admitted("one class everywhere", |pcs| {
        of_set(pcs, CLASS);
        of_clique(pcs, 0, CLASS);
        of_clique(pcs, 1, CLASS);
    }),
];

const MIXED: &[Attempt] = &[
    refused("a class of one clique", &[], |pcs| of_clique(pcs, 1, CLASS)),
    refused("a class of all cliques and not of the PodCliqueSet", &[], |pcs| {
        of_clique(pcs, 0, CLASS);
        of_clique(pcs, 1, CLASS);
    }),
    refused("a clique with another class than the PodCliqueSet", &[], |pcs| {
        of_set(pcs, CLASS);
        of_clique(pcs, 0, OTHER);
    }),
];

const SYSTEM: &[Attempt] = &[
    refused("the first system class", &[SYSTEM_PRIORITIES[0]], |pcs| {
        template(pcs)["priorityClassName"] = SYSTEM_PRIORITIES[0].into();
    }),
    refused("the second system class", &[SYSTEM_PRIORITIES[1]], |pcs| {
        template(pcs)["priorityClassName"] = SYSTEM_PRIORITIES[1].into();
    }),
];

fn of_set(pcs: &mut Value, class: &str) {
    template(pcs)["priorityClassName"] = class_name(pcs, class).into();
}

fn of_clique(pcs: &mut Value, index: usize, class: &str) {
    clique(pcs, index)["spec"]["podSpec"]["priorityClassName"] = class_name(pcs, class).into();
}

fn class_name(pcs: &Value, class: &str) -> String {
    format!("{}-{class}", text(&pcs["metadata"]["namespace"]))
}

/// Refused since Kubernetes 1.37, admitted before. Only 1.37 has trees, so tree scope means 1.37.
fn refused_since_1_37(attempts: &[Attempt], target: Target) -> Vec<Attempt> {
    if target.scope() == Some("Tree") {
        return attempts.to_vec();
    }
    attempts.iter().map(|attempt| Attempt { wanted: Wanted::Admitted, words: &[], ..*attempt }).collect()
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let mut base = test.manifest("one-priority")?;
    for (class, value) in [(CLASS, 40), (OTHER, 20)] {
        let object = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": class_name(&base, class)}, "value": value,
        });
        test.apply_companion(object).await?;
    }
    test.attempt_dry_creates(&base, UNIFORM).await?;
    for (name, attempts) in [("mixed-priority", MIXED), ("system-priority", SYSTEM)] {
        base["metadata"]["name"] = name.into();
        test.attempt_dry_creates(&base, &refused_since_1_37(attempts, test.target)).await?;
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    let refused = |attempts| refused_since_1_37(attempts, history.header.target);
    vec![
        finding(KUBE_22, || {
            all([answers(history, &refused(MIXED)), precondition(ADM_04, answers(history, UNIFORM))])
        }),
        finding(KUBE_23, || answers(history, &refused(SYSTEM))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(target: Target, title: &str, code: u16, message: &str) -> Vec<bool> {
        let all = [UNIFORM, &refused_since_1_37(&[MIXED, SYSTEM].concat(), target)].concat();
        let story = answered(Story::on(target), &all, &[(title, code, message)]);
        check(&story.end()).iter().map(|finding| finding.ruling.is_ok()).collect()
    }

    #[rstest]
    #[case::refused_on_1_37(Target::KUBE_TREE, 422, true)]
    #[case::admitted_on_1_37(Target::KUBE_TREE, 201, false)]
    #[case::refused_on_1_36(Target::KUBE_POD_GANG, 422, false)]
    #[case::admitted_on_1_36(Target::KUBE_POD_GANG, 201, true)]
    fn a_gang_is_refused_where_it_is_never_bound(
        #[case] target: Target,
        #[case] code: u16,
        #[case] passes: bool,
    ) {
        assert_eq!(passed(target, "a class of one clique", code, ""), [passes, true]);
        let class = SYSTEM_PRIORITIES[1];
        assert_eq!(passed(target, "the second system class", code, class), [true, passes]);
    }

    #[test]
    fn a_refusal_that_does_not_name_the_system_class_is_a_violation() {
        let unnamed = passed(Target::KUBE_TREE, "the first system class", 422, "the priority is too high");
        assert_eq!(unnamed, [true, false]);
    }
}
