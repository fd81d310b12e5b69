use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_history::testing::{self, Story, canary, object, one_clique, one_clique_gang, owned};
use conformance_history::{History, SharedMark};
use serde_json::{Value, json};

use super::*;

const FOREIGN: &str = "example.com/quota";

fn pod(name: &str, set: &str, gates: &[&str], node: Option<&str>) -> Value {
    let gates: Vec<_> = gates.iter().map(|gate| json!({"name": gate})).collect();
    let clique = format!("{set}-0-worker");
    let pod = json!({
        "kind": "Pod",
        "metadata": {"name": name, "labels": {
            names::PART_OF: set, names::POD_CLIQUE: clique, names::POD_INDEX: name[name.len() - 1..],
            names::POD_GANG: format!("{set}-0"),
        }},
        "spec": {
            "schedulerName": "default-scheduler", "schedulingGates": gates, "nodeName": node,
            "schedulingGroup": {"podGroupName": format!("{set}-0")},
            "containers": [{"resources": {"requests": {names::GPU: "4"}}}],
        },
    });
    owned(pod, "PodClique", &clique)
}

fn gated(name: &str) -> Value {
    pod(name, "w", &[names::GATE], None)
}

fn bound(name: &str) -> Value {
    pod(name, "w", &[], Some("n"))
}

fn gang(initialized: &str) -> Value {
    let mut gang = one_clique_gang("w", 2);
    gang["metadata"]["labels"] = json!({names::SCHEDULER_NAME: "default-scheduler"});
    gang["status"] = json!({"conditions": [{"type": "Initialized", "status": initialized}]});
    gang
}

fn group() -> Value {
    owned(object("PodGroup", "w-0"), "PodGang", "w-0")
}

fn node(gpus: &str) -> Value {
    let allocatable = json!({names::GPU: gpus, "pods": "110"});
    let labels = json!({names::POOL: "ns"});
    json!({"kind": "Node", "metadata": {"name": "n", "labels": labels}, "status": {"allocatable": allocatable}})
}

fn created() -> Story {
    let set = one_clique("w", 2);
    let story = Story::whole().submitted(set.clone()).added(set).added(node("8"));
    story.added(gang("False")).added(gated("w0")).added(gated("w1"))
}

fn ready() -> Story {
    created().added(group()).modified(gang("True"))
}

fn bound_canary(name: &str) -> Value {
    canary(name, Some("canary"))
}

fn passed(story: Story) -> Story {
    let canaries = ["c0", "c1"].map(bound_canary);
    story.all_added(canaries).mark(SharedMark::SchedulerPassed, Value::Null)
}

fn broken_by(history: &History) -> Vec<(&'static str, String, String)> {
    let described = |finding: Finding| match finding.ruling {
        Err(Broken::Violated(found)) => (finding.clause, found[0].code.to_string(), found[0].message.clone()),
        other => panic!("{other:?}"),
    };
    broken(history, &[]).into_iter().map(described).collect()
}

