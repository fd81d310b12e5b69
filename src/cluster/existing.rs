//! A cluster that someone else runs: nothing is installed in it, and everything that a run creates there is
//! removed.
//!
//! Cases get nodes that KWOK simulates, with their own taint, so that the cluster's own nodes and workloads are
//! left alone. Before the first case, all permissions that the kubeconfig's identity lacks are reported together,
//! and so are Grove workloads that are not the run's.

use std::path::Path;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use conformance_contract::scheduler::Scheduler;
use futures::future::try_join_all;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt};
use serde_json::json;

use super::node_pools::NodePools;
use super::provider::{Logs, Provider};
use super::{ClusterError, deploy, local};

/// KWOK takes a new node.
const TAKEN: Duration = Duration::from_secs(15);
/// Between two looks at its pod.
const PAUSE: Duration = Duration::from_millis(200);

/// What a run does there: verb, API group, resource.
const NEEDED: [(&str, &str, &str); 14] = [
    ("create", "", "namespaces"),
    ("delete", "", "namespaces"),
    ("list", "", "namespaces"),
    ("create", "", "nodes"),
    ("deletecollection", "", "nodes"),
    ("patch", "", "nodes/status"),
    ("create", "", "pods"),
    ("delete", "", "pods"),
    ("list", "", "pods"),
    ("list", "", "services"),
    ("create", "grove.io", "podcliquesets"),
    ("patch", "grove.io", "podcliquesets"),
    ("create", "grove.io", "clustertopologybindings"),
    ("list", "scheduler.grove.io", "podgangs"),
];

/// Somebody else's cluster.
#[derive(Debug)]
pub struct ExistingCluster {
    node_pools: NodePools,
    /// `key=value` of the nodes that the run makes.
    run: (String, String),
}

impl ExistingCluster {
    /// Connects, and looks whether the run may do there what it has to. `run` is the label of everything that it makes.
    ///
    /// # Errors
    /// [`ClusterError::Name`] for a kubeconfig that cannot be used, and for a cluster with workloads of others unless
    /// `beside_others`; [`ClusterError::Forbidden`] with everything that is not allowed.
    pub async fn connect(
        kubeconfig: &Path,
        run: (&str, &str),
        beside_others: bool,
    ) -> Result<Self, ClusterError> {
        let client = local::client(kubeconfig).await?;
        allowed(&client).await?;
        if !beside_others {
            no_others(&client, run.0).await?;
        }
        Ok(Self { node_pools: NodePools::Simulated(client), run: (run.0.to_owned(), run.1.to_owned()) })
    }

    /// Waits until somebody plays the kubelet of a simulated node: a pod that is bound to it from its creation runs.
    /// `namespace` is made for it, with the run's label, and goes with it.
    ///
    /// # Errors
    /// [`ClusterError::NotReady`], [`ClusterError::Api`].
    pub async fn simulates(&self, namespace: &str, node: &str) -> Result<(), ClusterError> {
        let client = self.client();
        let made = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": namespace, "labels": {(&self.run.0): self.run.1}}});
        deploy::create_unless_there(&client, &made).await?;
        let runs = self.probe(namespace, node).await;
        deploy::delete_namespace(&client, namespace).await?;
        runs
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
        let begin = Instant::now();
        loop {
            // A namespace has no service account in its first moment, and then takes no pods.
            let made = deploy::create_unless_there(&client, &pod).await;
            let found = pods.get_opt("probe").await;
            let found = found.map_err(|source| ClusterError::api("read the probe pod", source))?;
            let phase = found.and_then(|pod| pod.status?.phase).unwrap_or_default();
            if phase == "Running" {
                return Ok(());
            }
            if begin.elapsed() > TAKEN {
                made?;
                return Err(ClusterError::NotReady {
                    what: format!("a kubelet for the simulated node {node}"),
                    seconds: TAKEN.as_secs(),
                    last: "nobody runs its pods; run KWOK there, managing nodes with annotation \
                           kwok.x-k8s.io/node=fake"
                        .into(),
                });
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Asks the API server about everything that a run does.
async fn allowed(client: &Client) -> Result<(), ClusterError> {
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let ask = |(verb, group, resource): (&'static str, &'static str, &'static str)| {
        let reviews = reviews.clone();
        async move {
            let (resource, subresource) = match resource.split_once('/') {
                Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
                None => (resource, None),
            };
            let attributes = ResourceAttributes {
                verb: Some(verb.into()),
                group: Some(group.into()),
                resource: Some(resource.into()),
                subresource,
                ..ResourceAttributes::default()
            };
            let review = SelfSubjectAccessReview {
                spec: SelfSubjectAccessReviewSpec {
                    resource_attributes: Some(attributes),
                    ..Default::default()
                },
                ..Default::default()
            };
            let answer = reviews
                .create(&PostParams::default(), &review)
                .await
                .map_err(|source| ClusterError::api("ask what the kubeconfig's user may do", source))?;
            let is_allowed = answer.status.is_some_and(|status| status.allowed);
            Ok::<_, ClusterError>((!is_allowed).then(|| format!("{verb} {resource}")))
        }
    };
    let missing: Vec<String> = try_join_all(NEEDED.map(ask)).await?.into_iter().flatten().collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(ClusterError::Forbidden {
        action: "grant this user the permissions to run cases".into(),
        reason: format!("it may not {}", missing.join(", ")),
    })
}

/// Whether every PodCliqueSet there is a conformance run's.
async fn no_others(client: &Client, run_label: &str) -> Result<(), ClusterError> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("grove.io", "v1alpha1", "PodCliqueSet"));
    let sets: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let found = sets
        .list(&ListParams::default())
        .await
        .map_err(|source| ClusterError::api("list the PodCliqueSets there are", source))?;
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
    let ours: Vec<String> = namespaces
        .list(&ListParams::default().labels(run_label))
        .await
        .map_err(|source| ClusterError::api("list the namespaces of runs", source))?
        .into_iter()
        .map(|namespace| namespace.name_any())
        .collect();
    let others: Vec<_> = found
        .into_iter()
        .filter(|set| set.namespace().is_none_or(|namespace| !ours.contains(&namespace)))
        .map(|set| format!("{}/{}", set.namespace().unwrap_or_default(), set.name_any()))
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    Err(ClusterError::Name(format!(
        "the cluster runs PodCliqueSets that are not this suite's ({}); a run loads its controller and scheduler, and adds \
         nodes and a ClusterTopologyBinding: use another cluster, or say --beside-foreign-workloads",
        others.join(", ")
    )))
}

#[async_trait]
impl Provider for ExistingCluster {
    fn name(&self) -> &'static str {
        "existing"
    }

    fn client(&self) -> Client {
        self.node_pools.client()
    }

    fn node_pools(&self) -> &NodePools {
        &self.node_pools
    }

    fn logs(&self, scheduler: Scheduler) -> Logs {
        Logs::now(scheduler)
    }

    /// Where its owner keeps logs is not known.
    async fn export_logs(&self, _: &Logs, _: &Path) -> Result<(), ClusterError> {
        Ok(())
    }

    async fn end(&self, _: bool) -> Result<(), ClusterError> {
        let client = self.client();
        deploy::delete_nodes(&client, &self.run.0, &self.run.1).await?;
        deploy::delete_topology_bindings(&client, &self.run.0, &self.run.1).await
    }
}
