use conformance_check::codes;
use conformance_contract::clauses::clause;
use conformance_history::testing::{Story, object, one_clique};
use serde_json::json;

use super::*;
use crate::{draw_actions, draw_contention, draw_extras};

#[test]
fn a_workload_that_is_one_pod_short_is_not_bound_whole() {
    let ruling = |bound: usize| {
        let story = Story::flat().submitted(one_clique("w", 2)).workers("w", 2, bound);
        let history = story.mark(SharedMark::SchedulerPassed, Value::Null).end();
        Checks { history: &history, pcs: "w" }.ruling("AON-02")
    };
    assert_eq!(ruling(1), Ok(()));
    assert_eq!(codes(ruling(2)), ["bound-without-capacity"]);
}

const KIND: &str = "PodGroup.scheduling.volcano.sh";

#[test]
fn a_gang_resource_without_the_edited_part_proves_nothing() {
    let story = Story::on(Target::KOORDINATOR).submitted(one_clique("w", 2));
    let story = story.mark(SharedMark::OperatorIdle, Value::Null).mark(OPERATION, Value::Null);
    let history = story.mark(SharedMark::OperatorIdle, Value::Null).end();
    let ruling = Checks { history: &history, pcs: "w" }.ruling("GANG-12");
    assert!(matches!(ruling, Err(Broken::NotAsked(_))), "{ruling:?}");
}

#[rstest::rstest]
#[case::reverted("w", &[])]
#[case::stayed("edited", &["edit-stayed"])]
fn an_edit_of_a_gang_resource_is_reverted(#[case] after: &str, #[case] wanted: &[&str]) {
    let resource = |label: &str| {
        let mut found = object(KIND, "w-0");
        found["metadata"]["labels"] = json!({"team": label});
        found
    };
    let edit = json!({"kind": KIND, "name": "w-0", "pointer": "/metadata/labels/team", "before": "w"});
    let story = Story::on(Target::VOLCANO).submitted(one_clique("w", 2)).added(resource("w"));
    let story = story.mark(SharedMark::OperatorIdle, Value::Null).mark(OPERATION, Value::Null);
    let story = story.mark(EDITED, edit).modified(resource(after));
    let history = story.mark(SharedMark::OperatorIdle, Value::Null).end();
    assert_eq!(codes(Checks { history: &history, pcs: "w" }.ruling("GANG-12")), wanted);
}

#[test]
fn each_replica_needs_a_service_until_the_deletion() {
    let mut set = one_clique("w", 2);
    set["spec"]["replicas"] = 1.into();
    let ruling = |story: Story| {
        let history = story.added(set.clone()).mark(SharedMark::OperatorIdle, Value::Null).end();
        Checks { history: &history, pcs: "w" }.ruling("GANG-28")
    };
    let story = || Story::flat().submitted(set.clone());
    assert_eq!(codes(ruling(story())), ["service-missing"]);
    let deleted = json!({"kind": "PodCliqueSet", "name": "w"});
    assert_eq!(ruling(story().mark(SharedMark::Deleted, deleted)), Ok(()));
}

#[test]
fn only_the_second_of_two_scalings_in_one_operation_counts() {
    let operation = Operation::RestartOperator.at(Moment::AtZero);
    let operation = json!({"operation": serde_json::to_value(&operation).unwrap()});
    let ruling = |scalings: &[u32]| {
        let story = Story::flat().submitted(one_clique("w", 2)).mark(SharedMark::OperatorIdle, Value::Null);
        let story = scalings.iter().fold(story.mark(OPERATION, operation.clone()), |story, replicas| {
            let scaled = json!({"kind": "PodCliqueSet", "name": "w", "replicas": replicas});
            story.mark(SharedMark::Scaled, scaled)
        });
        let history = story.mark(SharedMark::OperatorIdle, Value::Null).end();
        Checks { history: &history, pcs: "w" }.ruling("GANG-10")
    };
    assert_eq!(ruling(&[0]), Ok(()), "no PodGang exists");
    assert!(!codes(ruling(&[1])).is_empty(), "a PodGang is missing");
    assert_eq!(ruling(&[1, 0]), Ok(()));
    assert_eq!(ruling(&[0, 1]), ruling(&[1]));
}

#[test]
fn pods_of_an_old_template_violate_the_update() {
    let change = Operation::ChangeTemplate {
        clique: "worker".into(),
        field: crate::workload::TemplateField::Labels,
        revision: 2,
    };
    let operation = json!({"operation": serde_json::to_value(&change).unwrap()});
    let mut changed = one_clique("w", 1);
    changed["spec"]["template"]["cliques"][0]["labels"] = json!({"example.com/revision": "2"});
    let story = Story::flat().submitted(one_clique("w", 1)).workers("w", 1, 1).added(changed);
    let story = story.mark(SharedMark::OperatorIdle, Value::Null).mark(OPERATION, operation);
    let history = story.mark(SharedMark::OperatorIdle, Value::Null).end();
    let ruling = Checks { history: &history, pcs: "w" }.ruling("UPD-01");
    assert_eq!(codes(ruling), ["update-not-ended"]);
}

#[test]
fn the_deletion_is_not_judged_after_a_timeout_before_it() {
    let story = Story::flat().submitted(one_clique("w", 2)).workers("w", 2, 1);
    let history = story.mark(SharedMark::WaitTimedOut, Value::Null).end();
    let ruling = Checks { history: &history, pcs: "w" }.ruling("DEL-01");
    assert!(matches!(ruling, Err(Broken::NotReached(_))), "{ruling:?}");
}

#[test]
fn every_clause_of_a_workload_has_a_check() {
    let seeds = (0..200).chain(draw_actions::SEEDS.take(200)).chain(draw_extras::SEEDS.take(200));
    let seeds = seeds.chain(draw_contention::SEEDS.take(20));
    for workload in seeds.map(GeneratedWorkload::of_seed) {
        for id in clauses(&workload) {
            assert!(clause(id).is_some(), "{id}");
            let story = Story::flat().submitted(workload.pcs.clone());
            let history = story.mark(WORKLOAD, workload.text().into()).end();
            let found = check(&history).into_iter().find(|finding| finding.clause == id);
            assert!(
                matches!(found.map(|found| found.ruling), Some(Err(_))),
                "{id} is not violated although no object was created"
            );
        }
    }
}