#[rstest::rstest]
#[case::bound_whole(passed(ready().modified(bound("w0")).modified(bound("w1"))))]
#[case::nothing_bound(passed(ready()))]
#[case::being_bound(
    ready().added(bound_canary("c0")).modified(bound("w0")).added(bound_canary("c1"))
        .mark(SharedMark::SchedulerPassed, Value::Null)
)]
#[case::a_pod_was_lost(passed(ready().modified(bound("w0")).modified(bound("w1")).deleted(bound("w1"))))]
#[case::a_failed_pod_requests_nothing({
    let mut failed = bound("w0");
    failed["status"] = json!({"phase": "Failed"});
    ready().modified(bound("w0")).modified(bound("w1")).modified(failed).added(gated("w2")).modified(bound("w2"))
})]
#[case::a_deleted_pod_requests_nothing(
    ready().modified(bound("w0")).modified(bound("w1")).deleted(bound("w1")).added(gated("w2")).modified(bound("w2"))
)]
#[case::the_node_shrinks_below_its_load(
    ready().modified(bound("w0")).modified(bound("w1")).modified(node("4")).modified(bound("w0"))
)]
#[case::the_node_is_deleted(
    ready().modified(bound("w0")).modified(bound("w1")).deleted(node("8")).added(gated("w2")).modified(bound("w2"))
)]
#[case::devices_satisfy_the_requests({
    let mut by_devices = bound("w2");
    let mappings = json!([{"containerName": "c", "resourceName": "nvidia.com/gpu", "requestName": "r"}]);
    by_devices["status"] = json!({"extendedResourceClaimStatus": {"requestMappings": mappings}});
    ready().modified(bound("w0")).modified(bound("w1")).added(gated("w2")).modified(by_devices)
})]
#[case::its_gang_is_deleted_during_the_release({
    let mut deleted = gang("True");
    deleted["spec"]["podgroups"][0]["podReferences"] = json!([{"namespace": "ns", "name": "w0"}]);
    ready().deleted(deleted).deleted(group()).modified(pod("w0", "w", &[], None))
})]
#[case::its_gang_is_deleted_uninitialized(ready().deleted(gang("False")))]
#[case::a_gang_of_an_unknown_backend({
    let mut other = object("PodGang", "x-0");
    other["metadata"]["labels"] = json!({names::SCHEDULER_NAME: "unknown"});
    ready().added(other).added(owned(object("PodGroup.scheduling.volcano.sh", "v"), "PodGang", "x-0"))
})]
fn a_history_without_a_breach_has_no_finding(#[case] story: Story) {
    assert_eq!(broken_by(&story.end()), []);
}

