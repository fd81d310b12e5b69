//! 1 node; a base PodGang of 3 podgroups, 5 pods + 1 surplus, and a scaled one of 2 podgroups, 3 pods.

use conformance_check::gang_groups::annotation;
use conformance_check::{gang_groups, pods};
use conformance_expect::schedulers::koordinator::POD_GROUP;
use conformance_facts::gang_resources::is_gang_resource;

use super::profile::NOT_AS_ANNOTATED;
use crate::prelude::*;

pub(crate) const CASE: Case = case!("A PodGang becomes a GangGroup with one PodGroup per podgroup")
    .clauses(&[KOORD_01, KOORD_02])
    .nodes(&[nodes(1)]);

const SET: &str = "served";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    test.until_resources_match(SET).await
}

/// Requires the settings that the operator's declaration contains (KOORD-06).
fn has_declared_settings(history: &History) -> Ruling {
    let (target, end) = (history.header.target, history.end());
    let pod_groups = end.of(POD_GROUP).filter(|found| is_gang_resource(found));
    none(pod_groups.flat_map(|found| {
        let settings = [
            ("gangMode", annotation(found, "mode")),
            ("matchPolicy", annotation(found, "match-policy")),
            ("scheduleTimeoutSeconds", &found["spec"]["scheduleTimeoutSeconds"]),
        ];
        settings.into_iter().filter_map(move |(setting, value)| {
            let wanted = target.configured(setting).filter(|wanted| *wanted != value)?;
            let name = text(&found["metadata"]["name"]);
            let message = format!("PodGroup {name}: {setting} is {value}, want {wanted}");
            Some(violation(NOT_AS_ANNOTATED, message).shown_by_object("the PodGroup", found))
        })
    }))
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(KOORD_01, || {
            history.waited_for(SharedMark::Converged)?;
            let (end, gangs) = (history.end(), history.gangs(SET)?);
            gang_resources::match_pod_gangs(history, &end, &gangs)?;
            gang_groups::named_by_pods(&end, &gangs)?;
            gangs.iter().try_for_each(|gang| gang_groups::complete(&end, &gang.name))
        }),
        finding(KOORD_02, || {
            pods::created_as_members(history, &history.gangs(SET)?)?;
            pods::created_for_scheduler(history, history.header.target.backend())
        }),
        // Not a clause of the case: without declared settings, nothing would be judged. `koord/profile` needs
        // an operator that the suite configures.
        finding(KOORD_06, || has_declared_settings(history)),
    ]
}

#[cfg(test)]
mod tests {
    use conformance_contract::backend_declaration::BackendDeclaration;

    use super::*;

    fn ruling(mode: &str) -> Ruling {
        let configuration = json!({"gangMode": "NonStrict"}).as_object().cloned().unwrap_or_default();
        let declared =
            BackendDeclaration { operator: "mine v1".into(), configuration, ..BackendDeclaration::default() };
        let mut found = object(POD_GROUP, "served-0-a");
        found["metadata"]["annotations"] = json!({"gang.scheduling.koordinator.sh/mode": mode});
        let story = Story::on(Target::KOORDINATOR.declared_by(declared)).added(found);
        has_declared_settings(&story.end())
    }

    #[test]
    fn a_setting_other_than_the_declared_one_is_a_violation() {
        assert_eq!(ruling("NonStrict"), Ok(()));
        assert!(matches!(ruling("Strict"), Err(Broken::Violated(_))));
    }
}
