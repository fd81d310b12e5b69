use conformance_history::testing::Story;
use serde_json::{Value, json};

use super::*;
use crate::testing::{
    Order, clique, deleting, pod, pods_of, running, running_clique, scope, set, terminating_pod,
};

fn count(story: Story) -> usize {
    terminations(&story.end(), &scope()).len()
}

#[test]
fn a_scope_is_terminated_when_all_its_pods_are_deleted_and_created_again() {
    let terminated =
        || running().modified(terminating_pod("a")).added(pod("c", None)).modified(terminating_pod("b"));
    let history = terminated().added(pod("d", None)).modified(pod("c", Some("n"))).end();
    let found = terminations(&history, &scope());
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].started.name(), found[0].ended.name(), found[0].old.len()), ("a", "b", 2));
    let names = |generation| {
        only_generation(&history, &scope(), generation).names("Pod").into_iter().collect::<String>()
    };
    assert_eq!((names(0), names(1)), ("ab".to_owned(), "cd".to_owned()));
    assert_eq!(count(terminated()), 1);
}

#[test]
fn a_recreated_pod_clique_may_have_pods_before_the_old_ones_are_deleted() {
    let owned = |mut pod: Value, owner: &str| {
        pod["metadata"]["ownerReferences"] =
            json!([{"kind": "PodClique", "name": "w-0-a", "uid": owner, "controller": true}]);
        pod
    };
    let old = |pod| owned(pod, "first");
    let new = |pod| owned(pod, "second");
    let created = Story::flat().added(old(pod("a", Some("n")))).added(old(pod("b", Some("n"))));
    let ahead =
        created.added(new(pod("c", None))).modified(old(terminating_pod("a"))).added(new(pod("d", None)));
    let history = ahead.modified(old(terminating_pod("b"))).modified(new(pod("c", Some("n")))).end();
    let found = terminations(&history, &scope());
    assert_eq!(found.iter().map(|termination| termination.old.len()).collect::<Vec<_>>(), [2]);
    let names = |generation| {
        only_generation(&history, &scope(), generation).names("Pod").into_iter().collect::<String>()
    };
    assert_eq!((names(0), names(1)), ("ab".to_owned(), "cd".to_owned()));
}

#[test]
fn an_update_or_a_lost_pod_is_no_termination() {
    assert_eq!(count(running().modified(terminating_pod("a")).added(pod("c", None))), 0, "one of two");
    assert_eq!(
        count(running().modified(terminating_pod("a")).modified(terminating_pod("b"))),
        0,
        "no pod is created"
    );
    let update = running().modified(terminating_pod("a")).added(pod("c", None)).modified(pod("c", Some("n")));
    assert_eq!(count(update.modified(terminating_pod("b")).added(pod("d", None))), 0, "one after the other");
    let lost = || running().mark(SharedMark::PodLost, json!({"name": "a"})).deleted(pod("a", Some("n")));
    assert_eq!(count(lost().added(pod("c", None))), 0, "a lost pod");
}

#[test]
fn a_pending_replacement_belongs_to_the_terminated_generation() {
    let lost = running().mark(SharedMark::PodLost, json!({"name": "a"})).deleted(pod("a", Some("n")));
    let terminated = lost
        .added(pod("c", None))
        .modified(terminating_pod("b"))
        .deleted(pod("c", None))
        .added(pod("d", None));
    let again = terminated.modified(pod("d", Some("n"))).modified(terminating_pod("d")).added(pod("e", None));
    let history = again.end();
    let found = terminations(&history, &scope());
    let old = found.iter().map(|termination| termination.old.len()).collect::<Vec<_>>();
    assert_eq!(old, [2, 1]);
}

fn generations(history: &History) -> [String; 2] {
    [0, 1].map(|generation| {
        only_generation(history, &scope(), generation).names("Pod").into_iter().collect::<Vec<_>>().join(" ")
    })
}

#[test]
fn the_order_of_deletions_does_not_matter() {
    let old = pods_of("first", &["a", "b"], Some("n"));
    let new = pods_of("second", &["c", "d"], None);
    for order in Order::ALL {
        let bound = order.terminate(running_clique(), ("first", &old), ("second", &new));
        let bound = pods_of("second", &["c", "d"], Some("n")).into_iter().fold(bound, Story::modified);
        let history = bound.end();
        let found = terminations(&history, &scope());
        assert_eq!(found.len(), 1, "{order:?}");
        let first = history.versions().find(is_deletion).unwrap();
        assert_eq!(found[0].started.index, first.index, "{order:?}");
        let old = if order == Order::PodsReplacedFirst { "a after-first b" } else { "a b" };
        assert_eq!(generations(&history), [old, "c d"], "{order:?}");
    }
}

#[test]
fn a_pod_lost_between_its_pod_clique_and_the_other_pods_is_of_the_old_generation() {
    let old = pods_of("first", &["a", "b"], Some("n"));
    let deleted = running_clique().deleted(clique("first", 2));
    let lost = deleted.mark(SharedMark::PodLost, json!({"name": "a"})).deleted(old[0].clone());
    let recreated = lost.modified(deleting(old[1].clone())).added(clique("second", 2));
    let history = recreated.all_added(pods_of("second", &["c", "d"], None)).end();
    assert_eq!(terminations(&history, &scope()).len(), 1);
    assert_eq!(generations(&history), ["a b", "c d"]);
}

#[test]
fn a_pod_that_was_released_is_a_generation_of_its_own() {
    let old = pods_of("first", &["a", "b"], Some("n"));
    let waits = old.iter().cloned().map(deleting).fold(running_clique(), Story::modified);
    let waits = waits.all_added(pods_of("first", &["c", "d"], None));
    let again = Order::CliqueFirst.terminate(
        waits,
        ("first", &pods_of("first", &["c", "d"], None)),
        ("second", &pods_of("second", &["e", "f"], None)),
    );
    assert_eq!(count(again), 2);
}

#[test]
fn deletions_without_new_pods_are_a_termination_of_a_scope_that_still_exists() {
    let old = pods_of("first", &["a", "b"], Some("n"));
    for order in Order::ALL {
        let gone =
            |end: Value| order.terminate(running_clique(), ("first", &old), ("second", &[])).added(end);
        assert_eq!(count(gone(set(1))), 1, "{order:?}: recreated with 0 replicas");
        assert_eq!(count(gone(set(1)).deleted(clique("second", 0))), 1, "{order:?}: not recreated");
        assert_eq!(count(gone(set(0))), 0, "{order:?}: scaled in");
        assert_eq!(count(gone(deleting(set(1)))), 0, "{order:?}: the PodCliqueSet is being deleted");
    }
    let gone = || old.iter().cloned().map(deleting).fold(running_clique().added(set(1)), Story::modified);
    assert_eq!(count(gone()), 1, "the PodClique still asks for its pods");
    assert_eq!(count(gone().modified(clique("first", 0))), 0, "the PodClique was scaled to 0");
    let failed = |mut pod: Value| {
        pod["status"]["phase"] = json!("Failed");
        pod
    };
    let failed = old.iter().cloned().map(failed).fold(running_clique().added(set(1)), Story::modified);
    assert_eq!(count(failed), 0, "the pods failed");
}
