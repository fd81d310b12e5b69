//! Rules of the target's own backend, on a PodCliqueSet of its own and on one of another backend that is enabled and has
//! no such rule; and rules of other backends on one of the target's. That the target's backend has the rules is what
//! other clauses demand; without, nothing is shown.
//!
//! kube-scheduler cannot keep a replica of a scaling group in one domain, so default-scheduler refuses such a
//! constraint in either gang scope; nor does a Workload have room for 9 podgroups of a PodGang in PodGroup scope.
//! Volcano wants a queue that exists, KAI one queue for all cliques, and Koordinator cannot keep a scaling group's
//! replica in one domain, not even rather than not.

use conformance_contract::names::{self, KAI_QUEUE, VOLCANO_QUEUE};
use conformance_contract::ruling::{Finding, Ruling};
use conformance_contract::target::Target;
use conformance_driver::admission_attempts::{clique, group, on, required, template};
use conformance_driver::case::Case;
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::test_cluster::TOPOLOGY;
use conformance_history::History;
use conformance_judge::admission::{Attempt, admitted, answers, refused};
use conformance_judge::{all, another_backend, finding, premise};
use serde_json::{Value, json};

/// ADM-06.
pub(crate) const CASE: Case = Case::new(
    "A backend's rules are applied to PodCliqueSets that select it, and to no other",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["ADM-06"]);

/// What is asked on a target.
struct Rules {
    /// Rules of its own, on one of its own: what is refused, and the clause that demands it.
    own: &'static [(&'static str, Attempt)],
    /// Rules that do not apply to one of its own, nor to one of nobody's.
    others: &'static [Attempt],
    /// The rules of its own on one of another backend.
    elsewhere: &'static [Attempt],
    /// The backends that have no such rules.
    strangers: &'static [Target],
}

/// The field that default-scheduler's first rule is about.
const RULE: &str = "podCliqueScalingGroups[0].topologyConstraint";

const OF_KUBE: &Rules = &Rules {
    own: &[
        ("ADM-09", refused("default-scheduler's rule on one of its own", &[], of_a_group)),
        ("KUBE-05", refused("more podgroups than a Workload holds on one of its own", &[], nine_podgroups)),
    ],
    others: &[
        refused("the same on one for a scheduler that is not enabled", &[], |pcs| {
            of_a_group(pcs);
            on(pcs, "nobodys-scheduler");
        })
        .silent_about(&[RULE]),
        // Volcano's rules: a queue name is a DNS label, and cliques agree with the PodCliqueSet.
        admitted("another backend's rules on one of default-scheduler's", |pcs| {
            pcs["metadata"]["annotations"][VOLCANO_QUEUE] = "No Queue".into();
            clique(pcs, 0)["annotations"] = json!({VOLCANO_QUEUE: "another"});
        }),
    ],
    elsewhere: &[admitted("the same on one for another scheduler that is enabled", nine_podgroups)],
    strangers: &[Target::External, Target::Volcano, Target::Koordinator, Target::Kai],
};

/// A tree honours any required level, and no preferred one.
const OF_KUBE_TREE: &Rules = &Rules {
    own: &[
        ("ADM-09", refused("default-scheduler's rule on one of its own", &[], preferred_by_a_group)),
        (
            "KUBE-05",
            refused("more podgroups than a CompositePodGroup holds on one of its own", &[], nine_podgroups),
        ),
    ],
    others: &[refused("the same on one for a scheduler that is not enabled", &[], |pcs| {
        preferred_by_a_group(pcs);
        on(pcs, "nobodys-scheduler");
    })
    .silent_about(&[RULE])],
    elsewhere: &[admitted("the same on one for another scheduler that is enabled", nine_podgroups)],
    strangers: &[Target::External, Target::Volcano, Target::Koordinator, Target::Kai],
};

const OF_VOLCANO: &Rules = &Rules {
    own: &[("VOL-03", refused("Volcano's rule on one of its own", &[], no_such_queue))],
    others: &[
        admitted("default-scheduler's rule on one of Volcano's", nine_podgroups),
        admitted("KAI's rule on one of Volcano's", two_kai_queues),
    ],
    elsewhere: &[admitted("the same on one for another scheduler that is enabled", no_such_queue)],
    strangers: &[Target::External, Target::KubePodGroup, Target::Koordinator, Target::Kai],
};

const OF_KOORDINATOR: &Rules = &Rules {
    own: &[("KOORD-04", refused("Koordinator's rule on one of its own", &[], preferred_by_a_group))],
    others: &[
        admitted("default-scheduler's rule on one of Koordinator's", nine_podgroups),
        admitted("Volcano's and KAI's rules on one of Koordinator's", |pcs| {
            no_such_queue(pcs);
            two_kai_queues(pcs);
        }),
    ],
    elsewhere: &[admitted("the same on one for another scheduler that is enabled", preferred_by_a_group)],
    strangers: &[Target::External, Target::Kai],
};

