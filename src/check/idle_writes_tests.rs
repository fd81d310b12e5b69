use conformance_contract::ruling::Broken;
use conformance_contract::target::TARGETS;
use conformance_expect as expect;
use conformance_history::testing::{Story, object, owned};
use conformance_history::{MarkName, SharedMark};
use serde_json::json;

use super::*;

const WATCHED: MarkName = MarkName::of_case("watched");

fn written(kind: &str, name: &str, by: &str, time: &str) -> Value {
    let mut object = object(kind, name);
    object["metadata"]["managedFields"] = json!([{"manager": by, "operation": "Update", "time": time}]);
    object
}

fn gangs(replicas: u64, pods: u64) -> Vec<Gang> {
    expect::testing::named_gangs(
        &json!({"metadata": {"name": "w"}, "spec": {"replicas": replicas, "template": {
            "cliques": [{"name": "a", "spec": {"replicas": pods, "minAvailable": 1}}],
        }}}),
    )
}

fn pod(name: &str, by: &str) -> Value {
    let mut pod = written("Pod", name, by, "1");
    pod["metadata"]["labels"] = json!({"grove.io/podclique": "w-0-a"});
    pod
}

fn messages(ruling: Ruling) -> Vec<String> {
    match ruling {
        Ok(()) => Vec::new(),
        Err(Broken::Violated(all)) => all.into_iter().map(|violation| violation.message).collect(),
        Err(other) => panic!("{other:?}"),
    }
}

fn while_idle(created: Value, rest: impl Fn(Story) -> Story, after: impl Fn(Story) -> Story) -> Vec<String> {
    let story = rest(Story::flat().added(created).mark(SharedMark::OperatorIdle, Value::Null));
    let history = after(story.mark(WATCHED, Value::Null)).end();
    let index = |name: MarkName| history.reached(name).unwrap().0;
    messages(quiet(&history, index(SharedMark::OperatorIdle.into()), index(WATCHED)))
}

#[test]
fn every_write_between_the_marks_is_a_violation() {
    let gang = || written("PodGang", "w-0", "op", "1");
    let write = |story: Story| story.modified(written("PodGang", "w-0", "op", "2"));
    assert_eq!(
        while_idle(gang(), |story| write(story).later(20), |story| story),
        ["PodGang w-0 was written once while the cluster was idle, want 0; last written by op"],
        "one write is enough"
    );
    assert!(while_idle(gang(), |story| story.later(10), write).is_empty());
}

#[test]
fn only_a_new_entry_of_an_exempt_writer_is_exempt() {
    let again = |created: Value, object: Value| {
        while_idle(created, |story| story.modified(object.clone()), |story| story)
    };
    let story = |object: Value| again(written("PodGroup", "g", "op", "1"), object);
    let mut by_scheduler = written("PodGroup", "g", "op", "1");
    let entry = json!({"manager": "kube-scheduler", "subresource": "status", "time": "2"});
    by_scheduler["metadata"]["managedFields"].as_array_mut().unwrap().push(entry);
    assert!(story(by_scheduler).is_empty(), "only the new entry counts");
    let before = || {
        let mut group = written("PodGroup", "g", "kube-scheduler", "1");
        let creation = json!({"manager": "op", "operation": "Update", "time": "1"});
        group["metadata"]["managedFields"].as_array_mut().unwrap().push(creation);
        group["metadata"]["managedFields"][0]["subresource"] = json!("status");
        group
    };
    assert!(again(before(), before()).is_empty(), "only the status changed");
    let event =
        |source: &str| json!({"kind": "Event", "metadata": {"name": "e"}, "source": {"component": source}});
    assert!(story(event("operator")).is_empty(), "Events do not count");
    assert_eq!(
        story(written("PodGroup", "g", "op", "1")).len(),
        1,
        "the second write within a second leaves the same entry"
    );
}

