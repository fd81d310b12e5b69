use conformance_history::SharedMark;
use conformance_history::testing::Story;
use serde_json::json;

use super::super::fixture::{
    changed, changed_on_delete, clique, deleted, ended_status, pcs, pod, replaced, updating,
};
use super::*;
use crate::message;

#[rstest::rstest]
#[case::old_template("1a0", "1", 0, "Ok(())")]
#[case::new_template(
    "1a0",
    "2",
    0,
    "Pod 1a0-new replaced Pod 1a0 before the update step of its replica, want a pod of the old template"
)]
#[case::replica_being_updated("0a0", "2", 0, "no pod was lost before the update step of its replica")]
#[case::replica_already_reached("1a0", "2", 1, "no pod was lost before the update step of its replica")]
fn a_pod_lost_before_its_step_is_restored(
    #[case] lost: &str,
    #[case] revision: &str,
    #[case] updated: usize,
    #[case] expected: &str,
) {
    let story = Story::flat().added(pcs(2, "1", json!({"currentGenerationHash": "1"})));
    let with_pods =
        ["0a0", "0a1", "1a0", "1a1"].iter().fold(story, |story, name| story.added(pod(name, "1", true)));
    let with_changed_template = with_pods.modified(pcs(2, "2", updating(updated))).later(30);
    let marked = with_changed_template.mark(SharedMark::PodLost, json!({"name": lost}));
    let history = deleted(marked, lost).added(pod(&format!("{lost}-new"), revision, true)).end();
    let ruling = format!("{:?}", restored_from_old_template(&history, "w"));
    assert!(ruling.contains(expected), "{ruling}");
    assert_eq!(created_pods_are_new_or_restored(&history, "w"), Ok(()));
}

#[test]
fn a_pod_of_the_old_template_replaces_only_a_lost_pod() {
    let at_once = changed().added(pod("0a2", "1", true)).end();
    assert_eq!(created_pods_are_new_or_restored(&at_once, "w"), Ok(()), "the operator may not know yet");
    let late = || changed().later(30);
    let extra = late().added(pod("0a2", "1", true)).end();
    assert!(message(created_pods_are_new_or_restored(&extra, "w")).contains("created from an old template"));
    let updated = deleted(late(), "0a0").added(pod("0a0-new", "1", true)).end();
    assert!(
        message(created_pods_are_new_or_restored(&updated, "w")).contains("created from an old template")
    );
}

#[test]
fn pods_are_created_from_the_new_template_with_on_delete() {
    let with_changed_template = || changed_on_delete(ended_status(0));
    let by_hand =
        replaced(with_changed_template().mark(SharedMark::PodLost, json!({"name": "0a0"})), "0a0").end();
    assert_eq!(created_pods_are_new(&by_hand, "w"), Ok(()));
    let old = with_changed_template().added(pod("0a0-new", "1", true)).end();
    assert!(message(created_pods_are_new(&old, "w")).contains("created from an old template"));
}

#[test]
fn pods_added_during_an_update_are_new() {
    let update_started = replaced(changed(), "0a0");
    let since = update_started.clone().end().entries.len();
    let check =
        |story: Story| pods_created_since_are_new(&story.end(), "w", since, |pod| pod.name() != "0g7");
    assert_eq!(
        check(update_started.clone().added(pod("0a7", "2", true)).added(pod("0g7", "1", true))),
        Ok(())
    );
    assert_eq!(check(update_started.clone().modified(pod("0a1", "1", false))), Ok(()), "it existed before");
    let old = check(update_started.clone().added(pod("0a7", "1", true)));
    assert!(message(old).contains("Pod 0a7 was created from an old template during an update"));
    let next = update_started
        .added(pod("0a7", "2", true))
        .modified(pcs(1, "3", Value::Null))
        .added(pod("0a8", "2", true));
    assert_eq!(check(next), Ok(()), "the pod is new in the first update");
}

#[test]
fn a_new_replacement_of_a_lost_pod_is_not_replaced_again() {
    let lost = |revision: &str| {
        let marked = changed().mark(SharedMark::PodLost, json!({"name": "0a0"}));
        deleted(marked, "0a0").added(pod("0a0-new", revision, true))
    };
    let check = |story: Story| replacements_are_kept(&story.end(), "w");
    assert_eq!(check(lost("2")), Ok(()));
    assert_eq!(check(lost("1").deleted(pod("0a0-new", "1", true))), Ok(()), "the pod was old");
    let again = check(lost("2").deleted(pod("0a0-new", "2", true)));
    assert!(message(again).contains("Pod 0a0-new replaced a lost pod with the current template"));
    let other = replaced(lost("2"), "0a1").deleted(pod("0a1-new", "2", true));
    assert_eq!(check(other), Ok(()), "the harness did not delete its predecessor");
}

#[test]
fn a_clique_never_has_more_pods_than_requested() {
    let story = || Story::flat().added(pcs(1, "1", Value::Null)).added(clique(0, Value::Null));
    let two = || story().added(pod("0a0", "1", true)).added(pod("0a1", "1", true));
    assert_eq!(no_excess_pods_created(&two().end(), "w", &["w-0-a"]), Ok(()));
    let three = two().added(pod("0a1-new", "1", true)).end();
    assert_eq!(no_excess_pods_created(&three, "w", &["w-0-b"]), Ok(()), "it lost no pods");
    assert!(
        message(no_excess_pods_created(&three, "w", &["w-0-a"]))
            .contains("PodClique w-0-a had 3 pods when Pod")
    );
}

#[test]
fn a_pod_created_right_after_a_scale_in_is_allowed() {
    let sized = |replicas: usize| {
        let mut clique = clique(0, Value::Null);
        clique["spec"]["replicas"] = json!(replicas);
        clique
    };
    let scaled_in = || {
        let story =
            Story::flat().added(pcs(1, "1", Value::Null)).added(sized(2)).added(pod("0a0", "1", true));
        story.modified(sized(1))
    };
    assert_eq!(
        no_excess_pods_created(&scaled_in().added(pod("0a1", "1", true)).end(), "w", &["w-0-a"]),
        Ok(())
    );
    let late = scaled_in().later(6).added(pod("0a1", "1", true)).end();
    assert!(
        message(no_excess_pods_created(&late, "w", &["w-0-a"]))
            .contains("PodClique w-0-a had 2 pods when Pod")
    );
}

#[test]
fn every_pod_of_a_scope_has_the_revision() {
    let first = Scope::Replica { set: "w".into(), index: 0 };
    let check = |story: Story| all_of_revision(&story.end(), &first, "2");
    assert_eq!(check(Story::flat().added(pod("0a0", "2", true)).added(pod("1a0", "1", true))), Ok(()));
    let mixed = check(Story::flat().added(pod("0a0", "2", true)).added(pod("0a1", "1", true)));
    assert!(message(mixed).contains("Pod 0a1 was not created from template revision 2"));
    assert!(matches!(check(Story::flat()), Err(Broken::NotReached(_))));
}
