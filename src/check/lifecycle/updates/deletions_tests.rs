use conformance_history::SharedMark;
use conformance_history::testing::Story;
use serde_json::{Value, json};

use super::super::fixture::{
    all_replaced, changed, changed_on_delete, deleted, ended_status, on_delete, pcs, pod, replaced, updating,
};
use super::*;
use crate::message;

#[test]
fn only_pods_of_an_old_template_are_deleted() {
    assert_eq!(updater_deletes_only_old(&all_replaced().end(), "w"), Ok(()));
    let again = replaced(changed(), "0a0").deleted(pod("0a0-new", "2", true)).end();
    assert!(
        message(updater_deletes_only_old(&again, "w"))
            .contains("Pod 0a0-new was deleted although it has the current template")
    );
    let end = again.entries.len();
    assert!(updater_deletes_only_old_since(&again, "w", end - 1).is_err());
    assert_eq!(updater_deletes_only_old_since(&again, "w", end), Ok(()));
}

#[test]
fn no_pod_is_deleted_without_an_update() {
    let story = || Story::flat().added(pcs(1, "1", Value::Null)).added(pod("0a0", "1", true));
    assert_eq!(updater_deletes_none(&story().end(), "w"), Ok(()));
    assert!(
        message(updater_deletes_none(&deleted(story(), "0a0").end(), "w")).contains("no update requires it")
    );
    let by_hand = story().mark(SharedMark::PodLost, json!({"name": "0a0"}));
    assert_eq!(updater_deletes_none(&deleted(by_hand, "0a0").end(), "w"), Ok(()));
    let scaled_in = story().modified(pcs(0, "1", Value::Null));
    assert_eq!(updater_deletes_none(&deleted(scaled_in, "0a0").end(), "w"), Ok(()));
}

#[test]
fn the_updater_deletes_no_pod_with_on_delete() {
    let with_changed_template = || changed_on_delete(ended_status(0));
    let by_hand =
        replaced(with_changed_template().mark(SharedMark::PodLost, json!({"name": "0a0"})), "0a0").end();
    assert_eq!(updater_deletes_none_on_delete(&by_hand, "w"), Ok(()));
    let by_updater = deleted(with_changed_template(), "0a0").end();
    assert!(message(updater_deletes_none_on_delete(&by_updater, "w")).contains("Pod 0a0 was deleted"));
}

#[test]
fn the_step_in_progress_ends_after_a_change_to_on_delete() {
    let story = || deleted(changed(), "0a0").modified(on_delete("2", updating(0)));
    assert_eq!(updater_deletes_none_on_delete(&deleted(story(), "0g0").end(), "w"), Ok(()));
    let two = deleted(deleted(story(), "0g0"), "0a1").end();
    assert!(message(updater_deletes_none_on_delete(&two, "w")).contains("Pod 0a1 was deleted"));
}
