//! How cases get their own nodes: created for them (simulated nodes), or leased to them (real nodes).
//!
//! A pool is the nodes of one case, identified by a label. Simulated nodes are API objects for which KWOK plays the
//! kubelet: there are as many as requested. Real nodes ([`Workers`]) are few; a case reserves all that it will ever
//! need before it begins, so that two cases never wait for each other's.

use futures::future::try_join_all;
use futures::stream::{self, TryStreamExt};
use kube::Client;
use serde_json::json;

use super::nodes::NodeSpec;
use super::workers::Workers;
use super::{ClusterError, deploy, shared};

/// The simulated node of canary pods.
pub const CANARY_NODE: &str = "canary";

/// Requests at a time that make nodes: an API server refuses what is too much at once.
const CREATORS: usize = 32;

/// Where nodes come from.
pub enum NodePools {
    /// KWOK's.
    Simulated(Client),
    /// A kubelet's each.
    Workers(Workers),
}

impl std::fmt::Debug for NodePools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Simulated(_) => f.write_str("simulated nodes"),
            Self::Workers(workers) => write!(f, "{} workers", workers.size()),
        }
    }
}

impl NodePools {
    /// A client of the cluster that they are in.
    pub fn client(&self) -> Client {
        match self {
            Self::Simulated(client) => client.clone(),
            Self::Workers(workers) => workers.client(),
        }
    }

    /// How many nodes there are; `None` where that is no limit.
    pub fn size(&self) -> Option<usize> {
        match self {
            Self::Simulated(_) => None,
            Self::Workers(workers) => Some(workers.size()),
        }
    }

    /// How many GPUs a node can have; `None` where that is no limit.
    pub fn gpus(&self) -> Option<u32> {
        match self {
            Self::Simulated(_) => None,
            Self::Workers(workers) => workers.gpus(),
        }
    }

    /// The extended resource that stands for a node's `pods`, where that is the kubelet's to say: each pod must ask for
    /// one.
    pub fn slots(&self) -> Option<&'static str> {
        match self {
            Self::Simulated(_) => None,
            Self::Workers(_) => Some(super::workers::SLOTS),
        }
    }

    /// Sees to a node on which canary pods find room: one that carries `label`. Where nodes are lent, one of the cluster
    /// carries it from its creation.
    ///
    /// # Errors
    /// [`ClusterError::Api`].
    pub async fn add_canary_node(&self, label: &str, run: (&str, &str)) -> Result<(), ClusterError> {
        let Self::Simulated(client) = self else { return Ok(()) };
        let node = NodeSpec {
            name: CANARY_NODE.into(),
            labels: [(label.to_owned(), "true".to_owned())].into(),
            taint: Some((label.into(), "true".into())),
            gpus: 0,
            pods: 1000,
        };
        shared::hold(client, &node.object(), run).await
    }

    /// Waits until `count` nodes are free and keeps them for a pool.
    ///
    /// # Errors
    /// As [`Workers::reserve`].
    pub async fn reserve(&self, pool: &str, count: usize) -> Result<(), ClusterError> {
        match self {
            Self::Simulated(_) => Ok(()),
            Self::Workers(workers) => workers.reserve(pool, count).await,
        }
    }

    /// Gives a pool nodes like these; as they are called, and ready to take pods. Where their `pods` are `scarce`, real
    /// ones get [`NodePools::slots`].
    ///
    /// # Errors
    /// [`ClusterError::Api`]; [`ClusterError::NotReady`] if a node does not come to have what is asked for.
    pub async fn add(
        &self,
        pool: &str,
        nodes: Vec<NodeSpec>,
        scarce: bool,
    ) -> Result<Vec<NodeSpec>, ClusterError> {
        match self {
            Self::Simulated(client) => {
                stream::iter(nodes.iter().map(|node| Ok::<_, ClusterError>(node.object())))
                    .try_for_each_concurrent(CREATORS, |node| async move {
                        deploy::create_unless_there(client, &node).await
                    })
                    .await?;
                Ok(nodes)
            }
            Self::Workers(workers) => workers.add(pool, nodes, scarce).await,
        }
    }

    /// Sets how many pods each of these nodes takes.
    ///
    /// # Errors
    /// [`ClusterError::Api`].
    pub async fn set_pods(&self, nodes: &[NodeSpec], pods: u32) -> Result<(), ClusterError> {
        match self {
            Self::Simulated(client) => {
                let amount = json!({"pods": pods.to_string()});
                let status = json!({"status": {"allocatable": amount, "capacity": amount}});
                let patches = nodes.iter().map(|node| deploy::patch_node_status(client, &node.name, &status));
                try_join_all(patches).await.map(drop)
            }
            Self::Workers(workers) => workers.set_pods(nodes, pods).await,
        }
    }

    /// Lets no new pods come to a node. A real one belongs to others, who need it afterwards: it is left as it is.
    ///
    /// # Errors
    /// [`ClusterError::Api`].
    pub async fn close(&self, node: &NodeSpec) -> Result<(), ClusterError> {
        match self {
            Self::Simulated(client) => {
                deploy::patch_node(client, &node.name, &json!({"spec": {"unschedulable": true}})).await
            }
            Self::Workers(_) => Ok(()),
        }
    }

    /// Takes away a node on which nothing is left. A real one stays until its pool is released.
    ///
    /// # Errors
    /// [`ClusterError::Api`].
    pub async fn take(&self, node: &NodeSpec) -> Result<(), ClusterError> {
        match self {
            Self::Simulated(client) => deploy::delete_node(client, &node.name).await,
            Self::Workers(_) => Ok(()),
        }
    }

    /// Takes a pool's nodes back. Simulated ones carry `label=pool`.
    ///
    /// # Errors
    /// [`ClusterError::Api`]; as [`Workers::release`].
    pub async fn release(&self, label: &str, pool: &str) -> Result<(), ClusterError> {
        match self {
            Self::Simulated(client) => deploy::delete_nodes(client, label, pool).await,
            Self::Workers(workers) => workers.release(pool).await,
        }
    }
}
