//! A pool is the set of nodes of one case, which have the case's label. A case reserves all nodes that it
//! will need before it starts, so that two cases never wait for each other's nodes.

use futures::future::try_join_all;
use futures::stream::{self, TryStreamExt};
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use serde_json::{Value, json};

use super::nodes::NodeSpec;
use super::workers::Workers;
use super::{ClusterError, deploy, shared};

pub const CANARY_NODE: &str = "canary";

/// Number of concurrent requests. An API server rejects too many at once.
const CREATORS: usize = 32;

pub enum NodePools {
    /// `has_daemon_sets` is set if DaemonSets of the cluster may select the nodes.
    Simulated {
        client: Client,
        has_daemon_sets: bool,
    },
    Workers(Workers),
}

impl std::fmt::Debug for NodePools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Simulated { .. } => f.write_str("simulated nodes"),
            Self::Workers(workers) => write!(f, "{} workers", workers.size()),
        }
    }
}

impl NodePools {
    pub fn client(&self) -> Client {
        match self {
            Self::Simulated { client, .. } => client.clone(),
            Self::Workers(workers) => workers.client(),
        }
    }

    pub fn size(&self) -> Option<usize> {
        match self {
            Self::Simulated { .. } => None,
            Self::Workers(workers) => Some(workers.size()),
        }
    }

    pub fn gpus(&self) -> Option<u32> {
        match self {
            Self::Simulated { .. } => None,
            Self::Workers(workers) => workers.gpus(),
        }
    }

    /// The extended resource that limits pods on nodes with kubelets. Each pod must request one unit.
    pub fn slots(&self) -> Option<&'static str> {
        match self {
            Self::Simulated { .. } => None,
            Self::Workers(_) => Some(super::workers::SLOTS),
        }
    }

    /// Creates the node for canaries, unless one of the real nodes has the role.
    pub async fn add_canary_node(&self, label: &str, run: (&str, &str)) -> Result<(), ClusterError> {
        let Self::Simulated { client, has_daemon_sets } = self else { return Ok(()) };
        let node = NodeSpec {
            name: CANARY_NODE.into(),
            labels: [(label.to_owned(), "true".to_owned())].into(),
            taint: Some((label.into(), "true".into())),
            gpus: 0,
            pods: 1000,
            template: None,
        };
        shared::hold(client, &object(&node, *has_daemon_sets), run).await
    }

    pub async fn reserve(&self, pool: &str, count: usize) -> Result<(), ClusterError> {
        match self {
            Self::Simulated { .. } => Ok(()),
            Self::Workers(workers) => workers.reserve(pool, count).await,
        }
    }

    /// Adds nodes to a pool. Returns them with their actual names when they are ready for pods. Real nodes
    /// get [`NodePools::slots`] if the number of their pods is `scarce`.
    pub async fn add(
        &self,
        pool: &str,
        nodes: Vec<NodeSpec>,
        scarce: bool,
    ) -> Result<Vec<NodeSpec>, ClusterError> {
        match self {
            Self::Simulated { client, has_daemon_sets } => {
                let objects = nodes.iter().map(|node| Ok::<_, ClusterError>(object(node, *has_daemon_sets)));
                stream::iter(objects)
                    .try_for_each_concurrent(CREATORS, |node| async move {
                        deploy::create_unless_exists(client, &node).await
                    })
                    .await?;
                Ok(nodes)
            }
            Self::Workers(workers) => workers.add(pool, nodes, scarce).await,
        }
    }

    /// Sets how many pods each node can have. Returns the simulated nodes as they are after this write.
    pub async fn set_pods(&self, nodes: &[NodeSpec], pods: u32) -> Result<Vec<Node>, ClusterError> {
        match self {
            Self::Simulated { client, .. } => {
                let amount = json!({"pods": pods.to_string()});
                let status = json!({"status": {"allocatable": amount, "capacity": amount}});
                let patches = nodes.iter().map(|node| deploy::patch_node_status(client, &node.name, &status));
                try_join_all(patches).await
            }
            Self::Workers(workers) => workers.set_pods(nodes, pods).await.map(|()| Vec::new()),
        }
    }

    /// Cordons a simulated node. A real node stays unchanged, because other cases need it later.
    pub async fn close(&self, node: &NodeSpec) -> Result<(), ClusterError> {
        match self {
            Self::Simulated { client, .. } => {
                deploy::patch_node(client, &node.name, &json!({"spec": {"unschedulable": true}})).await
            }
            Self::Workers(_) => Ok(()),
        }
    }

    /// Deletes a simulated node, which must have no pods. A real node stays until its pool is released.
    pub async fn take(&self, node: &NodeSpec) -> Result<(), ClusterError> {
        match self {
            Self::Simulated { client, .. } => deploy::delete_node(client, &node.name).await,
            Self::Workers(_) => Ok(()),
        }
    }

    pub async fn release(&self, label: &str, pool: &str) -> Result<(), ClusterError> {
        match self {
            Self::Simulated { client, .. } => deploy::delete_nodes(client, label, pool).await,
            Self::Workers(workers) => workers.release(pool).await,
        }
    }
}

fn object(node: &NodeSpec, has_daemon_sets: bool) -> Value {
    if has_daemon_sets { node.without_daemon_sets() } else { node.object() }
}
