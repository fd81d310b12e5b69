use conformance_contract::target::Target;
use conformance_expect as expect;
use conformance_expect::Expected;
use conformance_facts::testing::deleting;
use conformance_history::testing::{Story, object, one_clique, owned};
use serde_json::json;

use super::*;
use crate::message;

fn set() -> Value {
    json!({"kind": "PodCliqueSet", "metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
        "cliques": [{"name": "a", "spec": {"replicas": 2}}]}}})
}

fn clique() -> Value {
    owned(object("PodClique", "w-0-a"), "PodCliqueSet", "w")
}

fn gang(name: &str) -> Value {
    let references = json!([{"name": "p-0"}, {"name": "p-1"}]);
    let mut gang = owned(object("PodGang", name), "PodCliqueSet", "w");
    gang["spec"] = json!({"podgroups": [{"name": "w-0-a", "minReplicas": 2, "podReferences": references}]});
    gang
}

fn group(name: &str, gang: &str) -> Value {
    owned(object("PodGroup", name), "PodGang", gang)
}

fn pod(index: usize, gang: &str, group: &str) -> Value {
    json!({
        "kind": "Pod",
        "metadata": {"name": format!("p-{index}"), "labels":
            {names::PART_OF: "w", names::POD_CLIQUE: "w-0-a", names::POD_GANG: gang}},
        "spec": {"nodeName": "n", "schedulingGroup": {"podGroupName": group}},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"restartCount": 0}],
        },
    })
}

fn old(index: usize) -> Value {
    pod(index, "w-0", "w-0-g")
}

fn gated() -> Value {
    let mut pod = old(1);
    pod["spec"] =
        json!({"schedulingGroup": {"podGroupName": "w-0-g"}, "schedulingGates": [{"name": names::GATE}]});
    pod["status"] = json!({});
    pod
}

fn before() -> Story {
    before_with(old(1))
}

fn before_with(second: Value) -> Story {
    let all = [set(), clique(), gang("w-0"), group("w-0-g", "w-0"), old(0), second];
    Story::flat().all_added(all).mark(SharedMark::UpgradeStarted, Value::Null)
}

fn renamed() -> Story {
    let new = [gang("w-0-7"), group("w-0-7-g", "w-0-7")];
    let moved =
        (0..2).fold(before().all_added(new), |story, index| story.modified(pod(index, "w-0-7", "w-0-7-g")));
    moved.deleted(group("w-0-g", "w-0")).deleted(gang("w-0"))
}

fn upgrade(history: &History) -> Range<usize> {
    history.reached(SharedMark::UpgradeStarted).unwrap().0..history.entries.len()
}

#[test]
fn a_migration_to_other_names_in_the_right_order_passes() {
    let history = renamed().end();
    let end = history.end();
    assert_eq!(untouched(&history, upgrade(&history)), Ok(()));
    assert_eq!(joins_what_exists(&history, upgrade(&history)), Ok(()));
    assert_eq!(one_scheme(&history, &end), Ok(()));
    assert_eq!(migrated(&end), Ok(()));
    assert_eq!(composed(&end, "w", &expect::gangs(&set())), Ok(()));
}

fn with(mut object: Value, field: &str, value: Value) -> Value {
    *object.pointer_mut(field).unwrap() = value;
    object
}

#[rstest::rstest]
#[case::deleted(
    |story: Story| story.deleted(old(0)),
    "Pod p-0 was bound before the upgrade, but it was deleted"
)]
#[case::terminating(
    |story: Story| story.modified(deleting(old(0))).deleted(old(0)),
    "Pod p-0 was bound before the upgrade, but it is being deleted"
)]
#[case::moved(
    |story: Story| story.modified(with(old(0), "/spec/nodeName", json!("m"))),
    "Pod p-0 was bound before the upgrade, but it is now on another node"
)]
#[case::restarted(
    |story: Story| story.modified(with(old(0), "/status/containerStatuses/0/restartCount", json!(1))),
    "Pod p-0 was bound before the upgrade, but one of its containers was restarted"
)]
#[case::not_ready_for_a_moment(
    |story: Story| {
        story.modified(with(old(0), "/status/conditions/0/status", json!("False"))).modified(old(0))
    },
    "Pod p-0 was bound before the upgrade, but it is no longer Running and Ready"
)]
#[case::failed(
    |story: Story| story.modified(with(old(0), "/status/phase", json!("Failed"))),
    "Pod p-0 was bound before the upgrade, but it is no longer Running and Ready"
)]
#[case::bound_since(
    |story: Story| {
        let mut late = old(2);
        late["metadata"]["uid"] = "late".into();
        story.added(late.clone()).deleted(late)
    },
    "Pod p-2 was bound before the upgrade, but it was deleted"
)]
#[case::the_set(|story: Story| story.modified(deleting(set())), "PodCliqueSet w was deleted during the upgrade")]
fn a_disturbed_pod_or_pod_clique_set_is_one_violation(
    #[case] then: fn(Story) -> Story,
    #[case] expected: &str,
) {
    let history = then(before()).end();
    let found = crate::messages(untouched(&history, upgrade(&history)));
    assert_eq!(found, [expected]);
}

