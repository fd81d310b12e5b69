use conformance_contract::names;
use conformance_expect as expect;
use conformance_history::SharedMark;
use conformance_history::testing::{Story, object, owned as owned_by};
use serde_json::json;

use super::*;
use crate::codes;

fn gangs() -> Vec<Gang> {
    expect::testing::named_gangs(&json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
        "cliques": [{"name": "a", "spec": {"replicas": 2}}, {"name": "b", "spec": {"replicas": 3}}],
    }}}))
}

fn pod_gang() -> Value {
    let mut pod_gang = owned_by(object("PodGang", "w-0"), "PodCliqueSet", "w");
    pod_gang["spec"] =
        json!({"podgroups": [{"name": "w-0-a", "minReplicas": 2}, {"name": "w-0-b", "minReplicas": 3}]});
    pod_gang
}

fn shape(min_count: usize) -> Value {
    json!({"schedulingPolicy": {"gang": {"minCount": min_count}}})
}

fn workload(templates: &[(&str, usize)]) -> Value {
    let templates: Vec<_> = templates
        .iter()
        .map(|(name, min_count)| {
            let mut template = shape(*min_count);
            template["name"] = json!(name);
            template
        })
        .collect();
    let mut workload = owned_by(object("Workload", "w-0"), "PodGang", "w-0");
    workload["spec"] = json!({"podGroupTemplates": templates});
    workload
}

fn group(name: &str, template: &str, min_count: usize) -> Value {
    let mut group = owned_by(object("PodGroup", name), "PodGang", "w-0");
    group["spec"] = shape(min_count);
    group["spec"]["podGroupTemplateRef"] =
        json!({"workload": {"workloadName": "w-0", "podGroupTemplateName": template}});
    group
}

fn flat() -> Vec<Value> {
    vec![
        pod_gang(),
        workload(&[("w-0-a", 2), ("w-0-b", 3)]),
        group("w-0-w-0-a", "w-0-a", 2),
        group("w-0-w-0-b", "w-0-b", 3),
    ]
}

fn messages_of(ruling: Ruling) -> Vec<String> {
    match ruling {
        Ok(()) => Vec::new(),
        Err(Broken::Violated(all)) => all.into_iter().map(|violation| violation.message).collect(),
        Err(Broken::NotReached(why)) => vec![format!("not reached: {why}")],
        Err(other) => panic!("{other:?}"),
    }
}

fn all_messages(history: &History) -> Vec<String> {
    let end = history.end();
    let mut all = messages_of(owned(history, &end, &gangs()));
    all.extend(messages_of(match_pod_gangs(history, &end, &gangs())));
    all
}

#[test]
fn the_gang_resources_of_each_scope_match() {
    assert!(all_messages(&Story::flat().all_added(flat()).end()).is_empty());
    let whole = [pod_gang(), workload(&[("any", 5)]), group("w-0", "any", 5)];
    assert!(all_messages(&Story::whole().all_added(whole.clone()).end()).is_empty());
    assert!(
        !all_messages(&Story::flat().all_added(whole).end()).is_empty(),
        "PodGroup scope requires one PodGroup per podgroup"
    );
}

#[test]
fn a_canary_is_no_extra_gang_resource() {
    let mut canary = object("PodGroup", "canary-0");
    canary["metadata"]["labels"] = json!({"conformance.grove.io/canary": "true"});
    assert!(all_messages(&Story::flat().all_added(flat()).added(canary).end()).is_empty());
}

type Change = fn(&mut Vec<Value>);

#[rstest::rstest]
#[case::no_workload(|all: &mut Vec<Value>| drop(all.remove(1)), "Workload w-0 does not exist")]
#[case::no_group(|all: &mut Vec<Value>| drop(all.remove(3)), "PodGroup w-0-w-0-b does not exist")]
#[case::orphan(
    |all: &mut Vec<Value>| all[2]["metadata"]["ownerReferences"] = json!([]),
    "PodGroup w-0-w-0-a has no owner reference to an existing PodGang or PodCliqueSet, directly or through other owners"
)]
#[case::of_a_predecessor(
    |all: &mut Vec<Value>| all[1]["metadata"]["ownerReferences"][0]["uid"] = json!("other"),
    "Workload w-0 has no owner reference to an existing PodGang or PodCliqueSet, directly or through other owners"
)]
#[case::min_count(|all: &mut Vec<Value>| all[3]["spec"] = group("", "w-0-b", 2)["spec"].clone(), "minCount is 2, want 3")]
#[case::template(
    |all: &mut Vec<Value>| all[3] = group("w-0-w-0-b", "w-0-a", 3),
    "its template is \"w-0-a\", want w-0-b"
)]
#[case::no_template(|all: &mut Vec<Value>| all[1] = workload(&[("w-0-a", 2)]), "the Workload has no template \"w-0-b\"")]
#[case::another_key(
    |all: &mut Vec<Value>| all[2]["spec"]["schedulingConstraints"] = json!({"topology": [{"key": "rack"}]}),
    "schedulingConstraints is"
)]
#[case::one_too_many(
    |all: &mut Vec<Value>| all.push(group("w-0-w-0-c", "w-0-a", 2)),
    "PodGroup w-0-w-0-c matches no part of PodGang w-0, want it absent"
)]
fn one_wrong_object_is_a_violation(#[case] change: Change, #[case] message: &str) {
    let mut all = flat();
    change(&mut all);
    let found = all_messages(&Story::flat().all_added(all).end());
    assert!(found.iter().any(|found| found.contains(message)), "{found:#?}");
}

