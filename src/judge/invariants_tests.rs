//! A history that keeps each invariant, and one that breaks it.

use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_history::testing::{Story, canary, its_gang, object, one_clique, owned};
use conformance_history::{History, SharedMark};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

const FOREIGN: &str = "example.com/quota";

/// A pod of the PodClique `<set>-0-worker`, in the PodGroup of its PodGang.
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
    let mut gang = its_gang("w", 2);
    gang["metadata"]["labels"] = json!({names::SCHEDULER_NAME: "default-scheduler"});
    gang["status"] = json!({"conditions": [{"type": "Initialized", "status": initialized}]});
    gang
}

fn group() -> Value {
    owned(object("PodGroup", "w-0"), "PodGang", "w-0")
}

/// Two pods of 4 GPUs, gated; a node of 8.
fn begun() -> Story {
    let allocatable = json!({names::GPU: "8", "pods": "110"});
    let labels = json!({names::POOL: "ns"});
    let node = json!({"kind": "Node", "metadata": {"name": "n", "labels": labels}, "status": {"allocatable": allocatable}});
    let set = one_clique("w", 2);
    let story = Story::whole().submitted(set.clone()).added(set).added(node);
    story.added(gang("False")).added(gated("w0")).added(gated("w1"))
}

/// They are ready to be released.
fn ready() -> Story {
    begun().added(group()).modified(gang("True"))
}

fn bound_canary(name: &str) -> Value {
    canary(name, Some("canary"))
}

fn passed(story: Story) -> Story {
    let canaries = ["c0", "c1"].map(bound_canary);
    story.all_added(canaries).mark(SharedMark::SchedulerPassed, Value::Null)
}

/// The clauses that are broken, by code and first message.
fn broken_by(history: &History) -> Vec<(&'static str, String, String)> {
    let told = |finding: Finding| match finding.ruling {
        Err(Broken::Violated(found)) => (finding.clause, found[0].code.to_string(), found[0].message.clone()),
        other => panic!("{other:?}"),
    };
    broken(history, &[]).into_iter().map(told).collect()
}

#[rstest]
#[case::bound_whole(passed(ready().modified(bound("w0")).modified(bound("w1"))))]
#[case::nothing_bound(passed(ready()))]
#[case::being_bound(
    ready().added(bound_canary("c0")).modified(bound("w0")).added(bound_canary("c1"))
        .mark(SharedMark::SchedulerPassed, Value::Null)
)]
#[case::a_pod_was_lost(passed(ready().modified(bound("w0")).modified(bound("w1")).deleted(bound("w1"))))]
#[case::a_failed_pod_holds_nothing({
    let mut failed = bound("w0");
    failed["status"] = json!({"phase": "Failed"});
    ready().modified(bound("w0")).modified(bound("w1")).modified(failed).added(gated("w2")).modified(bound("w2"))
})]
fn what_is_in_order_says_nothing(#[case] story: Story) {
    assert_eq!(broken_by(&story.end()), []);
}

