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

/// A PodGang is created, `rest` happens between the marks, and `after` follows them.
fn at_rest(made: Value, rest: impl Fn(Story) -> Story, after: impl Fn(Story) -> Story) -> Vec<String> {
    let story = rest(Story::flat().added(made).mark(SharedMark::AtRest, Value::Null));
    let history = after(story.mark(WATCHED, Value::Null)).end();
    let place = |name: MarkName| history.reached(name).unwrap().0;
    messages(quiet(&history, place(SharedMark::AtRest.into()), place(WATCHED)))
}

#[test]
fn every_write_between_the_marks_disturbs_a_rest() {
    let gang = || written("PodGang", "w-0", "op", "1");
    let write = |story: Story| story.modified(written("PodGang", "w-0", "op", "2"));
    assert_eq!(
        at_rest(gang(), |story| write(story).later(20), |story| story),
        ["PodGang w-0 was written 1 times while idle, want 0; last written by op"],
        "however long it is quiet thereafter"
    );
    assert!(at_rest(gang(), |story| story.later(10), write).is_empty());
}

#[test]
fn schedulers_and_kwok_do_not_disturb_a_rest() {
    let again =
        |made: Value, object: Value| at_rest(made, |story| story.modified(object.clone()), |story| story);
    let story = |object: Value| again(written("PodGroup", "g", "op", "1"), object);
    let mut by_scheduler = written("PodGroup", "g", "op", "1");
    let entry = json!({"manager": "kube-scheduler", "subresource": "status", "time": "2"});
    by_scheduler["metadata"]["managedFields"].as_array_mut().unwrap().push(entry);
    assert!(story(by_scheduler).is_empty(), "only the new entry counts");
    let begin = || {
        let mut group = written("PodGroup", "g", "kube-scheduler", "1");
        let creation = json!({"manager": "op", "operation": "Update", "time": "1"});
        group["metadata"]["managedFields"].as_array_mut().unwrap().push(creation);
        group["metadata"]["managedFields"][0]["subresource"] = json!("status");
        group
    };
    assert!(again(begin(), begin()).is_empty(), "a status is told from the rest");
    let event =
        |source: &str| json!({"kind": "Event", "metadata": {"name": "e"}, "source": {"component": source}});
    assert!(story(event("operator")).is_empty(), "an Event is no change of the workload");
    assert_eq!(
        story(written("PodGroup", "g", "op", "1")).len(),
        1,
        "a second write in a second leaves no trace"
    );
}

#[rstest::rstest]
#[case::its_own(Target::VOLCANO, "vc-scheduler", true)]
#[case::its_own_events(Target::VOLCANO, "volcano", true)]
#[case::begins_alike(Target::VOLCANO, "volcano-tool", false)]
#[case::of_another(Target::VOLCANO, "kube-scheduler", false)]
#[case::of_another_too(Target::KUBE_TREE, "koord-scheduler", false)]
#[case::named_by_its_part(Target::KAI, "binder-of-somebody", false)]
#[case::nobody_schedules(Target::EXTERNAL, "kube-scheduler", false)]
#[case::kwok(Target::EXTERNAL, "kwok", true)]
#[case::kubernetes(Target::EXTERNAL, "kube-controller-manager", true)]
#[case::like_kubernetes(Target::EXTERNAL, "kube-controller-manager-of-mine", false)]
#[case::of_its_chart(Target::VOLCANO, "vc-controller-manager", true)]
#[case::of_another_chart(Target::KOORDINATOR, "vc-controller-manager", false)]
#[case::of_its_chart_too(Target::KOORDINATOR, "koord-descheduler", true)]
#[case::of_kais_images(Target::KAI, "app", true)]
#[case::of_kais_checkout(Target::KAI, "queuecontroller", true)]
fn only_the_targets_own_scheduler_and_kwok_write_of_their_own_accord(
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
    let is_known = |writer| writes_of_its_own_accord(target, writer);
    assert!(is_known("mine") && !is_known("kube-scheduler"));
}

#[test]
fn gang_resources_unwritten() {
    let begin = || {
        Story::flat()
            .added(owned(written("Workload", "w-0", "op", "1"), "PodGang", "w-0"))
            .added(written("PodGang", "w-0", "op", "1"))
    };
    let of = |story: Story| messages(no_gang_resource_written_of(&story.end(), "w-0", 2, usize::MAX));
    assert!(of(begin().modified(written("PodGang", "w-0", "op", "2"))).is_empty());
    assert_eq!(
        of(begin().modified(owned(written("Workload", "w-0", "op", "2"), "PodGang", "w-0"))),
        ["Workload w-0 was written by op, want it untouched"]
    );
    let deleted = owned(written("Workload", "w-0", "op", "1"), "PodGang", "w-0");
    assert_eq!(of(begin().deleted(deleted)).len(), 1);
}

fn touched(before: &[Gang], after: &[Gang], story: Story) -> Vec<String> {
    let concern = Concern::of(TARGETS[0], "w", before, after);
    messages(others_untouched(&story.end(), 4, usize::MAX, &concern))
}

fn converged() -> Story {
    let all = [("PodCliqueSet", "w"), ("PodGang", "w-0"), ("PodClique", "w-0-a")];
    Story::flat()
        .all_added(all.map(|(kind, name)| written(kind, name, "op", "1")))
        .added(pod("w-0-a-x", "op"))
}

#[test]
fn scaling_the_set_leaves_the_first_replica_alone() {
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
fn scaling_a_clique_leaves_its_remaining_pods_alone() {
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
        "one of them has to go"
    );
}

#[test]
fn the_operator_is_not_excepted_whatever_it_is_called() {
    let made = |by| written("PodGang", "w-0", by, "1");
    let story = |by| Story::on(Target::KAI).added(made(by)).added(written("PodGroup", "g", "other", "1"));
    let count = |by| writes(&story(by).modified(written("PodGroup", "g", "app", "2")).end(), 2, 3).len();
    assert_eq!((count("op"), count("app")), (0, 1));
}

#[test]
fn what_does_not_count_is_listed() {
    let story = Story::flat().added(written("Pod", "p", "op", "1")).mark(SharedMark::AtRest, Value::Null);
    let history = story
        .modified(written("Pod", "p", "kwok", "2"))
        .modified(written("Pod", "p", "kwok", "3"))
        .modified(written("Pod", "p", "op", "4"))
        .mark(SharedMark::WatchedForRest, Value::Null)
        .modified(written("Pod", "p", "kwok", "5"))
        .end();
    let listed: Vec<_> = excepted(&history).into_iter().collect();
    assert_eq!(listed, [(("kwok".to_owned(), "Pod p".to_owned()), 2)]);
}
