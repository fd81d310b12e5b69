//! Nodes of an existing cluster, leased to cases with their real capacity. A blocker pod requests the GPUs
//! that a case does not want, and the node with the fewest GPUs limits all nodes. The annotation [`PREVIOUS`]
//! has a node's previous state, which is restored after each case, or by `clean`.

use std::time::Duration;

use conformance_contract::names::{BLOCK, CANARY, RACK};
use k8s_openapi::api::core::v1::{Container, Node, Pod};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt};
use serde_json::{Map, Value, json};

use super::polling::until_complete;
use super::{ClusterError, deploy};

/// Annotation of a leased node: the previous values of the labels that a run changed, and its taints.
pub(crate) const PREVIOUS: &str = "conformance.grove.io/was";
const OURS: &str = "conformance.grove.io/";
/// Prefix of the topology labels that a case sets on its nodes.
const DOMAINS: &str = "topology.kubernetes.io/";
const GPU: &str = "nvidia.com/gpu";
/// How long a blocker pod may take to start, in a namespace that may be new, and how long to be deleted.
const BLOCKER: Duration = Duration::from_secs(60);
/// How often a patch is tried if it conflicts with writes of the kubelet.
const TRIES: u32 = 5;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedNodes {
    /// `KEY=VALUE`.
    pub selector: String,
    /// The index of this run's share, from 0, and the number of shares. Nodes are assigned to shares by name.
    pub share: Option<(usize, usize)>,
}

pub(crate) struct RealNodes {
    client: Client,
    namespace: String,
    pub(crate) gpus: u32,
}

impl RealNodes {
    /// Leases the free nodes of this share. The node with the fewest GPUs is for canaries, and not returned.
    pub(crate) async fn take(
        client: Client,
        LeasedNodes { selector, share }: &LeasedNodes,
        run: (&str, &str),
    ) -> Result<(Self, Vec<Node>), ClusterError> {
        let nodes: Api<Node> = Api::all(client.clone());
        let found = nodes
            .list(&ListParams::default().labels(selector))
            .await
            .map_err(ClusterError::during(format!("list the nodes with {selector}")))?;
        let found = in_share(found.items, *share);
        let labelled = found.len();
        let is_free = |node: &Node| is_usable(node) && !node.labels().contains_key(run.0);
        let mut usable: Vec<_> = found.into_iter().filter(is_free).collect();
        usable.sort_by_key(gpus);
        if usable.len() < 2 {
            let selector = selector.to_owned();
            return Err(ClusterError::NoNodes { selector, labelled, usable: usable.len() });
        }
        let leased = usable.split_off(1);
        let namespace = format!("conformance-blockers-{}", run.1);
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": namespace, "labels": {(run.0): run.1}}});
        deploy::create_unless_exists(&client, &object).await?;
        let real = Self { client, namespace, gpus: leased.first().map(gpus).unwrap_or_default() };
        for canary in &usable {
            let labels =
                Map::from_iter([(CANARY, "true"), run].map(|(key, value)| (key.into(), value.into())));
            let taint = json!([{"key": CANARY, "value": "true", "effect": "NoSchedule"}]);
            real.configure(&canary.name_any(), labels, taint).await?;
        }
        Ok((real, leased))
    }

    pub(crate) async fn configure(
        &self,
        name: &str,
        mut labels: Map<String, Value>,
        taints: Value,
    ) -> Result<(), ClusterError> {
        let node = self.node(name).await?;
        for key in [RACK, BLOCK] {
            labels.entry(key).or_insert(Value::Null);
        }
        let patch = leasing(&node, labels, taints);
        deploy::patch_node(&self.client, name, &patch).await
    }

    pub(crate) async fn restore(&self, name: &str) -> Result<(), ClusterError> {
        self.delete_blocker(name).await?;
        restore(&nodes(&self.client), name).await
    }

