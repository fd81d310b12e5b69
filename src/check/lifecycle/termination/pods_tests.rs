use conformance_facts::testing::{pair, pod, running, scope, terminating_pod};
use conformance_history::testing::{Story, object};
use serde_json::json;

use super::*;
use crate::message;

#[test]
fn a_pod_gang_refers_to_a_new_pod_before_its_release() {
    let gated = |name: &str| {
        let mut gated = pod(name, None);
        gated["spec"]["schedulingGates"] = json!([{"name": names::GATE}]);
        gated
    };
    let gang = |named: &[&str]| {
        let mut gang = object("PodGang", "w-0");
        let references: Vec<_> = named.iter().map(|name| json!({"name": name})).collect();
        gang["spec"]["podgroups"] = json!([{"name": "w-0-a", "podReferences": references}]);
        gang
    };
    let released = |named: &[&str]| {
        let deleted = running().modified(terminating_pod("a")).modified(terminating_pod("b"));
        deleted.added(gated("c")).added(gang(named)).modified(pod("c", None)).end()
    };
    assert_eq!(named_before_release(&released(&["c"]), &scope()), Ok(()));
    assert!(message(named_before_release(&released(&["a"]), &scope())).contains("Pod c lost its gate"));
}

#[test]
fn a_termination_interrupted_by_a_crash_is_completed() {
    let check = |story: Story| {
        let history = story.end();
        replaced_once_or_twice(&history, &pair(), 4, history.entries.len())
    };
    let deleted = || running().deleted(pod("a", Some("n"))).deleted(pod("b", Some("n")));
    let with_pods = |story: Story, names: &[&str]| {
        names.iter().fold(story, |story, name| story.added(pod(name, Some("n"))))
    };
    assert_eq!(check(with_pods(deleted(), &["c", "d"])), Ok(()));
    let twice = with_pods(deleted(), &["c", "d"]).deleted(pod("c", Some("n"))).deleted(pod("d", Some("n")));
    assert_eq!(check(with_pods(twice, &["e", "f"])), Ok(()));
    let thrice = with_pods(deleted(), &["c", "d", "e"]);
    let thrice =
        thrice.deleted(pod("c", Some("n"))).deleted(pod("d", Some("n"))).deleted(pod("e", Some("n")));
    assert!(
        message(check(with_pods(thrice, &["f", "g"]))).contains(
            "5 pods were created for the 2 replicas of PodClique w-0-a, want at most two per replica",
        )
    );
    let half = running().deleted(pod("a", Some("n")));
    assert!(message(check(with_pods(half, &["c"]))).contains("1 pods of PodClique w-0-a were not replaced"));
    assert!(message(check(with_pods(deleted(), &["c"]))).contains("1 pods are bound and 1 exist, want 2"));
    let terminating = with_pods(deleted(), &["c", "d"]).modified(terminating_pod("d"));
    assert!(message(check(terminating)).contains("1 pods are bound and 2 exist"));
}
