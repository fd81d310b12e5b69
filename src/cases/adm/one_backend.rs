//! A PodCliqueSet has two cliques. Each names a scheduler or none; the default is default-scheduler. Nothing
//! else is wrong, so the refusal need not name the schedulers.

use conformance_contract::scheduler::EXTERNAL_SCHEDULER;
use conformance_driver::admission_attempts::clique;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("All cliques must use the same scheduler; an empty name means the default").clauses(&[ADM_01]);

/// ADM-04 requires that the operator admits it. Otherwise, the refusals prove nothing.
const ONE: Attempt = admitted("one scheduler", |_| {});

const TWO: Attempt = refused("two schedulers", &[], |pcs| {
    clique(pcs, 1)["spec"]["podSpec"]["schedulerName"] = EXTERNAL_SCHEDULER.into();
});

const DEFAULT: &[Attempt] = &[
    refused("default-scheduler and another scheduler", &[], |pcs| {
        clique(pcs, 0)["spec"]["podSpec"]["schedulerName"] = "default-scheduler".into();
        clique(pcs, 1)["spec"]["podSpec"]["schedulerName"] = EXTERNAL_SCHEDULER.into();
    }),
    admitted("no scheduler name and default-scheduler", |pcs| {
        clique(pcs, 1)["spec"]["podSpec"]["schedulerName"] = "default-scheduler".into();
    }),
    admitted("an empty scheduler name and default-scheduler", |pcs| {
        clique(pcs, 0)["spec"]["podSpec"]["schedulerName"] = "".into();
        clique(pcs, 1)["spec"]["podSpec"]["schedulerName"] = "default-scheduler".into();
    }),
];

const OTHER_THAN_DEFAULT: &[Attempt] =
    &[refused("no scheduler name and a scheduler that is not the default", &[], |pcs| {
        clique(pcs, 1)["spec"]["podSpec"]["schedulerName"] = "".into();
    })];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let mut pair = test.manifest("pair")?;
    test.attempt_creates(&pair, &[TWO, ONE]).await?;
    pair["metadata"]["name"] = "pair-of-the-default".into();
    test.attempt_creates(&pair, about_the_default(test.target)).await
}

fn about_the_default(target: Target) -> &'static [Attempt] {
    if KUBE.contains(&target) { DEFAULT } else { OTHER_THAN_DEFAULT }
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(ADM_01, || {
        precondition(ADM_04, answers(history, &[ONE]))?;
        answers(history, &[TWO])?;
        answers(history, about_the_default(history.header.target))
    })]
}

#[cfg(test)]
mod tests {
    use conformance_facts::attempts::Wanted;

    use super::*;

    fn ruling(target: Target, overrides: &[Override<'_>]) -> Ruling {
        let asked = [about_the_default(target), &[TWO, ONE]].concat();
        check(&answered(Story::on(target), &asked, overrides).end()).remove(0).ruling
    }

    #[rstest]
    #[case::kube_scheduler(Target::KUBE_POD_GROUP)]
    #[case::another_backend(Target::VOLCANO)]
    fn each_wrong_answer_is_a_violation(#[case] target: Target) {
        assert_eq!(ruling(target, &[]), Ok(()));
        for attempt in [about_the_default(target), &[TWO]].concat() {
            let code = if attempt.wanted == Wanted::Admitted { 422 } else { 201 };
            let ruling = ruling(target, &[(attempt.title, code, "")]);
            assert!(matches!(ruling, Err(Broken::Violated(_))), "{}: {ruling:?}", attempt.title);
        }
    }

    #[test]
    fn a_refused_pod_clique_set_with_one_scheduler_breaks_the_precondition() {
        let ruling = ruling(Target::VOLCANO, &[(ONE.title, 422, "no")]);
        assert!(matches!(ruling, Err(Broken::Precondition { clause: ADM_04, .. })), "{ruling:?}");
    }
}
