//! PodCliqueSet `fixed-shape` has a clique and a scaling group of two cliques. `fixed-alone` and
//! `fixed-grouped` have one clique each, so every target accepts the topology constraints that it honours.
//! The updates are dry runs, so one that is admitted by mistake does not affect the next. An update may
//! reorder cliques and recreates nothing. Once `reordered` is scaled, the operator has reconciled its order.

use std::sync::LazyLock;

use conformance_check::admission::{self, refusals_contain_words};
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
        let mut added = clique(pcs, 0).clone();
        added["name"] = "one-more".into();
        added["spec"]["roleName"] = "one-more".into();
        list(&mut template(pcs)["cliques"]).push(added);
    }),
    refused("a clique removed", RECREATE, |pcs| {
        list(&mut template(pcs)["cliques"]).remove(0);
    }),
    refused("a clique renamed", RECREATE, |pcs| clique(pcs, 0)["name"] = "gateway".into()),
    refused("a clique of a scaling group renamed", RECREATE, |pcs| {
        clique(pcs, 2)["name"] = "gateway".into();
        group(pcs, 0)["cliqueNames"] = json!(["leader", "gateway"]);
    }),
    refused("minAvailable of a clique changed", RECREATE, |pcs| {
        clique(pcs, 0)["spec"]["minAvailable"] = 2.into();
    }),
    refused("minAvailable of the last clique changed", RECREATE, |pcs| {
        clique(pcs, 2)["spec"]["minAvailable"] = 1.into();
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
        let added = json!({"name": "edge", "replicas": 1, "minAvailable": 1, "cliqueNames": ["router"]});
        list(&mut template(pcs)["podCliqueScalingGroups"]).push(added);
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
    refused("startsAfter added to the last clique", RECREATE, |pcs| {
        clique(pcs, 2)["spec"]["startsAfter"] = json!(["leader"]);
    }),
];

/// Adds a constraint at each place, or changes it, moves it to another topology or removes it.
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

fn constraints(target: Target, is_meant: impl Fn(Place, bool) -> bool) -> Vec<Attempt> {
    let rows = CONSTRAINTS
        .iter()
        .filter(|(place, is_added, _)| place.is_honoured(target, "required") && is_meant(*place, *is_added));
    rows.map(|(_, _, row)| Attempt { words: RECREATE, ..row.attempt() }).collect()
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
    test.attempt_dry_updates("fixed-shape", SHAPE).await?;
    let own = test.target.backend();
    let other = test.another_backend(|target| target.backend() != own).await?;
    // A backend that is not enabled is refused for that reason (ADM-02), so look for an enabled one.
    if let Some(backend) = other.and_then(backends::of) {
        test.attempt_dry_updates("fixed-shape", &[backend.switch_to_it]).await?;
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
            test.attempt_dry_updates(&name, &meant).await?;
        }
    }
    test.submit("reordered").await?;
    test.until_bound(3).await?;
    test.mark(RUNNING, Value::Null);
    test.attempt_updates("reordered", REORDERED).await?;
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

fn answered_by(history: &History, rule: impl Fn(&[Attempt]) -> Ruling) -> Ruling {
    let constraints = constraints(history.header.target, |_, _| true);
    let switched = || {
        another_backend::name(history)?;
        rule(&[ext::admission::BACKEND.switch_to_it])
    };
    all([rule(&[SHAPE, &constraints].concat()), switched()])
}

fn check(history: &History) -> Vec<Finding> {
    let answer_only = |attempts: &[Attempt]| {
        answers(history, &attempts.iter().map(|attempt| attempt.answer_only()).collect::<Vec<_>>())
    };
    let saying_recreate = |attempts: &[Attempt]| refusals_contain_words(history, attempts);
    vec![
        finding(ADM_03, || answered_by(history, answer_only)),
        finding(ADM_12, || answered_by(history, saying_recreate)),
        finding(ADM_13, || nothing_recreated(history)),
    ]
}

#[cfg(test)]
mod tests {
    use conformance_contract::backend_declaration::BackendDeclaration;

    use super::*;

    const SWITCHED: Attempt = backends::switch_to(|_| {});

    fn asked(target: Target) -> Vec<Attempt> {
        [SHAPE, &constraints(target, |_, _| true), REORDERED, &[SWITCHED]].concat()
    }

    fn reordered(target: Target) -> Story {
        Story::on(target)
            .added(object("PodGang", "reordered-0"))
            .added(object("Pod", "reordered-0-router-x"))
            .mark(RUNNING, Value::Null)
    }

    fn rulings(target: Target, attempts: &[Attempt], overrides: &[Override<'_>]) -> [Ruling; 3] {
        let story = reordered(target)
            .mark(SharedMark::AnotherBackend, json!({"scheduler": "volcano", "foreign": true}))
            .mark(PASSED, Value::Null);
        let found = check(&answered(story, attempts, overrides).end());
        found.into_iter().map(|finding| finding.ruling).collect::<Vec<_>>().try_into().unwrap()
    }

    fn ruling(target: Target, attempts: &[Attempt], overrides: &[Override<'_>]) -> Ruling {
        let [ruling, ..] = rulings(target, attempts, overrides);
        ruling
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
    fn a_refusal_advises_the_user_to_recreate(#[case] says: &str, #[case] passes: bool) {
        for title in ["a clique renamed", "scheduler changed", "a topology constraint of the clique removed"]
        {
            let attempts = asked(Target::KUBE_POD_GROUP);
            let [shape, words, _] = rulings(Target::KUBE_POD_GROUP, &attempts, &[(title, 422, says)]);
            assert_eq!(shape, Ok(()), "ADM-03 does not check the text");
            assert_eq!(words.is_ok(), passes, "{title}: {words:?}");
        }
    }

    #[test]
    fn an_admitted_change_has_no_refusal_text_to_check() {
        let attempts = asked(Target::KUBE_POD_GROUP);
        let [shape, words, _] = rulings(Target::KUBE_POD_GROUP, &attempts, &[("a clique removed", 200, "")]);
        assert!(matches!(shape, Err(Broken::Violated(_))));
        assert_eq!(words, Ok(()));
    }

    #[test]
    fn each_wrong_answer_breaks_its_clause() {
        let attempts = asked(Target::KUBE_POD_GROUP);
        let is_reorder = |attempt: &Attempt| REORDERED.iter().any(|other| other.title == attempt.title);
        for attempt in &attempts {
            let wrong = if attempt.wanted == Wanted::Admitted { 422 } else { 200 };
            let found = rulings(Target::KUBE_POD_GROUP, &attempts, &[(attempt.title, wrong, "")]);
            let [shape, _, order] = found;
            let (broken, kept) = if is_reorder(attempt) { (order, shape) } else { (shape, order) };
            assert!(matches!(broken, Err(Broken::Violated(_))), "{}: {broken:?}", attempt.title);
            assert_eq!(kept, Ok(()), "{}", attempt.title);
        }
    }

    #[test]
    fn an_operator_without_topology_is_not_asked_about_constraints() {
        let declared = BackendDeclaration { operator: "mine v1".into(), ..BackendDeclaration::default() };
        let target = Target::VOLCANO.declared_by(declared);
        let attempts = [SHAPE, REORDERED, &[SWITCHED]].concat();
        assert_eq!(ruling(target, &attempts, &[]), Ok(()));
        assert!(matches!(ruling(Target::VOLCANO, &attempts, &[]), Err(Broken::NotReached(_))));
    }

    #[test]
    fn without_another_backend_a_switch_is_not_asked() {
        let ruling = |overrides: &[Override<'_>]| {
            let story = reordered(Target::KUBE_POD_GROUP)
                .mark(SharedMark::AnotherBackend, json!({"asked": [], "foreign": true}))
                .mark(PASSED, Value::Null);
            let asked = asked(Target::KUBE_POD_GROUP);
            check(&answered(story, &asked, overrides).end()).remove(0).ruling
        };
        assert!(matches!(ruling(&[]), Err(Broken::NotAsked(_))), "{:?}", ruling(&[]));
        assert!(matches!(ruling(&[("a clique removed", 200, "")]), Err(Broken::Violated(_))));
    }

    #[rstest]
    #[case::not_at_all(|story: Story| story, true)]
    #[case::a_pod(|story: Story| story.deleted(object("Pod", "reordered-0-router-x")), false)]
    #[case::a_gang(|story: Story| story.deleted(object("PodGang", "reordered-0")), false)]
    #[case::a_second_gang(|story: Story| story.added(object("PodGang", "reordered-1")), true)]
    fn recreated_objects_are_a_violation(#[case] then: fn(Story) -> Story, #[case] passes: bool) {
        let target = Target::KUBE_POD_GROUP;
        let story = then(reordered(target)).mark(PASSED, Value::Null);
        let ruling = nothing_recreated(&answered(story, REORDERED, &[]).end());
        assert_eq!(ruling.is_ok(), passes, "{ruling:?}");
        let early = nothing_recreated(&answered(reordered(target), REORDERED, &[]).end());
        assert!(matches!(early, Err(Broken::NotReached(_))), "{early:?}");
    }
}
