//! 1 node; a base PodGang of 3 podgroups with 2 + 1 + 2 required pods, and a scaled PodGang. One podgroup
//! also has surplus pods, and two belong to a topology constraint of their scaling group. Then a third party
//! writes to the base PodGroup, and the case makes the backend write this PodGroup again. Finally, a clique
//! is scaled from 3 pods to 2, which changes the PodGang.

use conformance_check::{foreign_fields, invariants, pods};
use conformance_driver::admission_attempts::group;
use conformance_expect::schedulers::kai::{POD_GROUP, SKIP};
use conformance_facts::pod_gangs::as_created;
use conformance_history::{Change, condition, is_owned_by};

use crate::prelude::*;

const NOT_PASSED_ON: Code = Code::new("not-propagated");
const PODGROUPER_NOT_SKIPPED: Code = Code::new("podgrouper-not-skipped");

pub(crate) const CASE: Case =
    case!("A PodGang gets one PodGroup with subgroups, ignored by KAI's podgrouper")
        .clauses(&[KAI_01, KAI_02, KAI_03, KAI_10, KAI_11])
        .nodes(&[nodes(1).block("b").rack("r")]);

const SET: &str = "mapped";

marks! {
    PROCESSED = "a later sync";
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let mut mapped = test.manifest(SET)?;
    if !test.target.declares(Feature::TopologyPerGroup) {
        group(&mut mapped, 0)["topologyConstraint"] = Value::Null;
    }
    test.submit_value(mapped).await?;
    test.until_converged(SET).await?;
    let foreign = json!({"metadata": {"labels": {"example.com/team": "red"}, "annotations": {"example.com/cost": "7"}}});
    let gang = test.base_gang(SET)?;
    test.patch_as_another_client(POD_GROUP, gang.named_after(), foreign).await?;
    test.provoke_repair(POD_GROUP, gang.named_after(), "minMember", json!(1)).await?;
    let router = gang.groups.iter().find(|group| group.template == "router");
    let Some(router) = router else { return Ok(()) };
    test.scale("PodClique", &router.clique, 2).await?;
    test.until_converged(SET).await?;
    test.mark(PROCESSED, Value::Null);
    Ok(())
}

/// A PodGroup must have the labels and annotations of its PodGang. If several PodGangs share the PodGroup, it
/// needs only those that come from the PodCliqueSet.
fn metadata_is_copied(history: &History, live: &Live, all: &[Gang]) -> Ruling {
    none(all.iter().filter_map(|gang| {
        let (created, _) = as_created(history, &gang.name)?;
        let pod_group = live.get(POD_GROUP, gang.named_after())?;
        let shared_by = live.get("PodCliqueSet", &gang.set).filter(|set| is_owned_by(pod_group, set));
        let missing = ["labels", "annotations"].into_iter().find_map(|field| {
            let of_gang = created.object["metadata"][field].as_object()?;
            let differs = |(key, value): &(&String, &Value)| {
                let is_passed_on = shared_by.is_none_or(|set| set["metadata"][field][*key] == **value);
                is_passed_on && pod_group["metadata"][field][*key] != **value
            };
            of_gang.iter().find(differs).map(|(key, _)| key)
        })?;
        let message = format!(
            "PodGroup {}: {missing} is missing, want it copied from PodGang {}",
            gang.named_after(),
            gang.name
        );
        Some(
            violation(NOT_PASSED_ON, message)
                .shown_by("the PodGang", created)
                .shown_by_object("the PodGroup", pod_group),
        )
    }))
}

