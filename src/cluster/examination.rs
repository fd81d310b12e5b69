//! Finds out whether a run could use a cluster that someone else runs. Only reads.

use conformance_contract::kinds::Kind;
use conformance_install::schedulers::volcano;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};

use super::existing::{Connection, Right, check_no_foreign_workloads, rights_for};
use super::real_nodes::{LeasedNodes, gpus, in_share, is_usable};
use super::rights::granted;
use super::served::Served;
use super::{ClusterError, volcano_queue};
use crate::access::reached;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examination {
    pub rights: Vec<Right>,
    /// The rights that the user lacks, as `VERB RESOURCE.GROUP`.
    pub missing_rights: Vec<String>,
    /// The reasons, apart from missing rights, why a run would refuse the cluster.
    pub problems: Vec<String>,
    pub nodes: Vec<FoundNode>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundNode {
    pub name: String,
    pub gpus: u32,
    /// Whether the node is Ready, not cordoned, and not leased by another run.
    pub is_free: bool,
    pub taints: Vec<String>,
}

/// Examines the cluster. `run_label` is the label on all objects that runs create.
pub async fn examine(
    connection: &Connection,
    run_label: &str,
    needed: Vec<Right>,
    kinds: &[Kind],
) -> Result<Examination, ClusterError> {
    let client = reached(&connection.access).await?;
    let served = Served::discover(&client).await?;
    let rights = served.needed(rights_for(connection, needed));
    let missing_rights = match granted(&client, rights.clone()).await {
        Ok(()) => Vec::new(),
        Err(ClusterError::Rights { missing }) => missing,
        Err(error) => return Err(error),
    };
    let mut problems: Vec<_> = served.check_kinds(kinds).err().into_iter().collect();
    if kinds.iter().any(|kind| kind.scheduler == Some(volcano::SCHEDULER)) {
        problems.extend(volcano_queue::check_open(&client).await.err());
    }
    if !connection.allows_foreign_workloads {
        problems.extend(check_no_foreign_workloads(&client, run_label).await.err());
    }
    let nodes = match &connection.leased_nodes {
        Some(leased) => found(&client, leased, run_label).await?,
        None => Vec::new(),
    };
    let problems = problems.iter().map(ToString::to_string).collect();
    Ok(Examination { rights: rights.into_iter().collect(), missing_rights, problems, nodes })
}

async fn found(
    client: &Client,
    LeasedNodes { selector, share }: &LeasedNodes,
    run_label: &str,
) -> Result<Vec<FoundNode>, ClusterError> {
    let nodes: Api<Node> = Api::all(client.clone());
    let nodes = nodes
        .list(&ListParams::default().labels(selector))
        .await
        .map_err(ClusterError::during(format!("list the nodes with {selector}")))?;
    let mut found: Vec<_> =
        in_share(nodes.items, *share).iter().map(|node| described(node, run_label)).collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn described(node: &Node, run_label: &str) -> FoundNode {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref()).into_iter().flatten();
    let words = taints.map(|taint| {
        let value = taint.value.as_deref().unwrap_or_default();
        format!("{}={value}:{}", taint.key, taint.effect)
    });
    FoundNode {
        name: node.name_any(),
        gpus: gpus(node),
        is_free: is_usable(node) && !node.labels().contains_key(run_label),
        taints: words.collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(labels: Value, spec: Value, ready: &str) -> Node {
        serde_json::from_value(json!({
            "metadata": {"name": "n", "labels": labels}, "spec": spec,
            "status": {"allocatable": {"nvidia.com/gpu": "8"}, "conditions": [{"type": "Ready", "status": ready}]},
        }))
        .unwrap()
    }

    #[rstest::rstest]
    #[case::ready(json!({}), json!({}), "True", true)]
    #[case::not_ready(json!({}), json!({}), "False", false)]
    #[case::cordoned(json!({}), json!({"unschedulable": true}), "True", false)]
    #[case::lent_to_a_run(json!({"run": "1f2e3d"}), json!({}), "True", false)]
    fn a_node_is_free_if_a_case_could_lease_it(
        #[case] labels: Value,
        #[case] spec: Value,
        #[case] ready: &str,
        #[case] is_free: bool,
    ) {
        assert_eq!(described(&node(labels, spec, ready), "run").is_free, is_free);
    }

    #[test]
    fn a_node_is_described_with_its_taints() {
        let spec = json!({"taints": [{"key": "team", "value": "blue", "effect": "NoSchedule"}]});
        let found = described(&node(json!({}), spec, "True"), "run");
        assert_eq!((found.gpus, found.taints), (8, vec!["team=blue:NoSchedule".to_owned()]));
    }
}
