//! `fixed-shape` has a clique and a scaling group of two cliques. `fixed-alone` and `fixed-grouped` have one
//! clique, so that every target accepts the constraints that it honours; each exists with and without a
//! constraint at each place. These updates are dry runs, so an admitted one does not change the shape for the
//! next. `reordered` runs when its cliques are reordered, where order has no meaning. Scaling it from 1 to 2
//! then shows that the operator has reconciled it.

use std::sync::LazyLock;

use conformance_check::admission::{self, refusals_say};
use conformance_check::another_backend;
use conformance_driver::admission_attempts::{clique, group, template};
use conformance_facts::attempts::{Row, Wanted};

use super::places::{PLACES, Place, packed};
use crate::backends::{self, RECREATE};
use crate::ext;
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Changes to the gang shape are refused, and the refusal asks to recreate")
        .clauses(&[ADM_03, ADM_12, ADM_13])
        .nodes(&[nodes(1)]);

const SHAPE: &[Attempt] = &[
    refused("a clique added", RECREATE, |pcs| {
        let mut more = clique(pcs, 0).clone();
        more["name"] = "one-more".into();
        more["spec"]["roleName"] = "one-more".into();
        list(&mut template(pcs)["cliques"]).push(more);
    }),
    refused("a clique removed", RECREATE, |pcs| {
        list(&mut template(pcs)["cliques"]).remove(0);
    }),
    refused("a clique renamed", RECREATE, |pcs| clique(pcs, 0)["name"] = "gateway".into()),
    refused("minAvailable of a clique changed", RECREATE, |pcs| {
        clique(pcs, 0)["spec"]["minAvailable"] = 2.into();
    }),
    refused("a clique added to a scaling group", RECREATE, |pcs| {
        list(&mut group(pcs, 0)["cliqueNames"]).push("router".into());
    }),
    refused("a clique removed from a scaling group", RECREATE, |pcs| {
        list(&mut group(pcs, 0)["cliqueNames"]).pop();
    }),
    refused("minAvailable of a scaling group changed", RECREATE, |pcs| {
        group(pcs, 0)["minAvailable"] = 2.into();
    }),
    refused("a scaling group added", RECREATE, |pcs| {
        let more = json!({"name": "edge", "replicas": 1, "minAvailable": 1, "cliqueNames": ["router"]});
        list(&mut template(pcs)["podCliqueScalingGroups"]).push(more);
    }),
    refused("a scaling group removed", RECREATE, |pcs| {
        list(&mut template(pcs)["podCliqueScalingGroups"]).clear();
    }),
    refused("startup type changed", RECREATE, |pcs| {
        template(pcs)["cliqueStartupType"] = "CliqueStartupTypeInOrder".into();
    }),
    refused("startsAfter added to a clique", RECREATE, |pcs| {
        clique(pcs, 0)["spec"]["startsAfter"] = json!(["leader"]);
    }),
    admitted("replicas of a clique and of a scaling group changed", |pcs| {
        clique(pcs, 0)["spec"]["replicas"] = 3.into();
        group(pcs, 0)["replicas"] = 3.into();
    }),
];

/// Only for kube-scheduler's backend with more than one gang scope. The annotation is not defined upstream.
const SCOPE: &[Attempt] = &[refused("gang scope changed", RECREATE, |pcs| {
    let scope = &mut pcs["metadata"]["annotations"][names::GANG_SCOPE];
    *scope = if *scope == "PodGang" { "PodGroup" } else { "PodGang" }.into();
})];

/// At each place: a constraint added to a PodCliqueSet without one, and an existing one changed or removed.
static CONSTRAINTS: LazyLock<Vec<(Place, bool, Row)>> = LazyLock::new(|| {
    let row = |place: Place, what: &str, constraint: Value| {
        let title = format!("a topology constraint of the {} {what}", place.title);
        let row = Row { title, values: vec![place.with(constraint)], wanted: Wanted::Refused };
        (place, what == "added", row)
    };
    let of_place = |place: Place| {
        let another = json!({"topologyName": "another", "pack": {"required": "rack"}});
        [
            row(place, "added", packed("required", "rack")),
            row(place, "changed", packed("required", "block")),
            row(place, "moved to another topology", another),
            row(place, "removed", Value::Null),
        ]
    };
    PLACES.into_iter().flat_map(of_place).collect()
});

/// The rows for the places where the target honours a constraint.
fn constraints(target: Target, is_meant: impl Fn(Place, bool) -> bool) -> Vec<Attempt> {
    let rows = CONSTRAINTS
        .iter()
        .filter(|(place, is_added, _)| place.is_honoured(target, "required") && is_meant(*place, *is_added));
    rows.map(|(_, _, row)| Attempt { says: RECREATE, ..row.attempt() }).collect()
}