#[test]
fn a_missing_resource_and_a_wrong_owner_are_separate_violations() {
    let mut all = flat();
    all[2]["metadata"]["ownerReferences"] = json!([]);
    let history = Story::flat().all_added(all).end();
    let end = history.end();
    assert_eq!(exist(&history, &end, &gangs()), Ok(()));
    assert_eq!(messages_of(have_owners(&end)).len(), 1);
    let mut all = flat();
    all.remove(3);
    let history = Story::flat().all_added(all).end();
    let end = history.end();
    assert!(exist(&history, &end, &gangs()).is_err());
    assert_eq!(have_owners(&end), Ok(()));
}

#[rstest::rstest]
#[case::of_the_controller(|_: &mut Value| {}, true)]
#[case::without_controller(|group: &mut Value| group["metadata"]["ownerReferences"][0]["controller"] = json!(false), true)]
#[case::among_others(
    |group: &mut Value| {
        let job = owned_by(object("PodGroup", "g"), "Job", "of-the-gang");
        let own = group["metadata"]["ownerReferences"][0].clone();
        group["metadata"]["ownerReferences"] = json!([job["metadata"]["ownerReferences"][0], own]);
    },
    true
)]
#[case::through_another_owner(|group: &mut Value| *group = owned_by(group.take(), "Job", "of-the-gang"), true)]
#[case::through_a_pod(|group: &mut Value| *group = owned_by(group.take(), "Job", "of-a-pod"), false)]
#[case::of_another_uid(|group: &mut Value| group["metadata"]["ownerReferences"][0]["uid"] = json!("other"), false)]
#[case::of_a_missing_object(|group: &mut Value| *group = owned_by(group.take(), "PodGang", "w-1"), false)]
fn any_owner_reference_to_the_gang_is_enough(#[case] change: fn(&mut Value), #[case] is_owned: bool) {
    let mut all = flat();
    change(&mut all[2]);
    all.push(owned_by(object("Job", "of-the-gang"), "PodGang", "w-0"));
    all.push(owned_by(object("Job", "of-a-pod"), "Pod", "p"));
    all.push(owned_by(object("Pod", "p"), "PodGang", "w-0"));
    let ruling = have_owners(&Story::flat().all_added(all).end().end());
    assert_eq!(ruling.is_ok(), is_owned, "{ruling:?}");
}

#[test]
fn a_truncated_name_is_matched_by_reference() {
    let long = "p".repeat(260);
    let mut pod_gang = pod_gang();
    pod_gang["spec"]["podgroups"] = json!([{"name": long, "minReplicas": 2}]);
    let history = |group: Value| {
        Story::flat().all_added([pod_gang.clone(), workload(&[("cut-1a2b3c4d", 2)]), group]).end()
    };
    assert!(all_messages(&history(group("w-0-cut-1a2b3c4d", "cut-1a2b3c4d", 2))).is_empty());
    assert!(!all_messages(&history(group("w-0-cut-1a2b3c4d", "another", 2))).is_empty());
}

#[test]
fn a_gang_resource_that_is_changed_or_recreated_is_a_violation() {
    let created = || Story::flat().all_added(flat());
    let with_status = || {
        let mut group = group("w-0-w-0-a", "w-0-a", 2);
        group["status"] = json!({"conditions": []});
        group
    };
    let found = |story: Story| messages_of(never_reshaped(&story.end(), usize::MAX));
    assert!(found(created().modified(with_status())).is_empty());
    let reshaped = created().modified(group("w-0-w-0-a", "w-0-a", 1));
    assert_eq!(never_reshaped(&reshaped.clone().end(), flat().len()), Ok(()), "it changed later");
    assert_eq!(found(reshaped).len(), 1);
    let recreated = created().deleted(group("w-0-w-0-a", "w-0-a", 2)).added({
        let mut group = group("w-0-w-0-a", "w-0-a", 2);
        group["metadata"]["uid"] = json!("another");
        group
    });
    assert_eq!(found(recreated).len(), 2);
    assert!(found(Story::flat())[0].starts_with("not reached"));
}

