//! 3 nodes x 1 GPU; a gang of 2 pods x 1 GPU on two nodes. The case stops the kubelet of one of them. After
//! 12 s the node is NotReady, and 5 s later (the pods' toleration) its pod is deleted. No kubelet confirms
//! the deletion, so the pod still holds its GPU.
//!
//! A terminating pod is not a replica (upstream's `status.replicas`). The case does not force-delete the pod,
//! so an operator that waits for a dead node waits indefinitely.

use conformance_check::{gangs, kubelets};
use conformance_driver::kubelets::nodes_repaired;
use conformance_expect::resolver::resolved;
use conformance_facts::kubelets::node_is_ready;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Pods on a NotReady node are replaced on other nodes; other pods stay", nodes_repaired)
        .clauses(&[KLT_05])
        .nodes(&[nodes(3).gpus(1)])
        .needs(&[Need::Kubelets]);

const SET: &str = "moving";

marks! {
    LOSE = "node lost";
    NOT_READY = "node NotReady";
    REPLACED = "the node's pods replaced";
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit(SET).await?;
    test.until_running(&gangs).await?;
    let node = test.look(|live| live.pods().find_map(|pod| pod.node().map(str::to_owned)));
    let node = node.unwrap_or_default();
    let lost = test.look(|live| -> Vec<_> {
        let on_node = live.pods().filter(|pod| pod.node() == Some(&node));
        on_node.map(|pod| pod.name().to_owned()).collect()
    });
    test.mark(LOSE, json!({"node": node, "pods": lost}));
    test.kind()?.stop_kubelet(&node).await?;
    let is_not_ready = |live: &Live| !node_is_ready(live, &node);
    test.until_in_cluster(
        Awaited::of_harness(format!("node {node} NotReady")),
        limits::NODE_LOSS,
        is_not_ready,
    )
    .await?;
    test.mark(NOT_READY, Value::Null);
    let replaced = |live: &Live| all_run_on_other_nodes(live, &node, &resolved(live, gangs.clone())).is_ok();
    test.until("the node's pods replaced on other nodes", limits::NODE_LOSS, replaced).await?;
    test.mark(REPLACED, Value::Null);
    Ok(())
}

fn all_run_on_other_nodes(live: &Live, node: &str, all: &[Gang]) -> Ruling {
    kubelets::has_no_running_pods(live, node)?;
    precondition(KLT_01, kubelets::all_run(live, all))?;
    precondition(GANG_20, gangs::references_are_the_pods(live, all))
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KLT_05, || {
        let (since, mark) = history.reached(LOSE)?;
        let node = mark.detail["node"].as_str().unwrap_or_default();
        let lost = mark.detail["pods"].as_array().into_iter().flatten();
        let lost: Vec<&str> = lost.filter_map(Value::as_str).collect();
        history.reached(NOT_READY)?;
        // The lost pods are not checked after their kubelet has been restarted.
        history.at(REPLACED, |place| {
            let until = history.upto(place);
            lost.iter().try_for_each(|pod| binding::replaced_in_gang(&until, since, pod))?;
            kubelets::others_kept_running(history, since, place, &lost)?;
            all_run_on_other_nodes(&until.end(), node, &history.gangs(SET)?)
        })
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, index: u32, node: &str) -> Value {
        let mut pod = running(name, "moving-0", "moving-0-worker", node);
        pod["metadata"]["labels"]["grove.io/podclique-pod-index"] = index.to_string().into();
        pod
    }

    fn terminating(mut pod: Value) -> Value {
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        pod
    }

    fn referring_to(pods: &[&str]) -> Value {
        let references: Vec<_> = pods.iter().map(|name| json!({"name": name})).collect();
        let podgroup = json!({"name": "moving-0-worker", "podReferences": references});
        json!({"kind": "PodGang", "metadata": {"name": "moving-0"}, "spec": {"podgroups": [podgroup]}})
    }

    fn after_deletion() -> Story {
        let manifests = grove_yaml::documents(crate::manifest("klt/node-lost")).expect("the manifest");
        let story = manifests.into_iter().fold(Story::flat(), Story::submitted);
        story
            .all_added([referring_to(&["p", "q"]), pod("p", 0, "n"), pod("q", 1, "m")])
            .mark(LOSE, json!({"node": "n", "pods": ["p"]}))
            .mark(NOT_READY, Value::Null)
            .modified(terminating(pod("p", 0, "n")))
    }

    fn ruling(story: Story) -> Ruling {
        check(&story.end()).remove(0).ruling
    }

    #[test]
    fn a_replacement_on_another_node_passes() {
        let replaced = after_deletion().added(pod("r", 0, "o")).modified(referring_to(&["q", "r"]));
        let story = replaced.mark(REPLACED, Value::Null).deleted(terminating(pod("p", 0, "n")));
        assert_eq!(ruling(story), Ok(()));
    }

    #[test]
    fn a_pod_that_is_not_replaced_is_a_violation() {
        let story = after_deletion().mark(SharedMark::WaitTimedOut, Value::Null);
        assert_eq!(message(ruling(story)), "Pod p was not replaced in its gang");
    }

    #[test]
    fn a_replacement_outside_the_gang_is_a_violation() {
        let mut loose = pod("r", 0, "o");
        loose["metadata"]["labels"]["grove.io/podgang"] = "another".into();
        let story = after_deletion().added(loose).mark(SharedMark::WaitTimedOut, Value::Null);
        assert_eq!(message(ruling(story)), "Pod p was not replaced in its gang");
        let unreferred = after_deletion().added(pod("r", 0, "o")).mark(SharedMark::WaitTimedOut, Value::Null);
        let found = ruling(unreferred);
        assert!(matches!(found, Err(Broken::Precondition { clause: GANG_20, .. })), "{found:?}");
    }

    #[test]
    fn another_pod_that_moves_is_a_violation() {
        let story =
            after_deletion().added(pod("r", 0, "o")).deleted(pod("q", 1, "m")).added(pod("s", 1, "m"));
        let story = story.modified(referring_to(&["r", "s"])).mark(REPLACED, Value::Null);
        assert_eq!(message(ruling(story)), "Pod q was deleted, want it to keep running");
    }

    #[test]
    fn another_pod_that_restarts_is_a_violation() {
        let mut restarted = pod("q", 1, "m");
        restarted["status"]["containerStatuses"][0]["restartCount"] = 1.into();
        let replaced = after_deletion().added(pod("r", 0, "o")).modified(referring_to(&["q", "r"]));
        let story = replaced.modified(restarted).mark(REPLACED, Value::Null);
        assert_eq!(
            message(ruling(story)),
            "Pod q had its container worker restarted, want it to keep running"
        );
    }

    #[test]
    fn a_replacement_may_have_another_index() {
        let replaced = after_deletion().added(pod("r", 7, "o")).modified(referring_to(&["q", "r"]));
        assert_eq!(ruling(replaced.mark(REPLACED, Value::Null)), Ok(()));
    }
}
