//! PodCliqueSet `pair` has a clique and a scaling group of one clique: two podgroups.

use conformance_driver::admission_attempts::{clique, group, required, template};

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("MNNVL and unsupported topology levels are refused with the reason").clauses(&[KOORD_04, KOORD_12]);

const AUTO: &str = "grove.io/auto-mnnvl";
const GROUP: &str = "grove.io/mnnvl-group";

const MNNVL: &[Attempt] = &[
    refused("MNNVL by the annotation of the proposals", &[AUTO], |pcs| annotate(pcs, AUTO, "enabled")),
    refused("MNNVL by the current annotation", &[GROUP], |pcs| annotate(pcs, GROUP, "fast")),
    refused("MNNVL of one clique", &[GROUP], |pcs| annotate(clique(pcs, 0), GROUP, "fast")),
];

const NO_MNNVL: &[Attempt] = &[admitted("no MNNVL by either annotation", |pcs| {
    annotate(pcs, AUTO, "disabled");
    annotate(pcs, GROUP, "none");
})];

const PAIR: &[Attempt] = &[
    refused("a level of a scaling group", &[], |pcs| {
        group(pcs, 0)["topologyConstraint"] = required("rack");
    }),
    refused("a level of one of two cliques", &[], |pcs| {
        clique(pcs, 0)["topologyConstraint"] = required("rack");
    }),
];

const SET: &[Attempt] = &[admitted("a level of the PodCliqueSet", |pcs| {
    template(pcs)["topologyConstraint"] = required("rack");
})];

/// A clique's template has its annotations outside of metadata.
fn annotate(object: &mut Value, key: &str, value: &str) {
    let holder = if object["metadata"].is_object() { &mut object["metadata"] } else { object };
    holder["annotations"][key] = value.into();
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let mut pair = test.manifest("pair")?;
    test.attempt_creates(&pair, &[MNNVL, NO_MNNVL].concat()).await?;
    pair["metadata"]["name"] = "packed-pair".into();
    test.attempt_creates(&pair, &[PAIR, SET].concat()).await
}

fn check(history: &History) -> Vec<Finding> {
    // The refusals prove nothing without these admissions, which other clauses require.
    let admitted_by = |clause, attempts| precondition(clause, answers(history, attempts));
    vec![
        finding(KOORD_04, || all([answers(history, MNNVL), admitted_by(ADM_04, NO_MNNVL)])),
        finding(KOORD_12, || all([answers(history, PAIR), admitted_by(ADM_09, SET)])),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rulings(overrides: &[Override<'_>]) -> [Ruling; 2] {
        let asked = [MNNVL, NO_MNNVL, PAIR, SET].concat();
        let found = check(&answered(Story::on(Target::KOORDINATOR), &asked, overrides).end());
        [found[0].ruling.clone(), found[1].ruling.clone()]
    }

    #[rstest]
    #[case::mnnvl(MNNVL, 0)]
    #[case::levels(PAIR, 1)]
    fn an_admitted_feature_that_koordinator_lacks_is_a_violation(
        #[case] attempts: &[Attempt],
        #[case] broken: usize,
    ) {
        assert_eq!(rulings(&[]), [Ok(()), Ok(())]);
        for attempt in attempts {
            let found = rulings(&[(attempt.title, 201, "")]);
            assert!(matches!(found[broken], Err(Broken::Violated(_))), "{}: {found:?}", attempt.title);
            assert_eq!(found[1 - broken], Ok(()));
        }
    }

    #[rstest]
    #[case::no_mnnvl(NO_MNNVL, ADM_04, 0)]
    #[case::of_the_set(SET, ADM_09, 1)]
    fn a_refused_valid_pod_clique_set_breaks_the_precondition(
        #[case] attempts: &[Attempt],
        #[case] wanted: &str,
        #[case] broken: usize,
    ) {
        let found = rulings(&[(attempts[0].title, 422, "")]);
        let Err(Broken::Precondition { clause, .. }) = &found[broken] else { panic!("{found:?}") };
        assert_eq!(*clause, wanted);
    }

    #[test]
    fn the_annotation_must_be_named() {
        let [mnnvl, _] = rulings(&[(MNNVL[0].title, 422, "MNNVL is not supported")]);
        assert!(matches!(mnnvl, Err(Broken::Violated(_))), "{mnnvl:?}");
    }
}
