use conformance_history::testing::{Story, object};

use super::*;
use crate::message;

/// Returns a PodCliqueSet in which clique `b` starts after `a`, of which 2 pods must be Ready.
fn pcs(name: &str, order: &str) -> Value {
    let clique = |name: &str| json!({"name": name, "spec": {"replicas": 3, "minAvailable": 2}});
    json!({"kind": "PodCliqueSet", "metadata": {"name": name}, "spec": {"replicas": 1, "template": {
        "cliqueStartupType": order, "cliques": [clique("a"), clique("b")],
    }}})
}

fn pod(clique: &str, inits: Value) -> Value {
    let mut pod = object("Pod", clique);
    pod["metadata"]["labels"] = json!({names::PART_OF: "w", names::POD_CLIQUE: clique});
    pod["spec"] = json!({"containers": [{"name": "main"}], "initContainers": inits});
    pod
}

fn waiting(args: &[&str]) -> Value {
    json!({"name": INIT_CONTAINER, "args": args, "volumeMounts": [{"name": "t"}]})
}

fn story(pods: Vec<Value>) -> History {
    Story::flat().submitted(pcs("w", "CliqueStartupTypeInOrder")).all_added(pods).end()
}

#[rstest::rstest]
#[case::correct(json!([{"name": "own"}, waiting(&["--podcliques=w-0-a:2"])]), true, true)]
#[case::not_last(json!([waiting(&["--podcliques=w-0-a:2"]), {"name": "own"}]), false, false)]
#[case::none(json!([]), false, false)]
#[case::twice(json!([waiting(&[]), waiting(&["--podcliques=w-0-a:2"])]), false, true)]
#[case::another_count(json!([waiting(&["--podcliques=w-0-a:3"])]), true, false)]
#[case::another_clique(json!([waiting(&["--podcliques=w-0-b:2"])]), true, false)]
#[case::one_too_many(json!([waiting(&["--podcliques=w-0-a:2", "--podcliques=w-0-b:2"])]), false, false)]
fn a_wrong_init_container_or_wrong_parents_are_violations(
    #[case] inits: Value,
    #[case] shape: bool,
    #[case] parents: bool,
) {
    let history = story(vec![pod("w-0-a", Value::Null), pod("w-0-b", inits)]);
    assert_eq!(pods_wait(&history, "w").is_ok(), shape, "{:?}", pods_wait(&history, "w"));
    let ruling = wait_for_right_cliques(&history, "w");
    assert_eq!(ruling.is_ok(), parents, "{ruling:?}");
}

#[test]
fn an_init_container_in_a_clique_without_parents_is_a_violation() {
    let history = story(vec![pod("w-0-a", json!([waiting(&["--podcliques=w-0-b:2"])]))]);
    assert!(message(pods_wait(&history, "w")).contains("although it waits for no clique"));
}

#[test]
fn a_hash_that_depends_on_the_startup_order_is_a_violation() {
    let pclq = |name: &str, set: &str, hash: &str| {
        let mut pclq = object("PodClique", name);
        pclq["metadata"]["labels"] = json!({names::PART_OF: set, names::POD_TEMPLATE_HASH: hash});
        pclq
    };
    let check = |hash: &str| {
        let story = Story::flat().added(pclq("w-0-a", "w", "h")).added(pclq("v-0-a", "v", hash)).end();
        same_hashes(&story, "w", "v")
    };
    assert_eq!(check("h"), Ok(()));
    assert!(message(check("g")).contains("without a startup order"));
}

/// Returns a pod of a clique of `w-0` on a node, Ready or with started containers.
fn bound(name: &str, clique: &str, ready: bool, started: bool) -> Value {
    let mut pod = object("Pod", name);
    let labels = json!({names::PART_OF: "w", names::REPLICA_INDEX: "0", names::POD_CLIQUE: clique});
    pod["metadata"]["labels"] = labels;
    pod["spec"]["nodeName"] = json!("n");
    let state = if started { json!({"running": {}}) } else { json!({"waiting": {}}) };
    let ready = if ready { "True" } else { "False" };
    pod["status"] = json!({"conditions": [{"type": "Ready", "status": ready}],
                           "containerStatuses": [{"name": "main", "state": state}]});
    pod
}

fn created_and_bound() -> Story {
    let story = Story::flat().submitted(pcs("w", "CliqueStartupTypeInOrder"));
    let parents = ["p", "q"].map(|name| bound(name, "w-0-a", false, true));
    story.all_added(parents).added(bound("c", "w-0-b", false, false))
}

