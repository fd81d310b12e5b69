use conformance_contract::names;
use conformance_history::testing::{Story, one_clique, owned};
use serde_json::json;

use super::*;

fn set(revision: &str) -> Value {
    let mut set = one_clique("w", 1);
    let container = json!({"name": "main", "image": "i:1", "env": [{"name": "REVISION", "value": revision}]});
    set["spec"]["template"]["cliques"][0]["spec"]["podSpec"] = json!({"containers": [container]});
    set["spec"]["template"]["cliques"][0]["labels"] = json!({"team": "t"});
    set
}

fn pod(revision: &str) -> Value {
    let set = set(revision);
    let template = &set["spec"]["template"]["cliques"][0]["spec"]["podSpec"];
    let labels = json!({names::POD_CLIQUE: "w-0-worker", names::PART_OF: "w", "team": "t"});
    let pod = json!({"kind": "Pod", "metadata": {"name": "p", "labels": labels}, "spec": template});
    owned(pod, "PodClique", "w-0-worker")
}

fn submitted() -> Story {
    let story = Story::flat().submitted(set("1")).mark(SharedMark::Submitted, json!({"name": "w"}));
    story.added(set("1"))
}

fn changed(mut pod: Value, at: &str, value: Value) -> Value {
    let (parent, field) = at.rsplit_once('/').unwrap();
    pod.pointer_mut(parent).unwrap()[field] = value;
    pod
}

fn messages(story: Story) -> [Option<String>; 2] {
    let history = story.end();
    let course = Course::of(&history);
    [is_kept(&course), adds_nothing(&course)].map(|ruling| match ruling {
        Ok(()) | Err(Broken::NotAsked(_)) => None,
        Err(Broken::Violated(found)) => {
            assert_eq!(found.len(), 1, "a pod is reported once");
            Some(found[0].message.clone())
        }
        Err(other) => panic!("{other:?}"),
    })
}

#[test]
fn a_pod_that_follows_its_template_is_no_violation() {
    let updated = submitted().added(pod("1")).modified(set("2")).deleted(pod("1")).added(pod("2"));
    assert_eq!(messages(updated), [None, None]);
    let late = submitted().modified(set("2")).added(pod("1"));
    assert_eq!(messages(late), [None, None], "an operator may follow a change late");
}

#[rstest::rstest]
#[case::label("/metadata/labels/team", Value::Null, "metadata.labels.team")]
#[case::image("/spec/containers/0/image", json!("i:2"), "spec.containers[main].image")]
fn a_pod_that_loses_a_field_later_is_a_violation(#[case] at: &str, #[case] value: Value, #[case] path: &str) {
    let later = changed(pod("1"), at, value);
    let bound = changed(later.clone(), "/spec/nodeName", json!("n"));
    let message = format!("Pod p was changed and now differs from its template: {path}");
    assert_eq!(messages(submitted().added(pod("1")).modified(later).modified(bound)), [Some(message), None]);
}

#[test]
fn a_template_that_is_not_in_force_yet_explains_no_pod() {
    let early = submitted().added(pod("2")).modified(set("2"));
    let path = "spec.containers[main].env[REVISION].value";
    let message = format!("Pod p was created with a difference from its template: {path}");
    assert_eq!(messages(early), [Some(message), None]);
}

#[test]
fn an_addition_is_a_violation_at_creation_and_later() {
    let at = "/spec/shareProcessNamespace";
    let with_addition = || changed(pod("1"), at, json!(true));
    let created = submitted().added(with_addition());
    let message = "Pod p was created with spec.shareProcessNamespace, which its template lacks".to_owned();
    assert_eq!(messages(created), [None, Some(message)]);
    let later = submitted().added(pod("1")).modified(with_addition());
    let message = "Pod p was changed and has spec.shareProcessNamespace, which its template lacks".to_owned();
    assert_eq!(messages(later), [None, Some(message)]);
}

#[rstest::rstest]
#[case::field("/spec/dnsPolicy", "spec.dnsPolicy")]
#[case::label("/metadata/labels/team", "metadata.labels.team")]
#[case::containers("/spec/containers", "spec.containers")]
fn a_second_pod_that_lacks_a_field_is_a_violation(#[case] at: &str, #[case] path: &str) {
    let mut template = set("1");
    template["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["dnsPolicy"] = json!("Default");
    let story = Story::flat().submitted(template).mark(SharedMark::Submitted, json!({"name": "w"}));
    let good = changed(pod("1"), "/spec/dnsPolicy", json!("Default"));
    let mut second = changed(good.clone(), at, Value::Null);
    second["metadata"]["name"] = json!("q");
    let message = format!("Pod q was created with a difference from its template: {path}");
    assert_eq!(messages(story.added(good).added(second)), [Some(message), None]);
}

/// A pod may follow either of two templates, but must not mix their fields.
#[test]
fn a_pod_that_follows_two_templates_at_once_is_a_violation() {
    let with_team =
        |set: Value, team: &str| changed(set, "/spec/template/cliques/0/labels/team", json!(team));
    let story = submitted().added(pod("1")).modified(with_team(set("2"), "u"));
    let mixed = changed(pod("1"), "/metadata/labels/team", json!("u"));
    let path = "spec.containers[main].env[REVISION].value";
    let message = format!("Pod p was changed and now differs from its template: {path}");
    assert_eq!(messages(story.modified(mixed)), [Some(message), None]);
}

#[test]
fn webhooks_of_an_existing_cluster_may_add_fields() {
    let story = submitted().mark(SharedMark::ForeignAdmission, Value::Null);
    let with_addition = changed(pod("1"), "/spec/shareProcessNamespace", json!(true));
    assert_eq!(messages(story.added(with_addition)), [None, None]);
}

#[test]
fn omitted_fields_of_later_versions_are_not_lost() {
    let mut later = pod("1");
    later["spec"] = json!({"nodeName": "n"});
    assert_eq!(messages(submitted().added(pod("1")).modified(later)), [None, None]);
}