#[rstest::rstest]
#[case::capacity(
    ready().modified(bound("w0")).modified(bound("w1")).added(gated("w2")).modified(bound("w2")),
    "AON-14", "over-capacity", "Pod w2 was bound to Node n, whose pods then requested 12 nvidia.com/gpu of 8 allocatable"
)]
#[case::capacity_of_containers_recorded_once(
    {
        let without_containers = |name| {
            let mut pod = bound(name);
            pod["spec"].as_object_mut().expect("a map").remove("containers").expect("its containers");
            pod
        };
        let two_bound = ready().modified(without_containers("w0")).modified(without_containers("w1"));
        two_bound.added(gated("w2")).modified(without_containers("w2"))
    },
    "AON-14", "over-capacity", "Pod w2 was bound to Node n, whose pods then requested 12 nvidia.com/gpu of 8 allocatable"
)]
#[case::created_ungated(
    ready().added(pod("w2", "w", &[], None)),
    "GANG-05", "created-ungated", "Pod w2 was created without the scheduling gate grove.io/podgang-pending-creation"
)]
#[case::a_second_gate(
    ready().added(pod("w2", "w", &[names::GATE, "grove.io/more"], None)),
    "GANG-05", "second-gate", "Pod w2 was created with grove.io/more, a second scheduling gate of Grove"
)]
#[case::a_foreign_gate(
    ready().added(pod("w2", "w", &[names::GATE, FOREIGN], None)).modified(pod("w2", "w", &[], None)),
    "GANG-17", "foreign-gate-removed", "Pod w2: the write that removed Grove's gate also removed the foreign gate example.com/quota"
)]
#[case::a_template_lost(
    {
        let mut set = one_clique("w", 2);
        set["spec"]["template"]["cliques"][0]["labels"] = json!({"team": "a"});
        ready().submitted(set).mark(SharedMark::Submitted, json!({"name": "w"}))
    },
    "GANG-16", "template-lost",
    "Pod w0 was created with a difference from its template: metadata.labels.team"
)]
#[case::an_addition(
    {
        let mut set = one_clique("w", 2);
        let container = json!({"resources": {"requests": {names::GPU: "4"}}});
        set["spec"]["template"]["cliques"][0]["spec"]["podSpec"] = json!({"containers": [container]});
        let mut other = gated("w2");
        other["spec"]["hostNetwork"] = true.into();
        ready().submitted(set).mark(SharedMark::Submitted, json!({"name": "w"})).added(other)
    },
    "GANG-27", "undocumented-addition",
    "Pod w2 was created with spec.hostNetwork, which its template lacks"
)]
#[case::another_gang(
    {
        let mut other = pod("w0", "w", &[], None);
        other["metadata"]["labels"][names::POD_GANG] = "w-1".into();
        ready().modified(other)
    },
    "GANG-05", "names-another-gang", "label grove.io/podgang of Pod w0 is w-1, want w-0: that PodGang lists the pod's PodClique"
)]
#[case::an_index_twice(
    ready().added(gated("x0")),
    "GANG-18", "duplicate-index", "Pods w0 and x0 both have index 0 of PodClique w-0-worker"
)]
#[case::uninitialized(
    ready().modified(gang("False")),
    "GANG-19", "uninitialized-again", "PodGang w-0: condition Initialized did not stay True"
)]
#[case::before_initialized(
    created().added(group()).modified(pod("w0", "w", &[], None)),
    "GANG-07", "ungated-before-initialized",
    "Pod w0 lost its gate before a PodGang that lists PodClique w-0-worker was Initialized"
)]
#[case::its_gang_is_deleted(
    ready().deleted(gang("True")).added(gated("w2")).modified(pod("w2", "w", &[], None)),
    "GANG-07", "ungated-before-initialized",
    "Pod w2 lost its gate before a PodGang that lists PodClique w-0-worker was Initialized"
)]
#[case::before_the_next_is_initialized(
    {
        let mut next = gang("False");
        next["metadata"]["uid"] = "next".into();
        ready().deleted(gang("True")).added(next).modified(pod("w0", "w", &[], None))
    },
    "GANG-07", "ungated-before-initialized",
    "Pod w0 lost its gate before a PodGang that lists PodClique w-0-worker was Initialized"
)]
#[case::before_its_group(
    created().modified(gang("True")).modified(pod("w0", "w", &[], None)).added(group()),
    "GANG-07", "ungated-before-group", "Pod w0 lost its gate before PodGroup w-0 existed"
)]
#[case::after_its_group_was_deleted(
    ready().deleted(group()).modified(pod("w0", "w", &[], None)),
    "GANG-07", "ungated-before-group", "Pod w0 lost its gate before PodGroup w-0 existed"
)]
#[case::its_gang_was_deleted_uninitialized(
    {
        let mut deleted = gang("False");
        deleted["spec"]["podgroups"][0]["podReferences"] = json!([{"namespace": "ns", "name": "w0"}]);
        created().added(group()).deleted(deleted).modified(pod("w0", "w", &[], None))
    },
    "GANG-07", "ungated-before-initialized",
    "Pod w0 lost its gate before a PodGang that lists PodClique w-0-worker was Initialized"
)]
#[case::its_deleted_gang_lists_other_pods(
    {
        let mut deleted = gang("True");
        deleted["spec"]["podgroups"][0]["podReferences"] = json!([{"namespace": "ns", "name": "w1"}]);
        ready().deleted(deleted).modified(pod("w0", "w", &[], None))
    },
    "GANG-07", "ungated-before-initialized",
    "Pod w0 lost its gate before a PodGang that lists PodClique w-0-worker was Initialized"
)]
#[case::its_gang_no_longer_lists_it(
    {
        let mut without = gang("True");
        without["spec"]["podgroups"] = json!([]);
        ready().modified(without).modified(pod("w0", "w", &[], None))
    },
    "GANG-07", "ungated-before-initialized",
    "Pod w0 lost its gate before a PodGang that lists PodClique w-0-worker was Initialized"
)]
#[case::in_part(
    passed(ready().modified(bound("w0"))),
    "AON-02", "bound-in-part",
    "the unit of PodGang w-0 (2 pods of w-0-worker) had 1 pod bound after a full pass of the scheduler, \
     and was never fully bound"
)]
#[case::membership(
    {
        let mut member = gated("w2");
        member["metadata"]["annotations"] = json!({"scheduling.volcano.sh/group-name": "g"});
        ready().added(member)
    },
    "COEX-02", "member-of-another-backend", "Pod w2 of scheduler default-scheduler names g, a gang resource of volcano"
)]
#[case::a_resource_of_another(
    ready().added(owned(object("PodGroup.scheduling.volcano.sh", "v"), "PodGang", "w-0")),
    "COEX-02", "owned-by-another-backend",
    "PodGroup.scheduling.volcano.sh v, a gang resource of volcano, is owned by a PodGang of default-scheduler"
)]
fn a_broken_invariant_is_a_finding(
    #[case] story: Story,
    #[case] clause: &str,
    #[case] code: &str,
    #[case] message: &str,
) {
    let history = story.end();
    assert_eq!(broken_by(&history), [(clause, code.to_owned(), message.to_owned())]);
}

