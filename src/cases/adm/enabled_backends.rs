//! The harness enables a second scheduler beside the default: `outside`, 2 pods, is for it. Another operator may have
//! another one, or none: then that half is not asked. Others name a scheduler that nobody knows, and one of Grove's that
//! the harness's configuration does not enable.

use conformance_contract::ruling::{Finding, Ruling};
use conformance_contract::target::KUBE;
use conformance_driver::admission_attempts::on;
use conformance_driver::case::Case;
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::limits::REACTION;
use conformance_expect as expect;
use conformance_history::{History, Pod};
use conformance_judge::admission::{Attempt, admitted, answers, refused};
use conformance_judge::{all, another_backend, backends, finding};

/// ADM-02.
pub(crate) const CASE: Case = Case::new(
    "An enabled scheduler gets what names it; one without an enabled backend is refused by name",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["ADM-02"]);

const SET: &str = "outside";

const ENABLED: &[Attempt] =
    &[admitted("a backend that is enabled", |pcs| pcs["metadata"]["name"] = SET.into())];

const NOT_ENABLED: &[Attempt] = &[
    refused("a scheduler that has no backend", &["nobodys-scheduler"], |pcs| on(pcs, "nobodys-scheduler")),
    refused("a backend that is not enabled", &["lpx-scheduler"], |pcs| on(pcs, "lpx-scheduler")),
];

/// Those that surely are not enabled; what of Grove's own another operator has enabled is its owner's to know.
fn not_enabled(is_foreign: bool) -> &'static [Attempt] {
    if is_foreign { &NOT_ENABLED[..1] } else { NOT_ENABLED }
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.creates(&test.manifest(SET)?, not_enabled(test.test_cluster.configured_by_others)).await?;
    // The default is default-scheduler.
    let other = test.another_backend(|target| !KUBE.contains(&target)).await?;
    let Some(other) = other else { return Ok(()) };
    let outside = test.manifest_for(other, SET)?;
    test.creates(&outside, ENABLED).await?;
    for gang in expect::gangs(&outside) {
        test.until("its PodGang and pods", REACTION, |live| {
            let is_its =
                |pod: &Pod<'_>| gang.groups.iter().any(|group| pod.pod_clique() == Some(&group.clique));
            gang.find(live).is_some() && live.pods().filter(is_its).count() == gang.pods()
        })
        .await?;
    }
    Ok(())
}

/// The PodCliqueSet for another enabled backend is admitted, and its pods are that one's.
fn served(history: &History) -> Ruling {
    let scheduler = another_backend::name(history)?;
    answers(history, ENABLED)?;
    backends::serves(history, SET, scheduler)
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("ADM-02", || {
        let attempts = not_enabled(another_backend::is_foreign(history)?);
        all([answers(history, attempts), served(history)])
    })]
}

#[cfg(test)]
mod tests {
    use conformance_contract::names;
    use conformance_contract::ruling::Broken;
    use conformance_history::SharedMark;
    use conformance_history::testing::{Story, object};
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::adm::answered::answered;

    /// As upstream's operator says it.
    const UPSTREAMS: &str = "spec.template.cliques.spec.podSpec.schedulerName: Invalid value: \"nobodys-scheduler\": \
        schedulerName must be an enabled scheduler backend";

    fn made(kind: &str, scheduler: &str) -> Value {
        let mut object = object(kind, "outside-0");
        object["metadata"]["labels"] = json!({names::PART_OF: SET, names::SCHEDULER_NAME: scheduler});
        object["spec"] = json!({"schedulerName": scheduler});
        object
    }

    /// A foreign operator with KAI beside its default.
    fn with_kai(otherwise: &[(&str, u16, &str)], scheduler: &str) -> Ruling {
        let story = Story::flat()
            .mark(SharedMark::AnotherBackend, json!({"scheduler": "kai-scheduler", "foreign": true}));
        let story = answered(story, &[ENABLED, not_enabled(true)].concat(), otherwise);
        let made = [made("PodGang", scheduler), made("Pod", scheduler)];
        judge(&story.all_added(made).end()).remove(0).ruling
    }

    #[rstest]
    #[case::in_its_own_words("a scheduler that has no backend", 403, UPSTREAMS, true)]
    #[case::shortly("a scheduler that has no backend", 422, "nobodys-scheduler: unknown", true)]
    #[case::without_its_name("a scheduler that has no backend", 422, "no such backend", false)]
    #[case::admitted("a scheduler that has no backend", 201, "", false)]
    #[case::refused("a backend that is enabled", 422, "kai-scheduler is not enabled", false)]
    fn another_operators_answers(
        #[case] title: &str,
        #[case] code: u16,
        #[case] says: &str,
        #[case] holds: bool,
    ) {
        let ruling = with_kai(&[(title, code, says)], "kai-scheduler");
        match holds {
            true => assert_eq!(ruling, Ok(())),
            false => assert!(matches!(ruling, Err(Broken::Violated(_))), "{ruling:?}"),
        }
    }

    #[test]
    fn what_is_admitted_is_for_the_backend_that_it_names() {
        assert!(matches!(with_kai(&[], "default-scheduler"), Err(Broken::Violated(_))));
    }

    #[test]
    fn an_operator_with_one_profile_is_asked_what_it_can_be_asked() {
        let ruling = |otherwise: &[(&str, u16, &str)]| {
            let asked = json!([{"scheduler": "conformance-external"}]);
            let story =
                Story::flat().mark(SharedMark::AnotherBackend, json!({"asked": asked, "foreign": true}));
            judge(&answered(story, not_enabled(true), otherwise).end()).remove(0).ruling
        };
        assert!(matches!(ruling(&[]), Err(Broken::NotAsked(_))), "{:?}", ruling(&[]));
        let admits_all = [("a scheduler that has no backend", 201, "")];
        assert!(matches!(ruling(&admits_all), Err(Broken::Violated(_))));
    }

    #[test]
    fn where_the_harness_configures_there_is_a_second_one() {
        let story = || {
            let mark = json!({"scheduler": "conformance-external", "foreign": false});
            let made = [made("PodGang", "conformance-external"), made("Pod", "conformance-external")];
            Story::flat().mark(SharedMark::AnotherBackend, mark).all_added(made)
        };
        let ruling = |attempts: &[Attempt], otherwise: &[(&str, u16, &str)]| {
            judge(&answered(story(), attempts, otherwise).end()).remove(0).ruling
        };
        let attempts = [ENABLED, NOT_ENABLED].concat();
        assert_eq!(ruling(&attempts, &[]), Ok(()));
        let knows_it = [("a backend that is not enabled", 201, "")];
        assert!(matches!(ruling(&attempts, &knows_it), Err(Broken::Violated(_))));
        let lacks_it = [("a backend that is enabled", 422, "conformance-external is not enabled")];
        assert!(matches!(ruling(&attempts, &lacks_it), Err(Broken::Violated(_))), "it was configured");
    }
}
