//! PodCliqueSet `outside`, 2 pods, selects a second enabled scheduler, if the operator has one. Other
//! attempts select an unknown scheduler, and one of Grove's backends that the harness does not enable.

use conformance_check::{another_backend, backends};
use conformance_driver::admission_attempts::on;
use conformance_expect as expect;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A PodCliqueSet is admitted for an enabled scheduler and refused for any other")
        .clauses(&[ADM_02, ADM_14]);

const SET: &str = "outside";

const ENABLED: &[Attempt] = &[admitted("an enabled backend", |pcs| pcs["metadata"]["name"] = SET.into())];

const NOT_ENABLED: &[Attempt] = &[
    refused("a scheduler without a backend", &["nobodys-scheduler"], |pcs| on(pcs, "nobodys-scheduler")),
    refused("a backend that is not enabled", &["lpx-scheduler"], |pcs| on(pcs, "lpx-scheduler")),
];

/// An operator that the harness did not configure may have enabled any of Grove's backends.
fn not_enabled(is_foreign: bool) -> &'static [Attempt] {
    if is_foreign { &NOT_ENABLED[..1] } else { NOT_ENABLED }
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.attempt_creates(&test.manifest(SET)?, not_enabled(test.test_cluster.configured_by_others)).await?;
    // default-scheduler is the default backend, so it does not count as a second one.
    let other = test.another_backend(|target| !KUBE.contains(&target)).await?;
    let Some(other) = other else { return Ok(()) };
    let outside = test.manifest_for(other, SET)?;
    test.attempt_creates(&outside, ENABLED).await?;
    for gang in expect::gangs(&outside) {
        let created = Awaited::demanded_by(ADM_14, "the PodGang and pods of the enabled backend created");
        test.until(created, REACTION, |live| {
            let of_gang =
                |pod: &Pod<'_>| gang.groups.iter().any(|group| pod.pod_clique() == Some(&group.clique));
            gang.find(live).is_some() && live.pods().filter(of_gang).count() == gang.pods()
        })
        .await?;
    }
    Ok(())
}

fn served(history: &History) -> Ruling {
    let scheduler = another_backend::name(history)?;
    answers(history, ENABLED)?;
    backends::serves(history, SET, scheduler)
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(ADM_02, || answers(history, not_enabled(another_backend::is_foreign(history)?))),
        finding(ADM_14, || served(history)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const UPSTREAMS: &str = "spec.template.cliques.spec.podSpec.schedulerName: Invalid value: \"nobodys-scheduler\": \
        schedulerName must be an enabled scheduler backend";

    fn object_for(kind: &str, scheduler: &str) -> Value {
        let mut object = object(kind, "outside-0");
        object["metadata"]["labels"] = json!({names::PART_OF: SET, names::SCHEDULER_NAME: scheduler});
        object["spec"] = json!({"schedulerName": scheduler});
        object
    }

    fn rulings(history: &History) -> [Ruling; 2] {
        let found = check(history).into_iter().map(|finding| finding.ruling);
        found.collect::<Vec<_>>().try_into().unwrap()
    }

    fn with_kai(overrides: &[(&str, u16, &str)], scheduler: &str) -> [Ruling; 2] {
        let story = Story::flat()
            .mark(SharedMark::AnotherBackend, json!({"scheduler": "kai-scheduler", "foreign": true}));
        let story = answered(story, &[ENABLED, not_enabled(true)].concat(), overrides);
        let objects = [object_for("PodGang", scheduler), object_for("Pod", scheduler)];
        rulings(&story.all_added(objects).end())
    }

    #[rstest]
    #[case::in_its_own_words("a scheduler without a backend", 403, UPSTREAMS, [true, true])]
    #[case::shortly("a scheduler without a backend", 422, "nobodys-scheduler: unknown", [true, true])]
    #[case::without_its_name("a scheduler without a backend", 422, "no such backend", [false, true])]
    #[case::admitted("a scheduler without a backend", 201, "", [false, true])]
    #[case::refused("an enabled backend", 422, "kai-scheduler is not enabled", [true, false])]
    fn each_wrong_answer_of_a_foreign_operator_breaks_its_clause(
        #[case] title: &str,
        #[case] code: u16,
        #[case] says: &str,
        #[case] pass: [bool; 2],
    ) {
        for (ruling, passes) in with_kai(&[(title, code, says)], "kai-scheduler").into_iter().zip(pass) {
            if passes {
                assert_eq!(ruling, Ok(()));
            } else {
                assert!(matches!(ruling, Err(Broken::Violated(_))), "{ruling:?}");
            }
        }
    }

    #[test]
    fn pods_of_another_scheduler_are_a_violation() {
        let [rejection, service] = with_kai(&[], "default-scheduler");
        assert_eq!(rejection, Ok(()));
        assert!(matches!(service, Err(Broken::Violated(_))), "{service:?}");
    }

    #[test]
    fn with_one_profile_only_the_refusal_is_checked() {
        let found = |overrides: &[(&str, u16, &str)]| {
            let asked = json!([{"scheduler": "conformance-external"}]);
            let story =
                Story::flat().mark(SharedMark::AnotherBackend, json!({"asked": asked, "foreign": true}));
            rulings(&answered(story, not_enabled(true), overrides).end())
        };
        let [rejection, service] = found(&[]);
        assert_eq!(rejection, Ok(()));
        assert!(matches!(service, Err(Broken::NotAsked(_))), "{service:?}");
        let [rejection, _] = found(&[("a scheduler without a backend", 201, "")]);
        assert!(matches!(rejection, Err(Broken::Violated(_))), "{rejection:?}");
    }

    #[test]
    fn an_operator_configured_by_the_harness_must_admit_the_second_scheduler() {
        let story = || {
            let mark = json!({"scheduler": "conformance-external", "foreign": false});
            let objects =
                [object_for("PodGang", "conformance-external"), object_for("Pod", "conformance-external")];
            Story::flat().mark(SharedMark::AnotherBackend, mark).all_added(objects)
        };
        let attempts = [ENABLED, NOT_ENABLED].concat();
        let found = |overrides: &[(&str, u16, &str)]| rulings(&answered(story(), &attempts, overrides).end());
        assert_eq!(found(&[]), [Ok(()), Ok(())]);
        let [rejection, service] = found(&[("a backend that is not enabled", 201, "")]);
        assert!(matches!(rejection, Err(Broken::Violated(_))), "{rejection:?}");
        assert_eq!(service, Ok(()));
        let lacks_it = [("an enabled backend", 422, "conformance-external is not enabled")];
        let [rejection, service] = found(&lacks_it);
        assert_eq!(rejection, Ok(()));
        assert!(matches!(service, Err(Broken::Violated(_))), "it was configured: {service:?}");
    }
}