/// Every pod, and every initialized PodGang, must have the annotation that makes KAI's podgrouper ignore it.
fn podgrouper_skips(history: &History) -> Ruling {
    let is_initialized =
        |object| condition(object, "Initialized").is_some_and(|found| found["status"] == "True");
    let pod_gangs = history.of("PodGang").filter(|version| is_initialized(version.object));
    let all = history.pods().chain(pod_gangs).filter(|version| version.change != Change::Deleted);
    none(all.filter(|version| version.object["metadata"]["annotations"][SKIP] != "true").map(|version| {
        violation(
            PODGROUPER_NOT_SKIPPED,
            format!("{} {}: annotation {SKIP}=true is missing", version.kind(), version.name()),
        )
        .shown_by("the object", version)
    }))
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(KAI_01, || {
            history.waited_for(SharedMark::Converged)?;
            gang_resources::match_pod_gangs(history, &history.end(), &history.gangs(SET)?)?;
            history.reached(PROCESSED).map(drop)
        }),
        finding(KAI_02, || {
            history.waited_for(SharedMark::Converged)?;
            podgrouper_skips(history)?;
            history.reached(PROCESSED).map(drop)
        }),
        finding(KAI_03, || pods::created_as_members(history, &history.gangs(SET)?)),
        finding(KAI_10, || {
            history.waited_for(SharedMark::Converged)?;
            let gangs = history.gangs(SET)?;
            gang_resources::were_created(history, &gangs)?;
            metadata_is_copied(history, &history.end(), &gangs)?;
            foreign_fields::kept(history)?;
            history.reached(PROCESSED).map(drop)
        }),
        finding(KAI_11, || {
            history.waited_for(SharedMark::Converged)?;
            gang_resources::were_created(history, &history.gangs(SET)?)?;
            invariants::admitted_by_kai(history)?;
            history.reached(PROCESSED).map(drop)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD_GANG: &str = "mapped-0";

    fn annotated(kind: &str, skip: Value) -> Value {
        let mut object = object(kind, POD_GANG);
        object["metadata"]["annotations"] = json!({SKIP: skip});
        object["metadata"]["labels"] = json!({"a": "1"});
        object["spec"] = json!({"podgroups": [{"name": "p", "minReplicas": 1}]});
        object["status"] = json!({"conditions": [{"type": "Initialized", "status": "True"}]});
        object
    }

    #[rstest]
    #[case::both(json!("true"), json!("true"), true)]
    #[case::missing_on_the_pod(json!("true"), Value::Null, false)]
    #[case::missing_on_the_pod_gang(Value::Null, json!("true"), false)]
    #[case::another_value(json!(true), json!("true"), false)]
    fn a_missing_skip_annotation_is_a_violation(
        #[case] gang: Value,
        #[case] pod: Value,
        #[case] passes: bool,
    ) {
        let story = Story::on(Target::KAI).added(annotated("PodGang", gang)).added(annotated("Pod", pod));
        assert_eq!(podgrouper_skips(&story.end()).is_ok(), passes);
    }

    #[test]
    fn the_skip_annotation_may_come_late_but_must_stay() {
        let mut early = annotated("PodGang", Value::Null);
        early["status"] = Value::Null;
        let story =
            || Story::on(Target::KAI).added(early.clone()).modified(annotated("PodGang", json!("true")));
        assert_eq!(podgrouper_skips(&story().end()), Ok(()));
        assert!(podgrouper_skips(&story().modified(annotated("PodGang", Value::Null)).end()).is_err());
    }

    #[test]
    fn labels_and_annotations_must_be_copied() {
        let gang = Gang::named_only(POD_GANG);
        let ruling = |pod_group: Value| {
            let story = Story::on(Target::KAI).added(annotated("PodGang", json!("true"))).added(pod_group);
            let history = story.end();
            metadata_is_copied(&history, &history.end(), std::slice::from_ref(&gang))
        };
        assert_eq!(ruling(annotated(POD_GROUP, json!("true"))), Ok(()));
        assert!(ruling(annotated(POD_GROUP, Value::Null)).is_err());
        let mut unlabelled = annotated(POD_GROUP, json!("true"));
        unlabelled["metadata"]["labels"] = json!({});
        assert!(ruling(unlabelled).is_err());
    }

    #[test]
    fn a_shared_pod_group_needs_only_the_labels_of_the_pod_clique_set() {
        let gang =
            Gang { set: SET.into(), joined: Some("grove-mapped-0".into()), ..Gang::named_only(POD_GANG) };
        let ruling = |labels: Value| {
            let mut set = object("PodCliqueSet", SET);
            set["metadata"]["labels"] = json!({"a": "1"});
            let mut found = owned(object(POD_GROUP, "grove-mapped-0"), "PodCliqueSet", SET);
            found["metadata"]["labels"] = labels;
            let story =
                Story::on(Target::KAI).added(set).added(annotated("PodGang", json!("true"))).added(found);
            let history = story.end();
            metadata_is_copied(&history, &history.end(), std::slice::from_ref(&gang))
        };
        assert_eq!(ruling(json!({"a": "1"})), Ok(()), "the annotation is the PodGang's own");
        assert!(ruling(json!({"a": "2"})).is_err());
        assert!(ruling(json!({})).is_err());
    }
}