#[test]
fn a_user_may_name_a_gang_resource_of_another_backend() {
    let annotations = json!({"scheduling.volcano.sh/group-name": "g"});
    let mut set = one_clique("w", 2);
    set["spec"]["template"]["cliques"][0]["annotations"] = annotations.clone();
    let mut member = gated("w2");
    member["metadata"]["annotations"] = annotations;
    let history = ready().submitted(set).added(member).end();
    assert!(broken_by(&history).iter().all(|(clause, ..)| *clause != "COEX-02"), "{:?}", broken_by(&history));
}

#[test]
fn capacity_is_not_checked_for_two_schedulers_on_one_node() {
    let mut other = bound("w2");
    other["spec"]["schedulerName"] = "volcano".into();
    other["spec"]["schedulingGroup"] = Value::Null;
    let history =
        ready().modified(bound("w0")).modified(bound("w1")).added(gated("w2")).modified(other).end();
    assert_eq!(broken_by(&history), []);
}

#[test]
fn a_terminated_unit_may_be_partly_bound() {
    let mut set = one_clique("w", 2);
    set["spec"]["template"]["terminationDelay"] = json!("2s");
    let of_replica = |mut pod: Value| {
        pod["metadata"]["labels"][names::REPLICA_INDEX] = "0".into();
        pod
    };
    let terminating = |name: &str| {
        let mut pod = of_replica(bound(name));
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        pod
    };
    let fully_bound = |pods: [&str; 2]| {
        let story = ready().submitted(set.clone()).modified(set.clone());
        passed(story.all_added(pods.map(|name| of_replica(bound(name)))))
    };
    let terminated = |story: Story| {
        let story = story.modified(terminating("x0")).all_added(["c2", "c3"].map(bound_canary));
        let story = story.mark(SharedMark::SchedulerPassed, Value::Null).modified(terminating("x1"));
        story.added(of_replica(gated("y0"))).added(of_replica(gated("y1"))).end()
    };
    let found = |history: &History| units::whole_or_nothing(&Course::of(history));
    assert_eq!(found(&terminated(fully_bound(["x0", "x1"]))), Ok(()));
}

#[test]
fn a_unit_is_judged_only_after_a_full_pass_of_its_own_scheduler() {
    let in_part = || ready().modified(bound("w0"));
    let found = |story: Story| units::whole_or_nothing(&Course::of(&story.end()));
    let stood_in_for = |name: &str| in_part().mark(SharedMark::BoundBy, json!({"stoodInFor": [name]}));
    assert_eq!(found(passed(stood_in_for("default-scheduler"))), Ok(()));
    assert!(found(passed(stood_in_for("volcano"))).is_err(), "a stand-in for another scheduler");
    let half = in_part().added(bound_canary("c0")).mark(SharedMark::SchedulerPassed, Value::Null);
    assert_eq!(found(half), Ok(()), "one canary does not prove a pass");
    assert_eq!(found(in_part().all_added(["c0", "c1"].map(bound_canary))), Ok(()), "no mark");
    let mut other = bound("w0");
    other["spec"]["schedulerName"] = "volcano".into();
    assert_eq!(found(passed(ready().modified(other))), Ok(()), "another scheduler");
}