#[rstest::rstest]
#[case::its_own(Target::VOLCANO, "vc-scheduler", true)]
#[case::its_own_events(Target::VOLCANO, "volcano", true)]
#[case::with_a_common_prefix(Target::VOLCANO, "volcano-tool", false)]
#[case::of_another(Target::VOLCANO, "kube-scheduler", false)]
#[case::of_another_too(Target::KUBE_TREE, "koord-scheduler", false)]
#[case::with_a_longer_name(Target::KAI, "binder-of-somebody", false)]
#[case::without_a_scheduler(Target::EXTERNAL, "kube-scheduler", false)]
#[case::kwok(Target::EXTERNAL, "kwok", true)]
#[case::kubernetes(Target::EXTERNAL, "kube-controller-manager", true)]
#[case::with_a_longer_kubernetes_name(Target::EXTERNAL, "kube-controller-manager-of-mine", false)]
#[case::of_its_chart(Target::VOLCANO, "vc-controller-manager", true)]
#[case::of_another_chart(Target::KOORDINATOR, "vc-controller-manager", false)]
#[case::of_its_chart_too(Target::KOORDINATOR, "koord-descheduler", true)]
#[case::of_kais_images(Target::KAI, "app", true)]
#[case::of_kais_checkout(Target::KAI, "queuecontroller", true)]
fn only_the_targets_scheduler_and_kubernetes_are_exempt_writers(
    #[case] target: Target,
    #[case] writer: &str,
    #[case] known: bool,
) {
    let story = Story::on(target).added(written("Pod", "p", "op", "1"));
    let history = story.modified(written("Pod", "p", writer, "2")).end();
    assert_eq!(writes(&history, 1, 2).is_empty(), known);
}

#[test]
fn an_external_scheduler_is_known_by_its_name() {
    let target = Target::external_scheduler("mine", &[]).unwrap();
    let is_known = |writer| is_exempt_writer(target, writer);
    assert!(is_known("mine") && !is_known("kube-scheduler"));
}

#[test]
fn a_write_to_a_gang_resource_is_a_violation() {
    let before = || {
        Story::flat()
            .added(owned(written("Workload", "w-0", "op", "1"), "PodGang", "w-0"))
            .added(written("PodGang", "w-0", "op", "1"))
    };
    let found = |story: Story| messages(no_gang_resource_written(&story.end(), "w-0", 2, usize::MAX));
    assert!(found(before().modified(written("PodGang", "w-0", "op", "2"))).is_empty());
    assert_eq!(
        found(before().modified(owned(written("Workload", "w-0", "op", "2"), "PodGang", "w-0"))),
        ["Workload w-0 was written by op, want it untouched"]
    );
    let deleted = owned(written("Workload", "w-0", "op", "1"), "PodGang", "w-0");
    assert_eq!(found(before().deleted(deleted)).len(), 1);
}

fn touched(before: &[Gang], after: &[Gang], story: Story) -> Vec<String> {
    let affected = AffectedObjects::of(TARGETS[0], "w", before, after);
    messages(others_untouched(&story.end(), 4, usize::MAX, &affected))
}

fn converged() -> Story {
    let all = [("PodCliqueSet", "w"), ("PodGang", "w-0"), ("PodClique", "w-0-a")];
    Story::flat()
        .all_added(all.map(|(kind, name)| written(kind, name, "op", "1")))
        .added(pod("w-0-a-x", "op"))
}

#[test]
fn a_write_to_the_first_replica_while_the_pod_clique_set_is_scaled_is_a_violation() {
    let (one, two) = (gangs(1, 1), gangs(2, 1));
    let scaled = |story: Story| touched(&one, &two, story);
    let growing =
        || converged().modified(written("PodCliqueSet", "w", "me", "2")).added(object("PodGang", "w-1"));
    assert!(scaled(growing()).is_empty());
    assert_eq!(
        scaled(growing().modified(written("PodGang", "w-0", "op", "2"))),
        ["PodGang w-0 was written by op, want it untouched"]
    );
    assert_eq!(
        scaled(growing().deleted(pod("w-0-a-x", "op"))),
        ["Pod w-0-a-x was deleted, want it untouched"]
    );
}

#[test]
fn a_write_to_a_remaining_pod_while_a_clique_is_scaled_is_a_violation() {
    let (one, two) = (gangs(1, 1), gangs(1, 2));
    let scaled = |story: Story| touched(&one, &two, story);
    let growing = || converged().modified(written("PodGang", "w-0", "op", "2")).added(pod("w-0-a-y", "op"));
    assert!(scaled(growing()).is_empty());
    assert_eq!(
        scaled(growing().modified(pod("w-0-a-x", "else"))),
        ["Pod w-0-a-x was written by else, want it untouched"]
    );
    assert!(
        touched(&two, &one, converged().deleted(pod("w-0-a-x", "op"))).is_empty(),
        "one of them must be deleted"
    );
}

