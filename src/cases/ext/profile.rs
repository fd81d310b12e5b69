//! PodCliqueSet `packed`, one clique, requests a topology level, which the operator's profile does not
//! declare. Then the case starts the operator with invalid profiles.

use conformance_check::configuration::prevents_start;
use conformance_contract::names::TOPOLOGY;
use conformance_driver::admission_attempts::{clique, required, template};
use conformance_facts::configuration::Flaw;

use crate::prelude::*;

pub(crate) const CASE: Case = case!(
    "Topology is refused unless declared, and an invalid profile stops the controller's start",
    restored
)
.clauses(&[EXT_02, EXT_05])
.needs(&[Need::ReferenceController])
.isolation(Isolation::Dedicated);

/// The refusals prove nothing without this admission, which ADM-14 requires.
const UNCONSTRAINED: &[Attempt] = &[admitted("no topology", |_| {})];

const UNDECLARED: &[Attempt] = &[
    refused("a required level that is not declared", &[], |pcs| {
        template(pcs)["topologyConstraint"] = required("rack");
    }),
    refused("a required level of a clique that is not declared", &[], |pcs| {
        clique(pcs, 0)["topologyConstraint"] = required("rack");
    }),
    admitted("a preferred level that is not declared", |pcs| {
        template(pcs)["topologyConstraint"] =
            json!({"topologyName": TOPOLOGY, "pack": {"preferred": "rack"}});
    })
    .with_warning(&["preferred|rack|topology"]),
];

const FLAWS: &[Flaw] = &[
    Flaw {
        title: "an unknown config field",
        words: &["scheduler.profiles[", "config", "topologyConstraint"],
        edit: |configuration| external(configuration)["config"] = json!({"topologyConstraint": true}),
    },
    Flaw {
        title: "the name of a built-in backend",
        words: &["scheduler.profiles[", "name"],
        edit: |configuration| external(configuration)["name"] = "volcano".into(),
    },
    Flaw {
        title: "two profiles with the same name",
        words: &["scheduler.profiles[", "name"],
        edit: |configuration| {
            let duplicate = external(configuration).clone();
            if let Some(profiles) = profiles(configuration).as_array_mut() {
                profiles.push(duplicate);
            }
        },
    },
];

fn profiles(configuration: &mut Value) -> &mut Value {
    &mut configuration["scheduler"]["profiles"]
}

fn external(configuration: &mut Value) -> &mut Value {
    let profiles = profiles(configuration);
    let last = profiles.as_array().map_or(0, Vec::len).saturating_sub(1);
    &mut profiles[last]
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let packed = test.manifest("packed")?;
    test.attempt_creates(&packed, &[UNDECLARED, UNCONSTRAINED].concat()).await?;
    test.start_with_flaws(FLAWS).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(EXT_02, || {
            all([answers(history, UNDECLARED), precondition(ADM_14, answers(history, UNCONSTRAINED))])
        }),
        finding(EXT_05, || prevents_start(history, FLAWS)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruling(overrides: &[Override<'_>]) -> Ruling {
        let asked = [UNDECLARED, UNCONSTRAINED].concat();
        check(&answered(Story::on(Target::EXTERNAL), &asked, overrides).end()).remove(0).ruling
    }

    #[rstest]
    #[case::refused_in_words_of_its_own(UNDECLARED[0].title, 422, "no", true)]
    #[case::admitted(UNDECLARED[0].title, 201, "", false)]
    #[case::admitted_on_a_clique(UNDECLARED[1].title, 201, "", false)]
    #[case::warned(UNDECLARED[2].title, 201, "topologyConstraint has no effect", true)]
    #[case::without_a_warning(UNDECLARED[2].title, 201, "", false)]
    #[case::refused_preference(UNDECLARED[2].title, 422, "preferred", false)]
    fn an_undeclared_level_is_refused_or_warned_about(
        #[case] title: &str,
        #[case] code: u16,
        #[case] says: &str,
        #[case] passes: bool,
    ) {
        let ruling = ruling(&[(title, code, says)]);
        assert!(matches!(ruling, Ok(()) | Err(Broken::Violated(_))), "{ruling:?}");
        assert_eq!(ruling.is_ok(), passes, "{ruling:?}");
    }

    #[test]
    fn a_backend_that_admits_nothing_breaks_the_precondition() {
        let ruling = ruling(&[(UNCONSTRAINED[0].title, 422, "")]);
        assert!(matches!(ruling, Err(Broken::Precondition { clause: ADM_14, .. })), "{ruling:?}");
    }
}
