//! A cluster that someone else runs. A run installs nothing in it, and removes what it creates. KWOK
//! simulates the nodes of a case, or the case leases some of the cluster's own, which the harness restores.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use conformance_contract::kinds::Kind;
use conformance_contract::scheduler::Scheduler;
use conformance_install::schedulers::volcano;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::wait::{await_condition, conditions::is_pod_running};
use kube::{Client, ResourceExt};
use serde_json::json;

use super::node_pools::NodePools;
use super::provider::{Logs, Provider};
use super::real_nodes::LeasedNodes;
use super::served::Served;
use super::sweep::{self, RunLabel};
use super::workers::Workers;
use super::{ClusterError, deploy, volcano_queue};
use crate::access::Access;

pub use crate::access::reached;
pub use crate::rights::Right;

const POD_RUNNING: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    pub access: Access,
    pub allows_foreign_workloads: bool,
    /// Which of the cluster's own nodes to lease. With `None`, KWOK simulates nodes.
    pub leased_nodes: Option<LeasedNodes>,
    /// Whether an earlier run with the same id may have been killed. If so, its leftovers are removed first.
    pub again: bool,
    /// Whether the cluster may have DaemonSets. A cluster of `cluster create` has none.
    pub has_daemon_sets: bool,
}

#[derive(Debug)]
pub struct ExistingCluster {
    node_pools: NodePools,
    /// Key and value of the label on the nodes that the run creates.
    run: (String, String),
}

impl ExistingCluster {
    /// Connects to a cluster and checks it. The user must have the rights in `needed`, and the right to list
    /// every namespaced kind, to find leftovers. The API server must serve the `kinds`. `run` is the label on
    /// everything that the run creates.
    pub async fn connect(
        connection: &Connection,
        run: (&str, &str),
        needed: Vec<Right>,
        kinds: &[Kind],
    ) -> Result<Self, ClusterError> {
        let client = reached(&connection.access).await?;
        let served = Served::discover(&client).await?;
        served.check_rights(&client, rights_for(connection, needed)).await?;
        served.check_kinds(kinds)?;
        if kinds.iter().any(|kind| kind.scheduler == Some(volcano::SCHEDULER)) {
            volcano_queue::check_open(&client).await?;
        }
        if connection.again {
            sweep::remove_all_and_wait(&client, RunLabel { key: run.0, run: Some(run.1) }).await?;
        }
        if !connection.allows_foreign_workloads {
            check_no_foreign_workloads(&client, run.0).await?;
        }
        let node_pools = match &connection.leased_nodes {
            None => NodePools::Simulated { client, has_daemon_sets: connection.has_daemon_sets },
            Some(leased_nodes) => match Workers::in_existing_cluster(client.clone(), leased_nodes, run).await
            {
                Ok(workers) => NodePools::Workers(workers),
                Err(error) => {
                    sweep::remove_all(&client, RunLabel { key: run.0, run: Some(run.1) }).await?;
                    return Err(error);
                }
            },
        };
        Ok(Self { node_pools, run: (run.0.to_owned(), run.1.to_owned()) })
    }

    /// Checks in a temporary `namespace` that KWOK simulates the node: a pod with this `nodeName` must run.
    pub async fn check_simulation(&self, namespace: &str, node: &str) -> Result<(), ClusterError> {
        let client = self.client();
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": namespace, "labels": {(&self.run.0): self.run.1}}});
        deploy::create_unless_exists(&client, &object).await?;
        let probed = Box::pin(self.probe(namespace, node)).await;
        deploy::delete_namespace(&client, namespace).await?;
        probed
    }

    async fn probe(&self, namespace: &str, node: &str) -> Result<(), ClusterError> {
        let client = self.client();
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "probe", "namespace": namespace},
        "spec": {
            "nodeName": node,
            "automountServiceAccountToken": false,
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "pause", "image": "registry.k8s.io/pause:3.10"}],
        }});
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let runs = async {
            // A new namespace rejects pods until its default service account exists.
            while let Err(refused) = deploy::create_unless_exists(&client, &pod).await {
                tracing::debug!(%refused, "retrying to create the probe pod");
                tokio::time::sleep(PAUSE).await;
            }
            let running = await_condition(pods, "probe", is_pod_running()).await;
            running.map_err(|source| ClusterError::Watch {
                what: "the probe pod".into(),
                source: Box::new(source),
            })
        };
        match tokio::time::timeout(POD_RUNNING, runs).await {
            Ok(runs) => runs.map(drop),
            Err(_) => {
                // If the API server still rejects the pod, return its reason instead of a timeout.
                deploy::create_unless_exists(&client, &pod).await?;
                Err(ClusterError::NotReady {
                    what: format!("a kubelet for the simulated node {node}"),
                    seconds: POD_RUNNING.as_secs(),
                    last:
                        "the pods of the node are not started; run KWOK in the cluster, managing nodes with \
                           annotation kwok.x-k8s.io/node=fake"
                            .into(),
                })
            }
        }
    }
}

pub(crate) fn rights_for(connection: &Connection, mut needed: Vec<Right>) -> Vec<Right> {
    if connection.leased_nodes.is_some() {
        needed.extend(["get", "patch"].map(|verb| Right {
            verb,
            group: String::new(),
            resource: "nodes".into(),
            served_in: Vec::new(),
        }));
    }
    needed
}

pub(crate) async fn check_no_foreign_workloads(client: &Client, run_label: &str) -> Result<(), ClusterError> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("grove.io", "v1alpha1", "PodCliqueSet"));
    let sets: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let found = match sets.list(&ListParams::default()).await {
        Ok(found) => found,
        // A cluster without Grove serves no PodCliqueSets, so none can be in the way.
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
        Err(source) => return Err(ClusterError::api("list the existing PodCliqueSets", source)),
    };
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let ours: Vec<String> = namespaces
        .list(&ListParams::default().labels(run_label))
        .await
        .map_err(ClusterError::during("list the namespaces of runs"))?
        .iter()
        .map(ResourceExt::name_any)
        .collect();
    let mut sets = Vec::new();
    for set in found {
        let namespace = set.namespace().unwrap_or_default();
        if !ours.contains(&namespace) {
            sets.push(format!("{namespace}/{}", set.name_any()));
        }
    }
    if sets.is_empty() { Ok(()) } else { Err(ClusterError::ForeignWorkloads { sets }) }
}

#[async_trait]
impl Provider for ExistingCluster {
    fn name(&self) -> &'static str {
        "existing"
    }

    fn node_pools(&self) -> &NodePools {
        &self.node_pools
    }

    fn logs(&self, scheduler: Scheduler) -> Logs {
        Logs::now(scheduler)
    }

    /// Exports nothing, because the harness does not know where the cluster's owner keeps the logs.
    async fn export_logs(&self, _: &Logs, _: &Path) -> Result<(), ClusterError> {
        Ok(())
    }

    async fn end(&self, _: bool) -> Result<(), ClusterError> {
        sweep::remove_all(&self.client(), RunLabel { key: &self.run.0, run: Some(&self.run.1) }).await
    }
}