    /// Starts a blocker pod on the surplus GPUs. Fails if too few GPUs are free, or if the pod does not run.
    pub(crate) async fn limit_free_gpus(&self, name: &str, wanted: u32) -> Result<(), ClusterError> {
        let free = i64::from(gpus(&self.node(name).await?)) - i64::from(self.used(name).await?);
        let surplus = free - i64::from(wanted);
        if surplus < 0 {
            return Err(ClusterError::NotReady {
                what: format!("{wanted} free GPUs of node {name}"),
                seconds: 0,
                last: format!("{free} are free; delete the pods that use the others"),
            });
        }
        if surplus == 0 {
            return Ok(());
        }
        let blocker = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": self.namespace},
        "spec": {
            "nodeName": name,
            "automountServiceAccountToken": false,
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{"operator": "Exists"}],
            "containers": [{
                "name": "pause", "image": "registry.k8s.io/pause:3.10",
                "resources": {"limits": {(GPU): surplus.to_string()}},
            }],
        }});
        until_complete(format!("the blocker pod of node {name}"), BLOCKER, || async {
            // A new namespace rejects pods until its default service account exists.
            let created = deploy::create_unless_exists(&self.client, &blocker).await;
            let phase = self.blocker(name).await?.and_then(|pod| pod.status?.phase).unwrap_or_default();
            let why =
                || created.err().map_or_else(|| format!("its phase is {phase:?}"), |error| error.to_string());
            Ok((phase != "Running").then(why))
        })
        .await
    }

    async fn delete_blocker(&self, name: &str) -> Result<(), ClusterError> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        match pods.delete(name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(()),
            deleted => deleted.map_err(ClusterError::during(format!("delete the blocker of node {name}")))?,
        };
        until_complete(format!("the deletion of the blocker pod of node {name}"), BLOCKER, || async {
            Ok(self.blocker(name).await?.map(|_| "the pod still exists".to_owned()))
        })
        .await
    }

    async fn blocker(&self, name: &str) -> Result<Option<Pod>, ClusterError> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        pods.get_opt(name).await.map_err(ClusterError::during(format!("read the blocker pod of node {name}")))
    }

    async fn used(&self, name: &str) -> Result<u32, ClusterError> {
        let pods: Api<Pod> = Api::all(self.client.clone());
        let on_node = ListParams::default().fields(&format!("spec.nodeName={name}"));
        let found =
            pods.list(&on_node).await.map_err(ClusterError::during(format!("list the pods on {name}")))?;
        let others = found.iter().filter(|pod| pod.namespace().as_deref() != Some(&self.namespace));
        Ok(others.map(requested).sum())
    }

    async fn node(&self, name: &str) -> Result<Node, ClusterError> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        nodes.get(name).await.map_err(ClusterError::during(format!("read node {name}")))
    }
}