const REORDERED: &[Attempt] = &[admitted("cliques reordered where order has no meaning", |pcs| {
    list(&mut template(pcs)["cliques"]).reverse();
})];

marks! {
    RUNNING = "running";
    PASSED = "the operator has been past";
}

fn list(value: &mut Value) -> &mut Vec<Value> {
    if !value.is_array() {
        *value = json!([]);
    }
    match value {
        Value::Array(list) => list,
        _ => unreachable!("the value is an array here"),
    }
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("fixed-shape").await?;
    test.would_update("fixed-shape", SHAPE).await?;
    if test.target == Target::KUBE_POD_GANG {
        test.would_update("fixed-shape", SCOPE).await?;
    }
    let own = test.target.backend();
    let other = test.another_backend(|target| target.backend() != own).await?;
    // An enabled backend: one that is not enabled is refused for that reason (ADM-02).
    if let Some(backend) = other.and_then(backends::of) {
        test.would_update("fixed-shape", &[backend.given_to_it]).await?;
    }
    let target = test.target;
    for place in PLACES.into_iter().filter(|place| place.is_honoured(target, "required")) {
        for is_added in [true, false] {
            let mut pcs = test.manifest(&format!("fixed-{}", place.base))?;
            let name = format!("{}-{}", if is_added { "free" } else { "pinned" }, place.title);
            pcs["metadata"]["name"] = name.as_str().into();
            if !is_added {
                place.constrain(&mut pcs, "rack");
            }
            test.submit_value(pcs).await?;
            let meant = constraints(target, |at, adds| at == place && adds == is_added);
            test.would_update(&name, &meant).await?;
        }
    }
    test.submit("reordered").await?;
    test.until_bound(3).await?;
    test.mark(RUNNING, Value::Null);
    test.updates("reordered", REORDERED).await?;
    test.scale("PodCliqueSet", "reordered", 2).await?;
    test.until_bound(6).await?;
    test.mark(PASSED, Value::Null);
    Ok(())
}

fn nothing_recreated(history: &History) -> Ruling {
    answers(history, REORDERED)?;
    let (since, _) = history.reached(RUNNING)?;
    admission::nothing_recreated(history, "reordered", since)?;
    history.reached(PASSED).map(drop)
}

/// Decides on the answers to changes of the shape, and to a change of the backend if another is enabled.
/// Which backend that is does not affect the expected answer.
fn answered_by(history: &History, rule: impl Fn(&[Attempt]) -> Ruling) -> Ruling {
    let target = history.header.target;
    let scope = if target == Target::KUBE_POD_GANG { SCOPE } else { &[] };
    let constraints = constraints(target, |_, _| true);
    let given_away = || {
        another_backend::name(history)?;
        rule(&[ext::admission::BACKEND.given_to_it])
    };
    all([rule(&[SHAPE, scope, &constraints].concat()), given_away()])
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
        finding(ADM_03, || answered_by(history, in_any_words)),
        finding(ADM_12, || answered_by(history, in_ours)),
        finding(ADM_13, || nothing_recreated(history)),
    ]
}

#[cfg(test)]
mod tests {
    use conformance_contract::backend_declaration::BackendDeclaration;
    use conformance_contract::ruling::Broken;
    use conformance_history::SharedMark;
    use conformance_history::testing::{Story, object};
    use rstest::rstest;

    use super::*;
    use crate::adm::answered::{Otherwise, answered};

    const GIVEN_AWAY: Attempt = backends::given_to(|_| {});

    fn asked(target: Target) -> Vec<Attempt> {
        [SHAPE, &constraints(target, |_, _| true), REORDERED, &[GIVEN_AWAY]].concat()
    }

    /// `reordered`, where reordering its cliques recreates nothing.
    fn reordered(target: Target) -> Story {
        Story::on(target)
            .added(object("PodGang", "reordered-0"))
            .added(object("Pod", "reordered-0-router-x"))
            .mark(RUNNING, Value::Null)
    }