const OF_KAI: &Rules = &Rules {
    own: &[("KAI-04", refused("KAI's rule on one of its own", &[], two_kai_queues))],
    others: &[
        admitted("default-scheduler's rule on one of KAI's", nine_podgroups),
        admitted("Volcano's rule on one of KAI's", no_such_queue),
    ],
    elsewhere: &[admitted("the same on one for another scheduler that is enabled", two_kai_queues)],
    strangers: &[Target::External, Target::KubePodGroup, Target::Volcano, Target::Koordinator],
};

fn rules(target: Target) -> &'static Rules {
    match target {
        Target::KubeTree => OF_KUBE_TREE,
        Target::Volcano => OF_VOLCANO,
        Target::Koordinator => OF_KOORDINATOR,
        Target::Kai => OF_KAI,
        _ => OF_KUBE,
    }
}

fn no_such_queue(pcs: &mut Value) {
    pcs["metadata"]["annotations"][VOLCANO_QUEUE] = "no-such-queue".into();
}

/// A gang is in one queue.
fn two_kai_queues(pcs: &mut Value) {
    pcs["metadata"]["labels"][KAI_QUEUE] = "default-queue".into();
    clique(pcs, 0)["labels"] = json!({KAI_QUEUE: "another-queue"});
}

fn of_a_group(pcs: &mut Value) {
    group(pcs, 0)["topologyConstraint"] = required("rack");
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

/// All that is asked of the target's own backend.
fn here(rules: &Rules) -> Vec<Attempt> {
    rules.own.iter().map(|(_, attempt)| attempt).chain(rules.others).copied().collect()
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let rules = rules(test.target);
    test.creates(&test.manifest("ruled")?, &here(rules)).await?;
    let other = test.another_backend(|target| rules.strangers.contains(&target)).await?;
    let Some(other) = other else { return Ok(()) };
    let mut elsewhere = test.manifest_for(other, "ruled")?;
    elsewhere["metadata"]["name"] = "ruled-elsewhere".into();
    test.creates(&elsewhere, rules.elsewhere).await
}

/// The rules of its own do not reach one of another backend.
fn reach_no_other(history: &History, rules: &Rules) -> Ruling {
    another_backend::name(history)?;
    answers(history, rules.elsewhere)
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("ADM-06", || {
        let rules = rules(history.header.target);
        let own = rules.own.iter().map(|(clause, attempt)| premise(clause, answers(history, &[*attempt])));
        all([answers(history, rules.others), reach_no_other(history, rules)].into_iter().chain(own))
    })]
}

#[cfg(test)]
mod tests {
    use conformance_contract::ruling::Broken;
    use conformance_history::SharedMark;
    use conformance_history::testing::Story;
    use conformance_judge::admission::Wanted;
    use rstest::rstest;

    use super::*;
    use crate::adm::answered::{Otherwise, answered};

    const TARGETS: [Target; 4] = [Target::KubePodGroup, Target::Volcano, Target::Koordinator, Target::Kai];

    /// With another backend, as a foreign operator may have it.
    fn ruling(target: Target, otherwise: &[Otherwise<'_>]) -> Ruling {
        let story = Story::on(target)
            .mark(SharedMark::AnotherBackend, json!({"scheduler": "lpx-scheduler", "foreign": true}));
        let attempts = [here(rules(target)), rules(target).elsewhere.to_vec()].concat();
        judge(&answered(story, &attempts, otherwise).end()).remove(0).ruling
    }

    #[test]
    fn rules_reach_those_who_select_the_backend() {
        for target in TARGETS {
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
        for target in TARGETS {
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
        let title = "the same on one for a scheduler that is not enabled";
        assert_eq!(ruling(Target::KubePodGroup, &[(title, code, says)]).is_ok(), holds);
    }

    #[test]
    fn where_there_is_no_other_backend_nothing_is_asked_of_one() {
        let ruling = |otherwise: &[Otherwise<'_>]| {
            let story = Story::flat().mark(SharedMark::AnotherBackend, json!({"asked": [], "foreign": true}));
            judge(&answered(story, &here(OF_KUBE), otherwise).end()).remove(0).ruling
        };
        assert!(matches!(ruling(&[]), Err(Broken::NotAsked(_))), "{:?}", ruling(&[]));
        let reached = [("another backend's rules on one of default-scheduler's", 422, "no queue")];
        assert!(matches!(ruling(&reached), Err(Broken::Violated(_))));
    }
}