#[test]
fn a_gang_resource_that_was_never_created_is_a_violation() {
    let all_created = |story: Story| were_created(&story.end(), &gangs());
    assert_eq!(all_created(Story::flat().all_added(flat())), Ok(()));
    let deleted = Story::flat().all_added(flat()).deleted(group("w-0-w-0-a", "w-0-a", 2));
    assert_eq!(all_created(deleted), Ok(()), "one was deleted later");
    let ruling = all_created(Story::flat().all_added(flat().into_iter().take(2)));
    let Err(Broken::Precondition { clause, violations }) = ruling else { panic!("{ruling:?}") };
    let messages: Vec<_> = violations.iter().map(|violation| violation.message.as_str()).collect();
    let never = ["PodGroup w-0-w-0-a was never created", "PodGroup w-0-w-0-b was never created"];
    assert_eq!((clause, messages), ("GANG-08", never.to_vec()));
    assert_eq!(violations[0].proof[0].name, "w-0", "the proof is its PodGang");
    assert_eq!(all_created(Story::flat()), Ok(()), "another clause covers a missing PodGang");
}

#[test]
fn a_deleted_gang_resource_that_is_not_restored_is_a_violation() {
    let again = |uid: &str, min_count: usize| {
        let mut group = group("w-0-w-0-a", "w-0-a", min_count);
        group["metadata"]["uid"] = json!(uid);
        group
    };
    let deleted = || {
        Story::flat().all_added(flat()).mark(SharedMark::Deleted, json!({})).deleted(group(
            "w-0-w-0-a",
            "w-0-a",
            2,
        ))
    };
    let found = |story: Story| messages_of(restored(&story.end(), 4, "PodGroup", "w-0-w-0-a"));
    assert!(found(deleted().added(again("new", 2))).is_empty());
    assert_eq!(found(deleted()), ["PodGroup w-0-w-0-a was not created again"]);
    assert_eq!(found(deleted().added(again("new", 1))).len(), 1, "it has another spec");
    let with = |field: &str, value: Value| {
        let mut group = again("new", 2);
        group["metadata"][field] = value;
        found(deleted().added(group))
    };
    assert_eq!(with("ownerReferences", json!([])).len(), 1, "it has no owner");
    assert_eq!(with("deletionTimestamp", json!("2026-01-01T00:00:00Z")).len(), 1, "it is terminating");
    let before = restored(&deleted().end(), 2, "PodGroup", "w-0-w-0-a");
    assert!(messages_of(before)[0].starts_with("not reached"), "it did not exist yet");
    assert_eq!(
        found(Story::flat().all_added(flat()).mark(SharedMark::Deleted, json!({}))).len(),
        1,
        "it was never deleted"
    );
}

#[rstest::rstest]
#[case::on_the_pod_gang("Warning", "PodGang", "w-0", "PodGroup g is held", true)]
#[case::on_the_set("Warning", "PodCliqueSet", "w", "PodGroup g is held", true)]
#[case::on_another("Warning", "PodGang", "w-1", "PodGroup g is held", false)]
#[case::no_warning("Normal", "PodGang", "w-0", "PodGroup g is held", false)]
#[case::about_something_else("Warning", "PodGang", "w-0", "Workload w is held", false)]
fn only_a_warning_on_the_gang_or_its_pod_clique_set_that_names_the_object_counts(
    #[case] of_type: &str,
    #[case] kind: &str,
    #[case] name: &str,
    #[case] message: &str,
    #[case] is_satisfied: bool,
) {
    let event = json!({"kind": "Event", "metadata": {"name": "e"}, "type": of_type, "message": message,
        "involvedObject": {"kind": kind, "name": name}});
    let history = Story::flat().mark(SharedMark::Deleted, json!({})).added(event.clone()).end();
    assert_eq!(warning_reported(&history, 0, "w-0", "w", "PodGroup g").is_ok(), is_satisfied);
    let before = Story::flat().added(event).mark(SharedMark::Deleted, json!({})).end();
    assert!(warning_reported(&before, 1, "w-0", "w", "PodGroup g").is_err(), "reported before the deletion");
}

