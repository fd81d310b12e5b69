//! `moulded`: a clique beside a scaling group of two. `pinned`: one clique, so that a constraint of the PodCliqueSet is
//! admissible in either gang scope.

use conformance_contract::clauses::Feature;
use conformance_contract::names;
use conformance_contract::ruling::{Finding, Ruling};
use conformance_contract::target::Target;
use conformance_driver::admission_attempts::{clique, group, required, template};
use conformance_driver::case::Case;
use conformance_driver::context::{Stop, TestContext};
use conformance_history::History;
use conformance_judge::admission::{Attempt, Wanted, admitted, answers, refusals_say, refused};
use conformance_judge::{all, another_backend, finding};
use serde_json::{Value, json};

use crate::backends::{self, RECREATE};
use crate::ext;

/// ADM-03, ADM-12.
pub(crate) const CASE: Case = Case::new(
    "The shape of gangs cannot be changed, and the refusal says to recreate the PodCliqueSet",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["ADM-03", "ADM-12"]);

const SHAPE: &[Attempt] = &[
    refused("a clique more", RECREATE, |pcs| {
        let mut more = clique(pcs, 0).clone();
        more["name"] = "one-more".into();
        more["spec"]["roleName"] = "one-more".into();
        list(&mut template(pcs)["cliques"]).push(more);
    }),
    refused("a clique less", RECREATE, |pcs| {
        list(&mut template(pcs)["cliques"]).remove(0);
    }),
    refused("a clique renamed", RECREATE, |pcs| clique(pcs, 0)["name"] = "gateway".into()),
    refused("a clique's minAvailable", RECREATE, |pcs| {
        clique(pcs, 0)["spec"]["minAvailable"] = 2.into();
    }),
    refused("a member more in a scaling group", RECREATE, |pcs| {
        list(&mut group(pcs, 0)["cliqueNames"]).push("router".into());
    }),
    refused("a member less in a scaling group", RECREATE, |pcs| {
        list(&mut group(pcs, 0)["cliqueNames"]).pop();
    }),
    refused("a scaling group's minAvailable", RECREATE, |pcs| {
        group(pcs, 0)["minAvailable"] = 2.into();
    }),
    refused("a scaling group more", RECREATE, |pcs| {
        let more = json!({"name": "edge", "replicas": 1, "minAvailable": 1, "cliqueNames": ["router"]});
        list(&mut template(pcs)["podCliqueScalingGroups"]).push(more);
    }),
    refused("a scaling group less", RECREATE, |pcs| {
        list(&mut template(pcs)["podCliqueScalingGroups"]).clear();
    }),
    admitted("replicas of a clique and of a scaling group", |pcs| {
        clique(pcs, 0)["spec"]["replicas"] = 3.into();
        group(pcs, 0)["replicas"] = 3.into();
    }),
];

/// Of kube-scheduler's backend, where it knows more than one: the annotation is not upstream's.
const SCOPE: &[Attempt] = &[refused("another gang scope", RECREATE, |pcs| {
    let scope = &mut pcs["metadata"]["annotations"][names::GANG_SCOPE];
    *scope = if *scope == "PodGang" { "PodGroup" } else { "PodGang" }.into();
})];

/// Where a constraint is admitted at all; where it is not, it is refused for another reason.
const CONSTRAINED: &[Attempt] = &[refused("a topology constraint added", RECREATE, |pcs| {
    template(pcs)["topologyConstraint"] = required("rack");
})];

const PACKED: &[Attempt] = &[
    refused("a topology constraint changed", RECREATE, |pcs| {
        template(pcs)["topologyConstraint"]["pack"]["required"] = "block".into();
    }),
    refused("a topology constraint for another topology", RECREATE, |pcs| {
        template(pcs)["topologyConstraint"]["topologyName"] = "another".into();
    }),
    refused("a topology constraint removed", RECREATE, |pcs| {
        if let Some(template) = template(pcs).as_object_mut() {
            template.remove("topologyConstraint");
        }
    }),
];