fn nodes(client: &Client) -> Api<DynamicObject> {
    Api::all_with(client.clone(), &ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Node")))
}

/// Removes what a run has added to a node. Retries if another client writes to the node at the same time.
pub(crate) async fn restore(nodes: &Api<DynamicObject>, name: &str) -> Result<(), ClusterError> {
    let failed = |source| ClusterError::api(format!("restore node {name}"), source);
    for retries_left in (0..TRIES).rev() {
        let Some(node) = nodes.get_opt(name).await.map_err(failed)? else { return Ok(()) };
        match nodes.patch(name, &PatchParams::default(), &Patch::Merge(restoring(&node))).await {
            Err(kube::Error::Api(status)) if status.is_conflict() && retries_left > 0 => {}
            done => return done.map(drop).map_err(failed),
        }
    }
    Ok(())
}

/// The patch replaces the whole list of taints, so it contains the node's resourceVersion.
pub(crate) fn restoring(node: &DynamicObject) -> Value {
    let previous = node.annotations().get(PREVIOUS);
    let previous: Value = previous.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let pool = node.labels().get(&format!("{OURS}pool"));
    let is_of_pool = |value: &str| pool.is_some_and(|pool| value.starts_with(&format!("{pool}-")));
    let ours = node
        .labels()
        .iter()
        .filter(|(key, value)| key.starts_with(OURS) || key.starts_with(DOMAINS) && is_of_pool(value));
    let mut labels: Map<String, Value> = ours.map(|(key, _)| (key.clone(), Value::Null)).collect();
    labels.extend(previous["labels"].as_object().cloned().unwrap_or_default());
    let is_ours = |taint: &&Value| taint["key"].as_str().is_some_and(|key| key.starts_with(OURS));
    let taints = node.data["spec"]["taints"].as_array().into_iter().flatten();
    let mut taints: Vec<_> = taints.filter(|taint| !is_ours(taint)).cloned().collect();
    let is_same = |a: &Value, b: &Value| a["key"] == b["key"] && a["effect"] == b["effect"];
    for own in previous["taints"].as_array().into_iter().flatten() {
        if !taints.iter().any(|taint| is_same(taint, own)) {
            taints.push(own.clone());
        }
    }
    let mut metadata = json!({"resourceVersion": node.metadata.resource_version, "labels": labels});
    let mut spec = json!({"taints": taints});
    if !previous.is_null() {
        let ours = node.annotations().keys().filter(|key| key.starts_with(OURS));
        metadata["annotations"] = ours.map(|key| (key.clone(), Value::Null)).collect::<Map<_, _>>().into();
        // The harness leases no cordoned node. If the node is cordoned now, the case has cordoned it.
        spec["unschedulable"] = Value::Null;
    }
    json!({"metadata": metadata, "spec": spec})
}

fn leasing(node: &Node, labels: Map<String, Value>, taints: Value) -> Value {
    let current =
        |key: &String| (key.clone(), node.labels().get(key).map_or(Value::Null, |value| json!(value)));
    let previous_labels: Map<String, Value> = labels.keys().map(current).collect();
    let previous_taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    let previous_taints = previous_taints.map_or(json!([]), |taints| json!(taints));
    let previous = json!({"labels": previous_labels, "taints": previous_taints});
    json!({
        "metadata": {"labels": labels, "annotations": {(PREVIOUS): previous.to_string()}},
        "spec": {"taints": taints},
    })
}

/// Returns the nodes of a share. Only names matter, so all runs that split the nodes agree on the shares.
pub(crate) fn in_share(mut nodes: Vec<Node>, share: Option<(usize, usize)>) -> Vec<Node> {
    let Some((index, count)) = share else { return nodes };
    nodes.sort_by_key(ResourceExt::name_any);
    nodes
        .into_iter()
        .enumerate()
        .filter(|(position, _)| position % count == index)
        .map(|(_, node)| node)
        .collect()
}

pub(crate) fn is_usable(node: &Node) -> bool {
    let spec = node.spec.as_ref();
    let mut taints = spec.and_then(|spec| spec.taints.as_ref()).into_iter().flatten();
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
        && !spec.and_then(|spec| spec.unschedulable).unwrap_or_default()
        && !taints.any(|taint| taint.effect == "NoExecute" || taint.key.starts_with("node.kubernetes.io/"))
}

pub(crate) fn gpus(node: &Node) -> u32 {
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    allocatable.and_then(|has| has.get(GPU)?.0.parse().ok()).unwrap_or_default()
}

fn requested(pod: &Pod) -> u32 {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    if matches!(phase, Some("Succeeded" | "Failed")) {
        return 0;
    }
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let gpus = |container: &Container| -> Option<u32> {
        let resources = container.resources.as_ref()?;
        let amounts = resources.requests.as_ref().or(resources.limits.as_ref())?;
        amounts.get(GPU)?.0.parse().ok()
    };
    containers.filter_map(gpus).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node_state::tests::patched;

    fn node(spec: Value, ready: &str) -> Node {
        serde_json::from_value(json!({
            "metadata": {"name": "n", "labels": {
                "team": "blue", "topology.kubernetes.io/rack": "r7", "topology.kubernetes.io/zone": "z"}},
            "spec": spec,
            "status": {"allocatable": {"nvidia.com/gpu": "8"}, "conditions": [{"type": "Ready", "status": ready}]},
        }))
        .unwrap()
    }

    fn gpu_taint() -> Value {
        json!({"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]})
    }

    #[rstest::rstest]
    #[case::all(None, &["b", "c", "a", "e", "d"])]
    #[case::first_of_two(Some((0, 2)), &["a", "c", "e"])]
    #[case::second_of_two(Some((1, 2)), &["b", "d"])]
    #[case::only_one(Some((0, 1)), &["a", "b", "c", "d", "e"])]
    fn nodes_are_split_round_robin_by_name(#[case] share: Option<(usize, usize)>, #[case] wanted: &[&str]) {
        let node =
            |name: &str| -> Node { serde_json::from_value(json!({"metadata": {"name": name}})).unwrap() };
        let nodes = in_share(["b", "c", "a", "e", "d"].map(node).into(), share);
        assert_eq!(nodes.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), wanted);
    }

    #[rstest::rstest]
    #[case::plain(json!({}), "True", true)]
    #[case::tainted_for_others(gpu_taint(), "True", true)]
    #[case::silent(json!({}), "Unknown", false)]
    #[case::cordoned(json!({"unschedulable": true}), "True", false)]
    #[case::evicting(json!({"taints": [{"key": "team", "effect": "NoExecute"}]}), "True", false)]
    fn a_node_is_leased_only_if_it_takes_pods(
        #[case] spec: Value,
        #[case] ready: &str,
        #[case] usable: bool,
    ) {
        assert_eq!(is_usable(&node(spec, ready)), usable);
    }

    #[test]
    fn a_leased_node_is_restored_except_changes_of_other_clients() {
        let before = serde_json::to_value(node(gpu_taint(), "True")).unwrap();
        let labels = json!({"conformance.grove.io/pool": "p", "topology.kubernetes.io/rack": "p-a",
            "topology.kubernetes.io/block": null});
        let taints = json!([{"key": "conformance.grove.io/pool", "value": "p", "effect": "NoSchedule"}]);
        let patch = leasing(&node(gpu_taint(), "True"), labels.as_object().unwrap().clone(), taints.clone());
        let mut leased = patched(before.clone(), &patch);
        assert_eq!(leased["metadata"]["labels"]["topology.kubernetes.io/rack"], "p-a");
        assert_eq!(leased["metadata"]["labels"]["topology.kubernetes.io/zone"], "z");
        assert_eq!(leased["spec"]["taints"], taints);
        leased["metadata"]["labels"]["new"] = json!("x");
        let new = json!({"key": "drained", "effect": "NoSchedule"});
        leased["spec"]["taints"].as_array_mut().unwrap().push(new.clone());
        // The case leaves the node cordoned, with unhealthy GPUs.
        leased["spec"]["unschedulable"] = json!(true);
        leased["metadata"]["annotations"]["conformance.grove.io/unhealthy-gpus"] = json!("all");
        let seen: DynamicObject = serde_json::from_value(leased.clone()).unwrap();
        let mut restored = patched(leased, &restoring(&seen));
        assert_eq!(restored["metadata"]["labels"]["new"].take(), "x");
        restored["metadata"]["labels"].as_object_mut().unwrap().remove("new");
        assert_eq!(restored["metadata"]["labels"], before["metadata"]["labels"]);
        assert_eq!(restored["spec"].get("unschedulable"), None);
        assert_eq!(restored["spec"]["taints"], json!([new, gpu_taint()["taints"][0]]));
        assert!(restored["metadata"]["annotations"].as_object().is_none_or(Map::is_empty), "{restored}");
    }

    #[rstest::rstest]
    #[case(json!({"phase": "Running"}), 3)]
    #[case(json!({"phase": "Succeeded"}), 0)]
    fn gpus_of_pods_that_ended_are_free(#[case] status: Value, #[case] count: u32) {
        let pod = json!({"metadata": {"name": "p"}, "status": status, "spec": {"containers": [
            {"name": "a", "resources": {"limits": {"nvidia.com/gpu": "2"}}},
            {"name": "b", "resources": {"requests": {"nvidia.com/gpu": "1"}}},
            {"name": "c"},
        ]}});
        assert_eq!(requested(&serde_json::from_value(pod).unwrap()), count);
    }
}
