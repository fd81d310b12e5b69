//! The rules of the target's backend, tried on a PodCliqueSet that selects it and on one of another enabled
//! backend without such rules; and the rules of other backends, tried on a PodCliqueSet of the target. Other
//! clauses demand the rules themselves; if one is missing, this case decides nothing.

use conformance_check::another_backend;

use crate::backends::{self, Rules};
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A backend's rules apply only to PodCliqueSets that select it").clauses(&[ADM_06]);

fn here(rules: &Rules) -> Vec<Attempt> {
    rules.own.iter().map(|(_, attempt)| attempt).chain(rules.others).copied().collect()
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let Ok(backends::Own { rules, .. }) = backends::own(test.target) else { return Ok(()) };
    test.creates(&test.manifest("ruled")?, &here(rules)).await?;
    let other = test.another_backend(|target| rules.strangers.contains(&target)).await?;
    let Some(other) = other else { return Ok(()) };
    let mut elsewhere = test.manifest_for(other, "ruled")?;
    elsewhere["metadata"]["name"] = "ruled-elsewhere".into();
    test.creates(&elsewhere, rules.elsewhere).await
}

fn reach_no_other(history: &History, rules: &Rules) -> Ruling {
    another_backend::name(history)?;
    answers(history, rules.elsewhere)
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding(ADM_06, || {
        let rules = &backends::own(history.header.target)?.rules;
        let own = rules.own.iter().map(|(clause, attempt)| premise(clause, answers(history, &[*attempt])));
        all([answers(history, rules.others), reach_no_other(history, rules)].into_iter().chain(own))
    })]
}

#[cfg(test)]
mod tests {
    use conformance_contract::ruling::Broken;
    use conformance_contract::target::{TARGETS, Target};
    use conformance_facts::attempts::Wanted;
    use conformance_history::SharedMark;
    use conformance_history::testing::Story;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::adm::answered::{Otherwise, answered};

    fn rules(target: Target) -> &'static Rules {
        &backends::own(target).unwrap().rules
    }

    fn ruled() -> impl Iterator<Item = Target> {
        TARGETS.into_iter().filter(|target| target.external().is_none())
    }

    /// With another backend enabled, as a foreign operator may have it.
    fn ruling(target: Target, otherwise: &[Otherwise<'_>]) -> Ruling {
        let story = Story::on(target)
            .mark(SharedMark::AnotherBackend, json!({"scheduler": "lpx-scheduler", "foreign": true}));
        let attempts = [here(rules(target)), rules(target).elsewhere.to_vec()].concat();
        judge(&answered(story, &attempts, otherwise).end()).remove(0).ruling
    }

    #[test]
    fn rules_reach_those_who_select_the_backend() {
        for target in ruled() {
            let rules = rules(target);
            assert_eq!(ruling(target, &[]), Ok(()));
            for attempt in rules.own.iter().map(|(_, attempt)| attempt) {
                assert_eq!(ruling(target, &[(attempt.title, 403, "in words of its own")]), Ok(()));
            }
            let not_its = rules.others.iter().chain(rules.elsewhere);
            for attempt in not_its.filter(|attempt| attempt.wanted == Wanted::Admitted) {
                let ruling = ruling(target, &[(attempt.title, 422, "no such queue")]);
                assert!(matches!(ruling, Err(Broken::Violated(_))), "{}: {ruling:?}", attempt.title);
            }
        }
    }

    #[test]
    fn without_the_rules_it_is_another_clause_that_is_broken() {
        for target in ruled() {
            for (wanted, attempt) in rules(target).own {
                let ruling = ruling(target, &[(attempt.title, 201, "")]);
                let Err(Broken::Premise { clause, .. }) = ruling else { panic!("{wanted}: {ruling:?}") };
                assert_eq!(clause, *wanted);
            }
        }
    }

    #[rstest]
    #[case::named(422, "nobodys-scheduler is not enabled", true)]
    #[case::not_named(403, "no backend", true)]
    #[case::ruled(422, "spec.template.podCliqueScalingGroups[0].topologyConstraint: Forbidden", false)]
    #[case::admitted(201, "", false)]
    fn nobodys_set_is_under_no_rule(#[case] code: u16, #[case] says: &str, #[case] holds: bool) {
        let title = "the same rule on a PodCliqueSet of a scheduler that is not enabled";
        assert_eq!(ruling(Target::KUBE_POD_GROUP, &[(title, code, says)]).is_ok(), holds);
    }

    #[test]
    fn where_there_is_no_other_backend_nothing_is_asked_of_one() {
        let ruling = |otherwise: &[Otherwise<'_>]| {
            let story = Story::flat().mark(SharedMark::AnotherBackend, json!({"asked": [], "foreign": true}));
            judge(&answered(story, &here(rules(Target::KUBE_POD_GROUP)), otherwise).end()).remove(0).ruling
        };
        assert!(matches!(ruling(&[]), Err(Broken::NotAsked(_))), "{:?}", ruling(&[]));
        let reached = [("another backend's rules on a default-scheduler PodCliqueSet", 422, "no queue")];
        assert!(matches!(ruling(&reached), Err(Broken::Violated(_))));
    }
}