/// A list, empty where there is none.
fn list(value: &mut Value) -> &mut Vec<Value> {
    if !value.is_array() {
        *value = json!([]);
    }
    match value {
        Value::Array(list) => list,
        _ => unreachable!("it has just been made one"),
    }
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("moulded").await?;
    test.updates("moulded", SHAPE).await?;
    if test.target == Target::KUBE_POD_GANG {
        test.updates("moulded", SCOPE).await?;
    }
    let own = test.target.backend();
    let other = test.another_backend(|target| target.backend() != own).await?;
    // One that is enabled: a name that is not is refused for that (ADM-02).
    if let Some(backend) = other.and_then(backends::of) {
        test.updates("moulded", &[backend.given_to_it]).await?;
    }
    if !test.target.declares(Feature::TopologyRequired) {
        return Ok(());
    }
    test.updates("moulded", CONSTRAINED).await?;
    test.submit("pinned").await?;
    test.updates("pinned", PACKED).await
}

/// Answers to attempts at the shape, and to one at the backend, where there is another. The backend that it was given to
/// does not change what has to be answered.
fn answered_by(history: &History, rule: impl Fn(&[Attempt]) -> Ruling) -> Ruling {
    let target = history.header.target;
    let scope = if target == Target::KUBE_POD_GANG { SCOPE } else { &[] };
    let has_topology = target.declares(Feature::TopologyRequired);
    let [constrained, packed] = if has_topology { [CONSTRAINED, PACKED] } else { [&[] as &[_]; 2] };
    let given_away = || {
        another_backend::name(history)?;
        rule(&[ext::admission::BACKEND.given_to_it])
    };
    all([rule(&[SHAPE, scope, constrained, packed].concat()), given_away()])
}

fn judge(history: &History) -> Vec<Finding> {
    let in_any_words = |attempts: &[Attempt]| {
        answers(history, &attempts.iter().map(|attempt| attempt.in_any_words()).collect::<Vec<_>>())
    };
    let in_ours = |attempts: &[Attempt]| {
        let wanted = attempts.iter().filter(|attempt| attempt.wanted == Wanted::Refused);
        refusals_say(history, &wanted.copied().collect::<Vec<_>>())
    };
    vec![
        finding("ADM-03", || answered_by(history, in_any_words)),
        finding("ADM-12", || answered_by(history, in_ours)),
    ]
}

#[cfg(test)]
mod tests {
    use conformance_contract::backend_declaration::BackendDeclaration;
    use conformance_contract::ruling::Broken;
    use conformance_history::SharedMark;
    use conformance_history::testing::Story;
    use rstest::rstest;

    use super::*;
    use crate::adm::answered::{Otherwise, answered};

    const GIVEN_AWAY: Attempt = backends::given_to(|_| {});

