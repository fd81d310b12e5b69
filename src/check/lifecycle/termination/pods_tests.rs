use conformance_expect::scopes::replicas;
use conformance_facts::testing::{
    clique, deleting, pair, pod, pods_of, running, running_clique, scope, set, terminating_pod,
};
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
    assert!(message(check(with_pods(half, &["c"]))).contains("PodClique w-0-a kept 1 pod, want 0"));
    assert!(message(check(with_pods(deleted(), &["c"]))).contains("has 1 pod bound and 1 in all, want 2"));
    let terminating = with_pods(deleted(), &["c", "d"]).modified(terminating_pod("d"));
    assert!(message(check(terminating)).contains("has 1 pod bound and 2 in all"));
}

#[test]
fn each_pod_clique_gets_its_pods_again() {
    let old = pods_of("first", &["a", "b"], Some("n"));
    let terminated =
        || old.iter().cloned().map(deleting).fold(running_clique().added(set(1)), Story::modified);
    let check = |story: Story| {
        let history = story.later(20).added(object("Event", "e")).end();
        recreated(&history, &pair(), &scope())
    };
    let new = |names: &[&str]| terminated().all_added(pods_of("first", names, None));
    assert_eq!(check(new(&["c", "d"])), Ok(()));
    let found = message(check(new(&["c"])));
    assert!(found.contains("PodClique w-0-a got 1 new pods after"), "{found}");
    assert!(found.contains("want 2: its spec.replicas is 2"), "{found}");
    assert!(message(check(terminated())).contains("got 0 new pods"), "the PodClique was kept");
    let gone = terminated().deleted(clique("first", 2));
    assert!(message(check(gone)).contains(
        "got 0 new pods after replica 0 of PodCliqueSet w was gang-terminated, want 2: it does not exist"
    ));
    let scaled_out = running_clique().modified(clique("first", 3)).added(set(1));
    let scaled_out = old.iter().cloned().map(deleting).fold(scaled_out, Story::modified);
    let as_the_template = scaled_out.all_added(pods_of("first", &["c", "d"], None));
    assert_eq!(check(as_the_template), Ok(()), "other clauses are about the replicas of a scaled PodClique");
}

#[test]
fn pods_that_are_created_again_too_late_are_a_violation() {
    let rulings = |after: i64| {
        let old = pods_of("first", &["a", "b"], Some("n"));
        let terminated = old.into_iter().map(deleting).fold(running_clique().added(set(1)), Story::modified);
        let created = terminated.later(after).all_added(pods_of("first", &["c", "d"], None));
        let history = created.later(20).added(object("Event", "e")).end();
        [recreated, recreated_in_time].map(|check| check(&history, &pair(), &scope()))
    };
    assert_eq!(rulings(10), [Ok(()), Ok(())]);
    let [eventually, in_time] = rulings(11);
    assert_eq!(eventually, Ok(()));
    let found = message(in_time);
    assert!(found.contains("PodClique w-0-a got 0 new pods within 10 s after"), "{found}");
}

#[test]
fn a_replica_of_a_scaling_group_gets_its_pods_again_unless_it_was_scaled_in() {
    let group = json!({"name": "sg", "replicas": 2, "minAvailable": 1, "cliqueNames": ["b"]});
    let template = json!({"cliques": [{"name": "b", "spec": {}}], "podCliqueScalingGroups": [group]});
    let pcs = json!({"kind": "PodCliqueSet", "metadata": {"name": "w"},
                     "spec": {"replicas": 1, "template": template}});
    let replica = replicas(&pcs).remove(0);
    let group = |replicas: usize| {
        let mut group = object("PodCliqueScalingGroup", "w-0-sg");
        group["spec"]["replicas"] = json!(replicas);
        group
    };
    let clique = |replicas: usize| {
        let mut clique = object("PodClique", "w-0-sg-1-b");
        clique["spec"]["replicas"] = json!(replicas);
        clique
    };
    let mut member = pod("a", Some("n"));
    let labels = &mut member["metadata"]["labels"];
    labels[names::POD_CLIQUE] = json!("w-0-sg-1-b");
    labels[names::SCALING_GROUP] = json!("w-0-sg");
    labels[names::SCALING_GROUP_REPLICA_INDEX] = json!("1");
    let terminated = Story::flat().added(pcs).added(group(2)).added(clique(1)).added(member.clone());
    let terminated = terminated.modified(deleting(member));
    let check = |story: Story| {
        let history = story.later(20).added(object("Event", "e")).end();
        recreated(&history, &replica, &Scope::GroupReplica { group: "w-0-sg".into(), index: 1 })
    };
    let found = message(check(terminated.clone()));
    assert!(
        found.contains("PodClique w-0-sg-1-b got 0 new pods after replica 1 of scaling group w-0-sg"),
        "{found}"
    );
    assert_eq!(check(terminated.modified(group(1))), Ok(()));
}
