//! Facts about pods on kubelets. A pod runs if its phase is Running and all of its containers run.

use conformance_contract::names;
use conformance_expect::Gang;
use conformance_history::{Live, Pod, condition, text};
use serde_json::Value;

use crate::cliques::pods_of;
use crate::deviation::Deviation;

pub fn runs(pod: Pod<'_>) -> bool {
    let containers = containers(pod);
    pod.0["status"]["phase"] == "Running"
        && !containers.is_empty()
        && containers.iter().all(|container| container["state"]["running"].is_object())
}

pub fn containers(pod: Pod<'_>) -> &[Value] {
    pod.0["status"]["containerStatuses"].as_array().map(Vec::as_slice).unwrap_or_default()
}

pub fn waits(pod: Pod<'_>) -> impl Iterator<Item = (&str, &str)> {
    let waiting = containers(pod).iter().map(|container| &container["state"]["waiting"]);
    waiting.filter(|state| state.is_object()).map(|state| (text(&state["reason"]), text(&state["message"])))
}

/// Returns the PodCliques with fewer running pods than replicas, each with the status of one other pod.
pub fn not_running<'a>(live: &'a Live, gangs: &'a [Gang]) -> impl Iterator<Item = Deviation<'a>> {
    gangs.iter().flat_map(|gang| &gang.groups).filter_map(move |group| {
        let running = pods_of(live, &group.clique).filter(|pod| runs(*pod)).count();
        if running >= group.replicas {
            return None;
        }
        let message = format!(
            "{running} of {} pods of PodClique {} are running, want all",
            group.replicas, group.clique
        );
        let Some(other) = pods_of(live, &group.clique).find(|pod| !runs(*pod)) else {
            return Some(Deviation::new((), message));
        };
        let why = waits(other).next().map(|(reason, message)| format!("{reason}: {message}"));
        let why = why.unwrap_or_else(|| text(&other.0["status"]["phase"]).to_owned());
        let message = format!("{message}; Pod {}: {why}", other.name());
        Some(Deviation::new((), message).shown_by("not running", other.0))
    })
}

/// Returns the GPUs that a node's kubelet reports as allocatable, or `None` if the node does not exist.
pub fn gpus(live: &Live, node: &str) -> Option<u64> {
    let allocatable = &live.get("Node", node)?["status"]["allocatable"][names::GPU];
    Some(allocatable.as_str().and_then(|amount| amount.parse().ok()).unwrap_or(0))
}

pub fn node_is_ready(live: &Live, node: &str) -> bool {
    let node = live.get("Node", node);
    node.and_then(|node| condition(node, "Ready")).is_some_and(|found| found["status"] == "True")
}

#[cfg(test)]
mod tests {
    use conformance_expect as expect;
    use conformance_history::testing::{Story, node, one_clique, running};
    use serde_json::json;

    use super::*;

    fn messages(pods: &[Value]) -> Vec<String> {
        let live = Story::flat().all_added(pods.iter().cloned()).end().end();
        let gangs = expect::testing::named_gangs(&one_clique("w", 2));
        not_running(&live, &gangs).map(|found| found.message).collect()
    }

    #[test]
    fn a_pod_with_a_waiting_container_is_not_running() {
        let mut pods = ["p", "q"].map(|name| running(name, "w-0", "w-0-worker", "n"));
        assert!(messages(&pods).is_empty());
        assert_eq!(messages(&pods[..1]), ["1 of 2 pods of PodClique w-0-worker are running, want all"]);
        let refused = json!({"waiting": {"reason": "ErrImagePull", "message": "no"}});
        pods[1]["status"]["containerStatuses"] = json!([{"state": {"running": {}}}, {"state": refused}]);
        let waiting = "1 of 2 pods of PodClique w-0-worker are running, want all; Pod q: ErrImagePull: no";
        assert_eq!(messages(&pods), [waiting]);
    }

    #[test]
    fn a_node_reports_its_gpus_and_its_readiness() {
        let live = Story::flat().added(node("n", 6)).end().end();
        assert_eq!((gpus(&live, "n"), gpus(&live, "m")), (Some(6), None));
        assert!(node_is_ready(&live, "n") && !node_is_ready(&live, "m"));
        let mut silent = node("n", 0);
        silent["status"]["allocatable"] = json!({});
        silent["status"]["conditions"][0]["status"] = "Unknown".into();
        let live = Story::flat().added(silent).end().end();
        assert_eq!(gpus(&live, "n"), Some(0));
        assert!(!node_is_ready(&live, "n"));
    }
}