#[test]
fn deletions_before_the_upgrade_and_of_unbound_pods_do_not_count() {
    let story = Story::flat().added(old(0)).deleted(old(0)).added(old(1)).added(gated_named("p-9"));
    let history = story.mark(SharedMark::UpgradeStarted, Value::Null).deleted(gated_named("p-9")).end();
    assert_eq!(untouched(&history, upgrade(&history)), Ok(()));
    let history = Story::flat().added(gated()).mark(SharedMark::UpgradeStarted, Value::Null).end();
    assert!(matches!(untouched(&history, upgrade(&history)), Err(Broken::NotReached(_))));
}

fn gated_named(name: &str) -> Value {
    with(gated(), "/metadata/name", json!(name))
}

fn ungated() -> Value {
    let mut pod = gated();
    pod["spec"].as_object_mut().unwrap().remove("schedulingGates");
    pod
}

#[rstest::rstest]
#[case::label(
    |story: Story| story.modified(pod(0, "w-0-7", "w-0-g")).added(gang("w-0-7")),
    "Pod p-0 was labelled with PodGang w-0-7, which did not exist yet"
)]
#[case::membership(
    |story: Story| story.modified(pod(0, "w-0", "w-0-7-g")).added(group("w-0-7-g", "w-0")),
    "Pod p-0 joined PodGroup w-0-7-g, which did not exist yet"
)]
#[case::gang_deleted(
    |story: Story| story.deleted(gang("w-0")).modified(ungated()),
    "Pod p-1 lost its gate for PodGang w-0, which did not exist yet"
)]
#[case::group_missing_for_a_moment(
    |story: Story| story.deleted(group("w-0-g", "w-0")).modified(ungated()).added(group("w-0-g", "w-0")),
    "Pod p-1 lost its gate for PodGroup w-0-g, which did not exist yet"
)]
fn a_pod_that_joins_a_missing_object_violates(#[case] then: fn(Story) -> Story, #[case] expected: &str) {
    let history = then(before_with(gated())).end();
    assert_eq!(message(joins_what_exists(&history, upgrade(&history))), expected);
}

#[test]
fn a_gate_may_be_removed_when_gang_and_group_exist() {
    let history = before_with(gated()).modified(ungated()).end();
    assert_eq!(joins_what_exists(&history, upgrade(&history)), Ok(()));
}

#[rstest::rstest]
#[case::both_gangs(
    |story: Story| story.added(gang("w-0")),
    "PodClique w-0-a is in two PodGangs: w-0 and w-0-7"
)]
#[case::gang_of_a_missing_clique(
    |story: Story| story.added(with(gang("v-0"), "/spec/podgroups/0/name", json!("v-0-a"))),
    "PodGang v-0 still exists, but its PodClique v-0-a does not"
)]
#[case::not_listed(
    |story: Story| story.modified(with(gang("w-0-7"), "/spec/podgroups/0/podReferences", json!([{"name": "p-1"}]))),
    "Pod p-0 names PodGang w-0-7, which does not list it"
)]
#[case::old_label(
    |story: Story| story.modified(pod(0, "w-0", "w-0-7-g")),
    "Pod p-0 names PodGang w-0, which does not exist"
)]
#[case::no_label(
    |story: Story| story.modified(with(old(0), "/metadata/labels", json!({names::POD_CLIQUE: "w-0-a"}))),
    "Pod p-0 names no PodGang"
)]
#[case::group_deleted(
    |story: Story| story.deleted(group("w-0-7-g", "w-0-7")),
    "Pod p-0 is a member of PodGroup w-0-7-g, which does not exist"
)]
#[case::no_owner(|story: Story| story.added(object("PodGroup", "w-0-g")), "PodGroup w-0-g has no owner reference")]
#[case::owner_deleted(
    |story: Story| story.added(group("w-0-g", "w-0")),
    "PodGroup w-0-g still exists, but its owner PodGang w-0 does not"
)]
fn a_remnant_of_the_old_scheme_is_a_violation(#[case] then: fn(Story) -> Story, #[case] expected: &str) {
    let history = then(renamed()).end();
    assert_eq!(message(one_scheme(&history, &history.end())), expected);
}

#[test]
fn canaries_and_owners_of_kinds_that_are_not_watched_do_not_count() {
    let mut canary = object("PodGroup", "canary-0-ns");
    canary["metadata"]["labels"] = json!({names::CANARY: "true"});
    let of_a_map = owned(object("PodClique", "w-0-b"), "PodGangMap", "w-0");
    let history = renamed().added(canary).added(of_a_map).end();
    assert_eq!(one_scheme(&history, &history.end()), Ok(()));
}

#[test]
fn a_condition_that_still_reports_a_migration_is_a_violation() {
    let migrating = |status: &str| {
        let mut set = set();
        set["status"] = json!({"conditions": [{"type": "PodGangMigrationInProgress", "status": status}]});
        set
    };
    let during = before().modified(migrating("True"));
    assert_eq!(
        message(migrated(&during.end().end())),
        "PodCliqueSet w: condition \"PodGangMigrationInProgress\" is still True"
    );
    assert_eq!(
        migrated(&before().modified(migrating("True")).modified(migrating("False")).end().end()),
        Ok(())
    );
}