#[test]
fn a_unit_of_a_deleted_set_may_be_partly_bound() {
    let in_part = || ready().modified(bound("w0"));
    let found = |story: Story| units::whole_or_nothing(&Course::of(&passed(story).end()));
    let set = one_clique("w", 2);
    let mut ending = set.clone();
    ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    assert!(found(in_part().modified(set.clone())).is_err());
    assert_eq!(found(in_part().modified(ending)), Ok(()));
    assert_eq!(found(in_part().deleted(set)), Ok(()));
}

#[test]
fn a_unit_whose_clique_is_deleted_may_be_partly_bound() {
    let mut set = one_clique("w", 2);
    let lead = json!({"name": "lead", "spec": {"replicas": 1}});
    set["spec"]["template"]["cliques"].as_array_mut().expect("a list").push(lead);
    let mut lead = bound("l0");
    lead["metadata"]["labels"][names::POD_CLIQUE] = "w-0-lead".into();
    let story = || Story::whole().submitted(set.clone()).added(set.clone()).added(lead.clone());
    let after_deletion = |story: Story| passed(story.deleted(object("PodClique", "w-0-worker"))).end();
    let found = |history: &History| units::whole_or_nothing(&Course::of(history));
    assert_eq!(found(&after_deletion(story().all_added(["w0", "w1"].map(bound)))), Ok(()));
    assert!(found(&after_deletion(story().added(bound("w0")))).is_err(), "it was never fully bound");
}

fn with_a_scaled_replica() -> Value {
    json!({"kind": "PodCliqueSet", "metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
        "cliques": [{"name": "a", "spec": {"replicas": 1}}],
        "podCliqueScalingGroups": [{"name": "sg", "replicas": 2, "minAvailable": 1, "cliqueNames": ["a"]}],
    }}})
}

fn of_replica(replica: usize, name: &str, node: Option<&str>) -> Value {
    let labels = json!({
        names::PART_OF: "w", names::POD_CLIQUE: format!("w-0-sg-{replica}-a"), names::REPLICA_INDEX: "0",
        names::SCALING_GROUP: "w-0-sg", names::SCALING_GROUP_REPLICA_INDEX: replica.to_string(),
    });
    let pod =
        json!({"kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": {"nodeName": node}});
    owned(pod, "PodClique", "c")
}

fn scaled(first: usize, then: usize) -> History {
    let pod = |replica: usize| of_replica(replica, &format!("p{replica}"), Some("n"));
    let story = Story::on(Target::VOLCANO).submitted(with_a_scaled_replica());
    story.added(pod(first)).added(pod(then)).end()
}

/// Records that both pods are replaced. The scaled pod is bound after the base pod is deleted and before the
/// base pod's replacement is bound. It is ungated before or after the deletion of the base pod.
fn replaced(set: Value, is_released_before: bool) -> History {
    let bound = |replica, name| of_replica(replica, name, Some("n"));
    let gated = testing::gated(of_replica(1, "b", None));
    let story = Story::on(Target::VOLCANO).submitted(set).added(bound(0, "a")).added(gated);
    let released = |story: Story| story.modified(of_replica(1, "b", None));
    let story = if is_released_before { released(story) } else { story };
    let story = story.deleted(bound(0, "a")).added(of_replica(0, "c", None));
    let story = if is_released_before { story } else { released(story) };
    let story = story.modified(bound(1, "b")).deleted(bound(1, "b")).added(of_replica(1, "d", None));
    story.modified(bound(0, "c")).modified(bound(1, "d")).end()
}

#[test]
fn a_scaled_pod_bound_before_its_base_is_a_violation() {
    let found = |history: &History| base_first::is_kept(&Course::of(history));
    assert_eq!(found(&scaled(0, 1)), Ok(()));
    let message = crate::message(found(&scaled(1, 0)));
    assert_eq!(
        message,
        "Pod p1 of a scaled PodGang was bound before its base PodGang: 0 of 1 required pods of PodClique \
         w-0-sg-0-a were bound"
    );
    assert_eq!(found(&replaced(with_a_scaled_replica(), false)), Ok(()), "an update");
    let mut with_delay = with_a_scaled_replica();
    with_delay["spec"]["template"]["terminationDelay"] = json!("2s");
    assert!(
        crate::message(found(&replaced(with_delay.clone(), false)))
            .contains("b of a scaled PodGang was bound before its base")
    );
    assert_eq!(found(&replaced(with_delay, true)), Ok(()), "a removed gate cannot be restored");
}