    fn rulings(target: Target, attempts: &[Attempt], otherwise: &[Otherwise<'_>]) -> [Ruling; 3] {
        let story = reordered(target)
            .mark(SharedMark::AnotherBackend, json!({"scheduler": "volcano", "foreign": true}))
            .mark(PASSED, Value::Null);
        let found = judge(&answered(story, attempts, otherwise).end());
        found.into_iter().map(|finding| finding.ruling).collect::<Vec<_>>().try_into().unwrap()
    }

    fn ruling(target: Target, attempts: &[Attempt], otherwise: &[Otherwise<'_>]) -> Ruling {
        let [ruling, ..] = rulings(target, attempts, otherwise);
        ruling
    }

    fn of_flat(otherwise: &[Otherwise<'_>]) -> Ruling {
        ruling(Target::KUBE_POD_GROUP, &asked(Target::KUBE_POD_GROUP), otherwise)
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
        for title in ["a clique renamed", "scheduler changed", "a topology constraint of the clique removed"]
        {
            let attempts = asked(Target::KUBE_POD_GROUP);
            let [shape, words, _] = rulings(Target::KUBE_POD_GROUP, &attempts, &[(title, 422, says)]);
            assert_eq!(shape, Ok(()), "its words are not ADM-03's");
            assert_eq!(words.is_ok(), holds, "{title}: {words:?}");
        }
    }

    #[test]
    fn what_is_admitted_has_no_refusal_to_say_anything() {
        let attempts = asked(Target::KUBE_POD_GROUP);
        let [shape, words, _] = rulings(Target::KUBE_POD_GROUP, &attempts, &[("a clique removed", 200, "")]);
        assert!(matches!(shape, Err(Broken::Violated(_))));
        assert_eq!(words, Ok(()));
    }

    #[test]
    fn every_part_of_the_shape_stays() {
        let attempts = asked(Target::KUBE_POD_GROUP);
        let is_of_order = |attempt: &Attempt| REORDERED.iter().any(|other| other.title == attempt.title);
        for attempt in &attempts {
            let wrong = if attempt.wanted == Wanted::Admitted { 422 } else { 200 };
            let found = rulings(Target::KUBE_POD_GROUP, &attempts, &[(attempt.title, wrong, "")]);
            let [shape, _, order] = found;
            let (broken, kept) = if is_of_order(attempt) { (order, shape) } else { (shape, order) };
            assert!(matches!(broken, Err(Broken::Violated(_))), "{}: {broken:?}", attempt.title);
            assert_eq!(kept, Ok(()), "{}", attempt.title);
        }
    }

    #[test]
    fn the_gang_scope_is_of_those_who_have_one() {
        assert_eq!(of_flat(&[]), Ok(()));
        let attempts = [SCOPE, &asked(Target::KUBE_POD_GANG)].concat();
        assert_eq!(ruling(Target::KUBE_POD_GANG, &attempts, &[]), Ok(()));
        assert!(ruling(Target::KUBE_POD_GANG, &attempts, &[("gang scope changed", 200, "")]).is_err());
    }

    #[test]
    fn an_operator_without_topology_is_not_asked_about_constraints() {
        let declared = BackendDeclaration { operator: "mine v1".into(), ..BackendDeclaration::default() };
        let target = Target::VOLCANO.declared_by(declared);
        let attempts = [SHAPE, REORDERED, &[GIVEN_AWAY]].concat();
        assert_eq!(ruling(target, &attempts, &[]), Ok(()));
        assert!(matches!(ruling(Target::VOLCANO, &attempts, &[]), Err(Broken::NotReached(_))));
    }

    #[test]
    fn another_scheduler_takes_another_backend() {
        let ruling = |otherwise: &[Otherwise<'_>]| {
            let story = reordered(Target::KUBE_POD_GROUP)
                .mark(SharedMark::AnotherBackend, json!({"asked": [], "foreign": true}))
                .mark(PASSED, Value::Null);
            let asked = asked(Target::KUBE_POD_GROUP);
            judge(&answered(story, &asked, otherwise).end()).remove(0).ruling
        };
        assert!(matches!(ruling(&[]), Err(Broken::NotAsked(_))), "{:?}", ruling(&[]));
        assert!(matches!(ruling(&[("a clique removed", 200, "")]), Err(Broken::Violated(_))));
    }

    #[rstest]
    #[case::not_at_all(|story: Story| story, true)]
    #[case::a_pod(|story: Story| story.deleted(object("Pod", "reordered-0-router-x")), false)]
    #[case::a_gang(|story: Story| story.deleted(object("PodGang", "reordered-0")), false)]
    #[case::more_of_them(|story: Story| story.added(object("PodGang", "reordered-1")), true)]
    fn another_order_makes_nothing_anew(#[case] then: fn(Story) -> Story, #[case] holds: bool) {
        let target = Target::KUBE_POD_GROUP;
        let story = then(reordered(target)).mark(PASSED, Value::Null);
        let ruling = nothing_recreated(&answered(story, REORDERED, &[]).end());
        assert_eq!(ruling.is_ok(), holds, "{ruling:?}");
        let early = nothing_recreated(&answered(reordered(target), REORDERED, &[]).end());
        assert!(matches!(early, Err(Broken::NotReached(_))), "{early:?}");
    }
}
