//! The case breaks the admission rules of the target's backend, on a PodCliqueSet of this backend and on one
//! of another enabled backend without such rules. On the former, it also breaks the rules of other backends.
//! Other clauses demand the rules. If a rule is missing, this case decides nothing.

use conformance_check::another_backend;

use crate::backends::{self, Rules};
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A backend's rules apply only to PodCliqueSets that select it").clauses(&[ADM_06]);

fn attempts_on_own(rules: &Rules) -> Vec<Attempt> {
    rules.own.iter().map(|(_, attempt)| attempt).chain(rules.others).copied().collect()
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let Ok(backends::Own { rules, .. }) = backends::own(test.target) else { return Ok(()) };
    test.attempt_creates(&test.manifest("ruled")?, &attempts_on_own(rules)).await?;
    let other = test.another_backend(|target| rules.targets_without.contains(&target)).await?;
    let Some(other) = other else { return Ok(()) };
    let mut elsewhere = test.manifest_for(other, "ruled")?;
    elsewhere["metadata"]["name"] = "ruled-elsewhere".into();
    test.attempt_creates(&elsewhere, rules.elsewhere).await
}

fn do_not_reach_others(history: &History, rules: &Rules) -> Ruling {
    another_backend::name(history)?;
    answers(history, rules.elsewhere)
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(ADM_06, || {
        let rules = &backends::own(history.header.target)?.rules;
        let own =
            rules.own.iter().map(|(clause, attempt)| precondition(clause, answers(history, &[*attempt])));
        all([answers(history, rules.others), do_not_reach_others(history, rules)].into_iter().chain(own))
    })]
}

#[cfg(test)]
mod tests {
    use conformance_contract::target::TARGETS;
    use conformance_facts::attempts::Wanted;

    use super::*;

    fn rules(target: Target) -> &'static Rules {
        &backends::own(target).unwrap().rules
    }

    fn targets_with_rules() -> impl Iterator<Item = Target> {
        TARGETS.into_iter().filter(|target| target.external().is_none())
    }

    fn ruling(target: Target, overrides: &[Override<'_>]) -> Ruling {
        let story = Story::on(target)
            .mark(SharedMark::AnotherBackend, json!({"scheduler": "lpx-scheduler", "foreign": true}));
        let attempts = [attempts_on_own(rules(target)), rules(target).elsewhere.to_vec()].concat();
        check(&answered(story, &attempts, overrides).end()).remove(0).ruling
    }

    #[test]
    fn rules_apply_only_to_pod_clique_sets_of_the_backend() {
        for target in targets_with_rules() {
            let rules = rules(target);
            assert_eq!(ruling(target, &[]), Ok(()));
            for attempt in rules.own.iter().map(|(_, attempt)| attempt) {
                assert_eq!(ruling(target, &[(attempt.title, 403, "in words of its own")]), Ok(()));
            }
            let exempt = rules.others.iter().chain(rules.elsewhere);
            for attempt in exempt.filter(|attempt| attempt.wanted == Wanted::Admitted) {
                let ruling = ruling(target, &[(attempt.title, 422, "no such queue")]);
                assert!(matches!(ruling, Err(Broken::Violated(_))), "{}: {ruling:?}", attempt.title);
            }
        }
    }

    #[test]
    fn a_missing_rule_breaks_the_precondition() {
        for target in targets_with_rules() {
            for (wanted, attempt) in rules(target).own {
                let ruling = ruling(target, &[(attempt.title, 201, "")]);
                let Err(Broken::Precondition { clause, .. }) = ruling else { panic!("{wanted}: {ruling:?}") };
                assert_eq!(clause, *wanted);
            }
        }
    }

    #[rstest]
    #[case::named(422, "nobodys-scheduler is not enabled", true)]
    #[case::not_named(403, "no backend", true)]
    #[case::ruled(422, "spec.template.podCliqueScalingGroups[0].topologyConstraint: Forbidden", false)]
    #[case::admitted_despite_the_scheduler(201, "", true)]
    #[case::a_panic(500, "panic", false)]
    fn no_rule_applies_for_an_unknown_scheduler(#[case] code: u16, #[case] says: &str, #[case] passes: bool) {
        let title = "the same rule on a PodCliqueSet of a scheduler that is not enabled";
        assert_eq!(ruling(Target::KUBE_POD_GROUP, &[(title, code, says)]).is_ok(), passes);
    }

    #[test]
    fn without_another_backend_the_clause_is_not_asked() {
        let ruling = |overrides: &[Override<'_>]| {
            let story = Story::flat().mark(SharedMark::AnotherBackend, json!({"asked": [], "foreign": true}));
            check(&answered(story, &attempts_on_own(rules(Target::KUBE_POD_GROUP)), overrides).end())
                .remove(0)
                .ruling
        };
        assert!(matches!(ruling(&[]), Err(Broken::NotAsked(_))), "{:?}", ruling(&[]));
        let reached = [("another backend's rules on a default-scheduler PodCliqueSet", 422, "no queue")];
        assert!(matches!(ruling(&reached), Err(Broken::Violated(_))));
    }
}