#[rstest::rstest]
#[case::of_the_workload(written("Pod", "p", "op", "2"), 1)]
#[case::of_a_canary(json!({"kind": "Pod", "metadata": {"name": "p", "labels": {names::CANARY: "true"}}}), 0)]
#[case::cluster_scoped(written("Node", "n", "op", "2"), 0)]
fn only_writes_to_the_workload_count(#[case] object: Value, #[case] count: usize) {
    assert_eq!(writes(&Story::flat().added(object).end(), 0, 1).len(), count);
}

#[rstest::rstest]
#[case::with_a_number_of_pods(Target::KOORDINATOR, "PodGroup.scheduling.sigs.k8s.io", "w-0-w-0-a", true)]
#[case::without_a_number(Target::KUBE_POD_GROUP, "PodGroup", "w-0-w-0-a", false)]
#[case::of_another_gang(Target::KOORDINATOR, "PodGroup.scheduling.sigs.k8s.io", "w-1-w-1-a", false)]
fn only_a_gang_resource_with_a_number_of_pods_changes_with_a_clique(
    #[case] target: Target,
    #[case] kind: &str,
    #[case] name: &str,
    #[case] fine: bool,
) {
    let (one, two) = (gangs(1, 1), gangs(1, 2));
    let affected = AffectedObjects::of(target, "w", &one, &two);
    let story = Story::on(target).added(written(kind, name, "op", "1"));
    let history = story.modified(written(kind, name, "op", "2")).end();
    assert_eq!(others_untouched(&history, 1, usize::MAX, &affected).is_ok(), fine);
}

#[test]
fn the_operator_is_not_exempt_if_it_has_a_schedulers_name() {
    let created = |by| written("PodGang", "w-0", by, "1");
    let story = |by| Story::on(Target::KAI).added(created(by)).added(written("PodGroup", "g", "other", "1"));
    let count = |by| writes(&story(by).modified(written("PodGroup", "g", "app", "2")).end(), 2, 3).len();
    assert_eq!((count("op"), count("app")), (0, 1));
}

#[test]
fn exempt_writes_while_idle_are_counted() {
    let story =
        Story::flat().added(written("Pod", "p", "op", "1")).mark(SharedMark::OperatorIdle, Value::Null);
    let history = story
        .modified(written("Pod", "p", "kwok", "2"))
        .modified(written("Pod", "p", "kwok", "3"))
        .modified(written("Pod", "p", "op", "4"))
        .mark(SharedMark::IdlePeriodEnded, Value::Null)
        .modified(written("Pod", "p", "kwok", "5"))
        .end();
    let listed: Vec<_> = exempt(&history).into_iter().collect();
    assert_eq!(listed, [(("kwok".to_owned(), "Pod p".to_owned()), 2)]);
}

#[rstest::rstest]
#[case::one_of_the_scaled("w-0", true)]
#[case::the_other_of_the_scaled("v-0", true)]
#[case::of_a_third("u-0", false)]
fn writes_to_objects_that_no_simultaneous_change_affects_are_violations(
    #[case] written_gang: &str,
    #[case] fine: bool,
) {
    let of_set = |set: &str, pods: u64| {
        expect::testing::named_gangs(&json!({"metadata": {"name": set}, "spec": {"replicas": 1, "template": {
            "cliques": [{"name": "a", "spec": {"replicas": pods, "minAvailable": 1}}],
        }}}))
    };
    let changes = ["w", "v"].map(|set| (set, of_set(set, 1), of_set(set, 2)));
    let affected: Vec<_> = changes
        .iter()
        .map(|(set, before, after)| AffectedObjects::of(TARGETS[0], set, before, after))
        .collect();
    let gangs = ["w-0", "v-0", "u-0"].map(|name| written("PodGang", name, "op", "1"));
    let story = Story::flat().all_added(gangs).modified(written("PodGang", written_gang, "op", "2"));
    assert_eq!(untouched_by_all(&story.end(), 3, usize::MAX, &affected).is_ok(), fine);
}