#[test]
fn a_pod_that_starts_before_its_parents_are_ready_at_once_violates() {
    let ready = |name: &str| bound(name, "w-0-a", true, true);
    let check = |story: Story| {
        parents_first(&story.modified(bound("c", "w-0-b", false, true)).end(), "w", 0..usize::MAX)
    };
    assert_eq!(check(created_and_bound().modified(ready("p")).modified(ready("q"))), Ok(()));
    let one = created_and_bound().modified(ready("p"));
    assert!(message(check(one)).starts_with("Pod c started before"));
    let one_after_the_other = created_and_bound()
        .modified(ready("p"))
        .modified(bound("p", "w-0-a", false, true))
        .modified(ready("q"));
    assert!(check(one_after_the_other).is_err(), "never at the same time");
    let similar_name = created_and_bound().modified(ready("p")).added(bound("r", "w-0-a-b", true, true));
    assert!(check(similar_name).is_err());
}

#[test]
fn a_pod_that_starts_because_of_parents_of_the_old_generation_violates() {
    let of_old = || {
        let ready = |name: &str| bound(name, "w-0-a", true, true);
        created_and_bound()
            .modified(ready("p"))
            .modified(ready("q"))
            .modified(bound("c", "w-0-b", false, true))
    };
    let terminating = |name: &str, clique: &str| {
        let mut pod = bound(name, clique, true, true);
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        pod
    };
    let terminated = || {
        let cliques = [("c", "w-0-b"), ("p", "w-0-a"), ("q", "w-0-a")];
        let old_deleted = cliques
            .into_iter()
            .fold(of_old(), |story, (name, clique)| story.modified(terminating(name, clique)));
        let parents = ["r", "s"].map(|name| bound(name, "w-0-a", false, true));
        old_deleted.added(bound("d", "w-0-b", false, false)).all_added(parents)
    };
    let check = |story: Story| {
        parents_first(&story.modified(bound("d", "w-0-b", false, true)).end(), "w", 0..usize::MAX)
    };
    assert!(message(check(terminated())).starts_with("Pod d started before"));
    let ready = ["r", "s"].map(|name| bound(name, "w-0-a", true, true));
    let parents_ready = ready.into_iter().fold(terminated(), Story::modified);
    assert_eq!(check(parents_ready), Ok(()));
}

#[test]
fn a_pod_that_starts_within_the_entries_is_a_violation() {
    let started = || created_and_bound().modified(bound("c", "w-0-b", false, true)).end();
    assert!(none_starts(&started(), "w-0-b", Some(0), None).is_err());
    assert_eq!(none_starts(&started(), "w-0-b", None, None), Ok(()));
    assert_eq!(none_starts(&started(), "w-0-a", Some(usize::MAX - 1), None), Ok(()));
}

#[test]
fn a_token_in_another_container_is_a_violation() {
    let with = |mounts: Value| {
        let mut pod = pod("w-0-b", json!([waiting(&["--podcliques=w-0-a:2"])]));
        pod["spec"]["volumes"] = json!([{"name": "t", "secret": {"secretName": "w-token"}}]);
        pod["spec"]["containers"][0]["volumeMounts"] = mounts;
        token_in_one_container(&story(vec![pod]), "w")
    };
    assert_eq!(with(json!([])), Ok(()));
    assert!(message(with(json!([{"name": "t"}]))).contains("has the token w-token"));
}

#[rstest::rstest]
#[case::least(json!([{"apiGroups": [""], "resources": ["pods", "pods/status"], "verbs": ["get", "list", "watch"]}]), None)]
#[case::to_delete(json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch", "delete"]}]), Some("delete"))]
#[case::secrets(json!([{"apiGroups": [""], "resources": ["pods", "secrets"], "verbs": ["list", "watch"]}]), Some("secrets"))]
#[case::all(json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]), Some("*"))]
#[case::nothing(json!([]), Some("may not get pods"))]
#[case::more_than_every_account(
    json!([
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["certificates.k8s.io"], "resources": ["clustertrustbundles"], "verbs": ["get", "delete"]},
    ]),
    Some("clustertrustbundles")
)]
fn missing_or_additional_permissions_are_a_violation(#[case] rules: Value, #[case] fault: Option<&str>) {
    let allow = |group: &str, resource: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    let self_review = allow("authorization.k8s.io", "selfsubjectrulesreviews", &["create"]);
    let bundles = allow("certificates.k8s.io", "clustertrustbundles", &["get", "list", "watch"]);
    let of_all = [self_review, bundles];
    let rules: Vec<_> = list(&rules).iter().chain(&of_all).cloned().collect();
    let detail = json!({"account": "w", "rules": rules, "ofAll": of_all});
    let mark = Mark { name: "rights".into(), detail };
    match fault {
        None => assert_eq!(minimal_permissions(&mark), Ok(())),
        Some(fault) => assert!(message(minimal_permissions(&mark)).contains(fault)),
    }
}

#[test]
fn access_to_pods_of_other_namespaces_is_a_violation() {
    let pods = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]);
    let leases = json!([{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]}]);
    let check = |elsewhere: &Value| {
        let detail = json!({"account": "w", "rules": pods, "elsewhere": elsewhere});
        minimal_permissions(&Mark { name: "rights".into(), detail })
    };
    assert_eq!(check(&leases), Ok(()));
    assert!(message(check(&pods)).contains("pods of other namespaces"));
}