#[test]
fn objects_without_the_priority_class_are_violations() {
    let mut all = flat();
    all[0]["spec"]["priorityClassName"] = json!("high");
    let lacking = |all: &[Value], kept| {
        let history = Story::flat().all_added(all.iter().cloned()).end();
        messages_of(have_priority(&history, &history.end(), &gangs(), "high", kept)).len()
    };
    assert_eq!(lacking(&all, true), 3, "the Workload and two PodGroups lack it");
    for group in &mut all[2..] {
        group["spec"]["priorityClassName"] = json!("high");
    }
    for template in all[1]["spec"]["podGroupTemplates"].as_array_mut().unwrap() {
        template["priorityClassName"] = json!("high");
    }
    assert_eq!(lacking(&all, true), 0);
    let mut dropped = all.clone();
    for group in &mut dropped[2..] {
        group["spec"]["priorityClassName"] = Value::Null;
    }
    assert_eq!(lacking(&dropped, true), 2);
    assert_eq!(lacking(&dropped, false), 0, "the API server drops the field");
    all[0]["spec"]["priorityClassName"] = Value::Null;
    assert_eq!(lacking(&all, true), 1);
    all[0]["spec"]["priorityClassName"] = json!("high");
    let pod_gang_only = Story::flat().added(all[0].clone()).end();
    let missing = have_priority(&pod_gang_only, &pod_gang_only.end(), &gangs(), "high", true);
    assert!(matches!(missing, Err(Broken::Precondition { clause: "GANG-08", .. })), "{missing:?}");
}

#[test]
fn pods_without_the_priority_class_are_violations_if_the_scheduler_reads_them() {
    let pod = |clique: &str, index: usize, class: Option<&str>| {
        let labels = json!({names::POD_CLIQUE: clique});
        let metadata = json!({"name": format!("{clique}-{index}"), "labels": labels});
        json!({"kind": "Pod", "metadata": metadata, "spec": {"priorityClassName": class}})
    };
    let ruling = |target: Target, missing: usize, class: Option<&str>| {
        let mut pods: Vec<_> = (0..2).map(|index| pod("w-0-a", index, class)).collect();
        pods.extend((missing..3).map(|index| pod("w-0-b", index, Some("high"))));
        let history = Story::on(target).all_added(pods).end();
        priority_reaches_scheduler(&history, &history.end(), &gangs(), "high", true)
    };
    assert_eq!(ruling(Target::KUBE_POD_GROUP, 0, Some("high")), Ok(()));
    assert_eq!(codes(ruling(Target::KUBE_POD_GROUP, 0, None)), ["priority-not-read", "priority-not-read"]);
    assert_eq!(messages_of(ruling(Target::KOORDINATOR, 0, Some("other"))).len(), 2);
    assert_eq!(ruling(Target::VOLCANO, 0, None), Ok(()), "Volcano reads its PodGroups");
    assert!(matches!(ruling(Target::KUBE_POD_GROUP, 1, Some("high")), Err(Broken::NotReached(_))));
}

/// The PodGang gets another priority class. Its Volcano PodGroup gets `class` after this many seconds.
fn changed_priority(after: i64, class: &str) -> Ruling {
    let with = |kind: &str, class: &str| {
        let mut found = object(kind, "w-0");
        found["spec"]["priorityClassName"] = json!(class);
        found
    };
    const GROUP: &str = "PodGroup.scheduling.volcano.sh";
    let story = Story::on(Target::VOLCANO).added(with("PodGang", "low")).added(with(GROUP, "low"));
    let story = story.mark(SharedMark::Scaled, Value::Null).modified(with("PodGang", "high"));
    let history = story.later(after).modified(with(GROUP, class)).end();
    priority_follows(&history, &gangs(), "high", true, 2)
}

#[test]
fn a_gang_resource_that_follows_the_priority_late_is_a_violation() {
    assert_eq!(changed_priority(1, "high"), Ok(()));
    assert_eq!(messages_of(changed_priority(6, "high")).len(), 1);
    assert!(messages_of(changed_priority(1, "low"))[0].contains("does not have priority class high"));
    let history = Story::flat().mark(SharedMark::Scaled, Value::Null).end();
    assert!(
        messages_of(priority_follows(&history, &gangs(), "high", true, 0))[0]
            .contains("gang resources cannot follow it")
    );
}

#[test]
fn a_refusal_must_name_the_priority_where_gang_resources_cannot_follow() {
    let named = "spec.template.priorityClassName: Forbidden: gangs are immutable";
    assert_eq!(priority_is_refused(Target::KUBE_POD_GROUP, named), Ok(()));
    assert!(
        messages_of(priority_is_refused(Target::KUBE_POD_GROUP, "no"))[0]
            .contains("does not contain priorityClassName")
    );
    assert!(
        messages_of(priority_is_refused(Target::VOLCANO, named))[0].contains("gang resources can follow it")
    );
}