#[rstest]
#[case::capacity(
    ready().modified(bound("w0")).modified(bound("w1")).added(gated("w2")).modified(bound("w2")),
    "AON-01", "over-capacity", "w2 was bound to n, which then held 12 nvidia.com/gpu of 8"
)]
#[case::created_ungated(
    ready().added(pod("w2", "w", &[], None)),
    "GANG-05", "created-ungated", "w2 was created without the scheduling gate grove.io/podgang-pending-creation"
)]
#[case::a_second_gate(
    ready().added(pod("w2", "w", &[names::GATE, "grove.io/more"], None)),
    "GANG-05", "second-gate", "w2 was created with grove.io/more, another scheduling gate of Grove's"
)]
#[case::a_foreign_gate(
    ready().added(pod("w2", "w", &[names::GATE, FOREIGN], None)).modified(pod("w2", "w", &[], None)),
    "GANG-05", "foreign-gate-removed", "the release of w2 removed example.com/quota too, which is another's"
)]
#[case::a_template_lost(
    {
        let mut set = one_clique("w", 2);
        set["spec"]["template"]["cliques"][0]["spec"]["podSpec"] = json!({"containers": [{"name": "main"}]});
        ready().submitted(set).mark(SharedMark::Submitted, json!({"name": "w"}))
    },
    "GANG-05", "template-lost",
    "w0 was created without what its template says: spec.containers[main] is not there"
)]
#[case::another_gang(
    {
        let mut other = pod("w0", "w", &[], None);
        other["metadata"]["labels"][names::POD_GANG] = "w-1".into();
        ready().modified(other)
    },
    "GANG-05", "names-another-gang", "label grove.io/podgang of w0 says w-1; PodGang w-0 lists it"
)]
#[case::an_index_twice(
    ready().added(gated("x0")),
    "GANG-05", "index-taken-twice", "w0 and x0 both have index 0 of w-0-worker"
)]
#[case::uninitialized(
    ready().modified(gang("False")),
    "GANG-06", "uninitialized-again", "PodGang w-0 was Initialized and no longer is"
)]
#[case::before_initialized(
    begun().added(group()).modified(pod("w0", "w", &[], None)),
    "GANG-07", "ungated-before-initialized",
    "w0 lost its gate before a PodGang that lists w-0-worker was Initialized"
)]
#[case::before_its_group(
    begun().modified(gang("True")).modified(pod("w0", "w", &[], None)).added(group()),
    "GANG-07", "ungated-before-group", "w0 lost its gate before PodGroup w-0 existed"
)]
#[case::in_part(
    passed(ready().modified(bound("w0"))),
    "AON-02", "bound-in-part",
    "1 pods of the unit of w-0 (2 of w-0-worker) were bound when the scheduler had had its pass, and it was never whole"
)]
#[case::membership(
    {
        let mut member = gated("w2");
        member["metadata"]["annotations"] = json!({"scheduling.volcano.sh/group-name": "g"});
        ready().added(member)
    },
    "COEX-02", "member-of-another-backend", "w2 of default-scheduler says that it is in g of volcano"
)]
#[case::a_resource_of_another(
    ready().added(owned(object("PodGroup.scheduling.volcano.sh", "v"), "PodGang", "w-0")),
    "COEX-02", "owned-by-another-backend",
    "PodGroup.scheduling.volcano.sh v, a resource of volcano, belongs to a PodGang of default-scheduler"
)]
fn a_breach_is_found(#[case] story: Story, #[case] clause: &str, #[case] code: &str, #[case] message: &str) {
    let history = story.end();
    assert_eq!(broken_by(&history), [(clause, code.to_owned(), message.to_owned())]);
}

#[test]
fn two_schedulers_on_one_node_are_not_judged() {
    let mut other = bound("w2");
    other["spec"]["schedulerName"] = "volcano".into();
    other["spec"]["schedulingGroup"] = Value::Null;
    let history =
        ready().modified(bound("w0")).modified(bound("w1")).added(gated("w2")).modified(other).end();
    assert_eq!(broken_by(&history), []);
}

/// A scaling group of minimum 1 with a replica beyond it; `first` and `then` are the replicas whose pod is bound.
fn scaled(first: usize, then: usize) -> History {
    let set = json!({"kind": "PodCliqueSet", "metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
        "cliques": [{"name": "a", "spec": {"replicas": 1}}],
        "podCliqueScalingGroups": [{"name": "sg", "replicas": 2, "minAvailable": 1, "cliqueNames": ["a"]}],
    }}});
    let pod = |replica: usize| {
        let labels = json!({
            names::PART_OF: "w", names::POD_CLIQUE: format!("w-0-sg-{replica}-a"), names::REPLICA_INDEX: "0",
            names::SCALING_GROUP: "w-0-sg", names::SCALING_GROUP_REPLICA_INDEX: replica.to_string(),
        });
        let pod = json!({"kind": "Pod", "metadata": {"name": format!("p{replica}"), "labels": labels}, "spec": {"nodeName": "n"}});
        owned(pod, "PodClique", "c")
    };
    Story::on(Target::VOLCANO).submitted(set).added(pod(first)).added(pod(then)).end()
}

#[test]
fn scaled_pods_wait_for_their_base() {
    let found = |history: &History| base_first::is_kept(&Course::of(history));
    assert_eq!(found(&scaled(0, 1)), Ok(()));
    let message = crate::message(found(&scaled(1, 0)));
    assert_eq!(
        message,
        "p1 of a scaled PodGang was bound before its base: 0 of 1 pods of w-0-sg-0-a had been"
    );
}

#[test]
fn what_a_case_breaks_on_purpose_is_not_judged() {
    let history = ready().modified(gang("False")).end();
    assert_eq!(broken(&history, &[Invariant::StaysInitialized]), []);
    assert_eq!(broken(&history, &[Invariant::Gated]).len(), 1);
}