#[test]
fn bindings_before_the_base_clique_was_created_again_do_not_count() {
    let pod = |replica: usize| of_replica(replica, &format!("p{replica}"), Some("n"));
    let base = || Story::on(Target::VOLCANO).submitted(with_a_scaled_replica()).added(pod(0));
    let clique = || object("PodClique", "w-0-sg-0-a");
    let found = |story: Story, scaled: Value| base_first::is_kept(&Course::of(&story.added(scaled).end()));
    assert_eq!(found(base().modified(clique()), pod(1)), Ok(()));
    assert!(found(base().deleted(clique()), pod(1)).is_err(), "the clique was deleted");
    let mut other = pod(1);
    other["metadata"]["labels"][names::REPLICA_INDEX] = "1".into();
    assert!(found(base(), other).is_err(), "the base of another replica");
}

#[test]
fn a_scaling_group_is_not_taken_for_one_with_a_similar_name() {
    let mut history = scaled(1, 0);
    let set = history.header.submitted.get_mut("w").expect("it was submitted");
    let groups = set["spec"]["template"]["podCliqueScalingGroups"].as_array_mut().expect("a list");
    groups.insert(0, json!({"name": "0-sg", "cliqueNames": [], "replicas": 1, "minAvailable": 5}));
    assert!(base_first::is_kept(&Course::of(&history)).is_err());
}

#[test]
fn a_unit_is_fully_bound_without_its_idle_clique() {
    let mut set = one_clique("w", 2);
    let lead = json!({"name": "lead", "spec": {"replicas": 1}});
    set["spec"]["template"]["cliques"].as_array_mut().expect("a list").push(lead);
    let bound_with_lead_of = |replicas: u32| {
        let mut lead = object("PodClique", "w-0-lead");
        lead["spec"]["replicas"] = replicas.into();
        let story = Story::whole().submitted(set.clone()).added(set.clone()).added(lead);
        passed(story.all_added(["w0", "w1"].map(bound))).end()
    };
    let found = |history: &History| units::whole_or_nothing(&Course::of(history));
    assert_eq!(found(&bound_with_lead_of(0)), Ok(()));
    assert!(found(&bound_with_lead_of(1)).is_err());
}

#[test]
fn a_scaled_pod_does_not_wait_for_an_idle_clique() {
    let mut set = with_a_scaled_replica();
    let lead = json!({"name": "lead", "spec": {"replicas": 1}});
    set["spec"]["template"]["cliques"].as_array_mut().expect("a list").push(lead);
    let lead = |replicas: u32| {
        let mut lead = object("PodClique", "w-0-lead");
        lead["spec"]["replicas"] = replicas.into();
        lead
    };
    let bound = |replicas: u32| {
        let story = Story::on(Target::VOLCANO).submitted(set.clone()).added(lead(replicas));
        let pods = [0, 1].map(|replica| of_replica(replica, &format!("p{replica}"), Some("n")));
        story.all_added(pods).end()
    };
    let found = |history: &History| base_first::is_kept(&Course::of(history));
    assert_eq!(found(&bound(0)), Ok(()));
    assert!(
        crate::message(found(&bound(1))).contains("0 of 1 required pods of PodClique w-0-lead were bound")
    );
}

#[test]
fn an_invariant_that_a_case_breaks_on_purpose_is_not_checked() {
    let history = ready().modified(gang("False")).end();
    assert_eq!(broken(&history, &[Invariant::StaysInitialized]), []);
    assert_eq!(broken(&history, &[Invariant::Gated]).len(), 1);
}