#[rstest::rstest]
#[case::no_gang(|story: Story| story.deleted(gang("w-0-7")), "0 PodGangs consist of exactly w-0-a, want 1")]
#[case::another_podgroup(
    |story: Story| {
        let mut larger = gang("w-0-7");
        larger["spec"]["podgroups"].as_array_mut().unwrap().push(json!({"name": "w-0-b"}));
        story.modified(larger)
    },
    "0 PodGangs consist of exactly w-0-a, want 1"
)]
#[case::not_ready(
    |story: Story| story.modified(with(pod(0, "w-0-7", "w-0-7-g"), "/status/conditions/0/status", json!("False"))),
    "PodClique w-0-a has 2 pods, 1 of them bound and Ready, want 2"
)]
#[case::one_too_many(
    |story: Story| story.added(with(pod(2, "w-0-7", "w-0-7-g"), "/metadata/labels/grove.io~1podclique", json!("w-1-a"))),
    "Pod p-2 names PodGang w-0-7, which does not list it"
)]
fn a_pod_clique_set_with_other_gangs_or_pods_is_a_violation(
    #[case] then: fn(Story) -> Story,
    #[case] expected: &str,
) {
    let history = then(renamed()).end();
    assert_eq!(message(composed(&history.end(), "w", &expect::gangs(&set()))), expected);
}

#[test]
fn a_pod_clique_set_scaled_to_0_must_have_no_pods() {
    let history = Story::flat().added(set()).end();
    assert_eq!(composed(&history.end(), "w", &[]), Ok(()));
    let history = before().end();
    assert_eq!(
        message(composed(&history.end(), "w", &[])),
        "PodClique w-0-a has 2 pods, 2 of them bound and Ready, want 0"
    );
}

#[test]
fn a_bound_pod_deleted_without_a_scale_in_is_a_violation() {
    let gangs = expect::gangs(&set());
    let smaller = {
        let mut set = set();
        set["spec"]["template"]["cliques"][0]["spec"]["replicas"] = json!(1);
        expect::gangs(&set)
    };
    let kept = before().end();
    assert_eq!(bystanders_kept(&kept, upgrade(&kept), &gangs, &gangs), Ok(()));
    let one_less = before().deleted(old(1)).end();
    assert_eq!(bystanders_kept(&one_less, upgrade(&one_less), &gangs, &smaller), Ok(()));
    assert_eq!(
        message(bystanders_kept(&one_less, upgrade(&one_less), &gangs, &gangs)),
        "1 of 2 bound pods of PodClique w-0-a were kept, want 2"
    );
    assert_eq!(bystanders_kept(&one_less, upgrade(&one_less), &gangs, &[]), Ok(()));
}

#[test]
fn without_gang_resources_only_pod_gangs_count() {
    let story = Story::on(Target::EXTERNAL).all_added([set(), clique(), gang("w-0"), old(0), gated()]);
    let history = story.mark(SharedMark::UpgradeStarted, Value::Null).modified(ungated()).end();
    assert_eq!(joins_what_exists(&history, upgrade(&history)), Ok(()));
}

const SHORT: &str = "short";

fn pending(bound_before: usize) -> Story {
    let story = Story::flat().submitted(one_clique(SHORT, 2)).workers(SHORT, 2, bound_before);
    story.mark(SharedMark::SchedulerPassed, Value::Null).mark(SharedMark::UpgradeStarted, Value::Null)
}

fn upgraded(story: Story) -> Story {
    story.mark(SharedMark::UpgradeEnded, Value::Null).mark(SharedMark::SchedulerPassed, Value::Null)
}

#[rstest::rstest]
#[case::fully_bound_when_capacity_is_added(
    upgraded(pending(0)).workers(SHORT, 2, 2), [Some(true), Some(true)]
)]
#[case::never_bound(upgraded(pending(0)), [Some(true), Some(false)])]
#[case::bound_in_part_meanwhile(
    upgraded(pending(0).workers(SHORT, 2, 1)).workers(SHORT, 2, 2),
    [Some(false), Some(true)]
)]
#[case::bound_in_part_by_an_upgrade_that_never_ended(pending(0).workers(SHORT, 2, 1), [Some(false), None])]
#[case::not_ended(pending(0), [None, None])]
#[case::bound_in_part_by_the_old_one(upgraded(pending(1)), [None, None])]
fn a_gang_partly_bound_during_the_upgrade_is_a_violation(
    #[case] story: Story,
    #[case] wanted: [Option<bool>; 2],
) {
    let history = story.end();
    let (start, units) = (upgrade(&history).start, history.units(SHORT).unwrap());
    let rulings = [pending_throughout(&history, start, &units), bound_after_upgrade(&history, start, &units)];
    let verdicts = rulings.each_ref().map(|ruling| match ruling {
        Ok(()) => Some(true),
        Err(Broken::Violated(_)) => Some(false),
        Err(_) => None,
    });
    assert_eq!(verdicts, wanted, "{rulings:?}");
}