    /// About ADM-03, and about its words.
    fn rulings(target: Target, attempts: &[&[Attempt]], otherwise: &[Otherwise<'_>]) -> [Ruling; 2] {
        let story = Story::on(target)
            .mark(SharedMark::AnotherBackend, json!({"scheduler": "volcano", "foreign": true}));
        let found = judge(&answered(story, &attempts.concat(), otherwise).end());
        found.into_iter().map(|finding| finding.ruling).collect::<Vec<_>>().try_into().unwrap()
    }

    fn ruling(target: Target, attempts: &[&[Attempt]], otherwise: &[Otherwise<'_>]) -> Ruling {
        let [ruling, _] = rulings(target, attempts, otherwise);
        ruling
    }

    fn of_flat(otherwise: &[Otherwise<'_>]) -> Ruling {
        ruling(Target::KUBE_POD_GROUP, &[SHAPE, CONSTRAINED, PACKED, &[GIVEN_AWAY]], otherwise)
    }

    #[rstest]
    #[case::as_ours("spec.template.cliques[0].name: Forbidden; recreate the PodCliqueSet to change it", true)]
    #[case::in_other_words("the PodCliqueSet is immutable: it must be Recreated", true)]
    #[case::with_a_hyphen("cliques.name cannot change, delete and re-create the PodCliqueSet", true)]
    #[case::as_upstream(
        "spec.template.cliques.name: Forbidden: not allowed to change clique composition",
        false
    )]
    #[case::by_accident("Invalid value: {\"updateStrategy\":{\"type\":\"RollingRecreate\"}}", false)]
    fn a_refusal_says_to_recreate(#[case] says: &str, #[case] holds: bool) {
        for title in ["a clique renamed", "another scheduler", "a topology constraint removed"] {
            let attempts: &[&[Attempt]] = &[SHAPE, CONSTRAINED, PACKED, &[GIVEN_AWAY]];
            let [shape, words] = rulings(Target::KUBE_POD_GROUP, attempts, &[(title, 422, says)]);
            assert_eq!(shape, Ok(()), "its words are not ADM-03's");
            assert_eq!(words.is_ok(), holds, "{title}: {words:?}");
        }
    }

    #[test]
    fn what_is_admitted_has_no_refusal_to_say_anything() {
        let attempts: &[&[Attempt]] = &[SHAPE, CONSTRAINED, PACKED, &[GIVEN_AWAY]];
        let [shape, words] = rulings(Target::KUBE_POD_GROUP, attempts, &[("a clique less", 200, "")]);
        assert!(matches!(shape, Err(Broken::Violated(_))));
        assert_eq!(words, Ok(()));
    }

    #[test]
    fn every_part_of_the_shape_stays() {
        for attempt in [SHAPE, CONSTRAINED, PACKED, &[GIVEN_AWAY]].concat() {
            let wrong = if attempt.title.starts_with("replicas") { 422 } else { 200 };
            let ruling = of_flat(&[(attempt.title, wrong, "")]);
            assert!(matches!(ruling, Err(Broken::Violated(_))), "{}: {ruling:?}", attempt.title);
        }
    }

    #[test]
    fn the_gang_scope_is_of_those_who_have_one() {
        assert_eq!(of_flat(&[]), Ok(()));
        let attempts: &[&[Attempt]] = &[SHAPE, CONSTRAINED, PACKED, SCOPE, &[GIVEN_AWAY]];
        assert_eq!(ruling(Target::KUBE_POD_GANG, attempts, &[]), Ok(()));
        assert!(ruling(Target::KUBE_POD_GANG, attempts, &[("another gang scope", 200, "")]).is_err());
    }

    #[test]
    fn an_operator_without_topology_is_not_asked_about_constraints() {
        let declared = BackendDeclaration {
            operator: "mine v1".into(),
            features: Vec::new(),
            configuration: serde_json::Map::new(),
        };
        let target = Target::VOLCANO.declared_by(declared);
        assert_eq!(ruling(target, &[SHAPE, &[GIVEN_AWAY]], &[]), Ok(()));
        assert!(matches!(ruling(Target::VOLCANO, &[SHAPE, &[GIVEN_AWAY]], &[]), Err(Broken::NotReached(_))));
    }

    #[test]
    fn another_scheduler_takes_another_backend() {
        let ruling = |otherwise: &[Otherwise<'_>]| {
            let story = Story::flat().mark(SharedMark::AnotherBackend, json!({"asked": [], "foreign": true}));
            judge(&answered(story, &[SHAPE, CONSTRAINED, PACKED].concat(), otherwise).end()).remove(0).ruling
        };
        assert!(matches!(ruling(&[]), Err(Broken::NotAsked(_))), "{:?}", ruling(&[]));
        assert!(matches!(ruling(&[("a clique less", 200, "")]), Err(Broken::Violated(_))));
    }
}
