//! The cluster that cases run on, as they see it.

use std::collections::BTreeSet;
use std::sync::Arc;

use conformance_cluster::kind::KindCluster;
use conformance_cluster::local::LocalCluster;
use conformance_cluster::provider::Provider;
use conformance_cluster::{ClusterError, shared};
use conformance_contract::clauses::Workload;
use conformance_contract::names;
use conformance_contract::scheduler::Scheduler;
use conformance_expect::domains::LEVELS;
use kube::Client;
use serde_json::{Value, json};

use super::limits::SETTLE;
use crate::recorder::Recorder;
use crate::speed::Speed;

/// A cluster with its recorder.
pub struct TestCluster {
    /// A client with the harness's rights.
    pub client: Client,
    /// What happens.
    pub recorder: Recorder,
    /// How fast it is.
    pub speed: Speed,
    /// Where it comes from, and what can be done to it.
    pub cluster: Arc<dyn Provider>,
    /// The schedulers that it was made with.
    pub schedulers: BTreeSet<Scheduler>,
    /// The run's id, on everything that cases create.
    pub run: String,
    /// Whether the operator's configuration is not the harness's, so that its profiles are unknown.
    pub configured_by_others: bool,
    /// How much time cases take.
    pub thorough: Thorough,
    /// Whether a wait that runs out means something although limits were shortened.
    pub short_limits_count: bool,
}

/// The seed of runs that are given none: they all cover the same.
pub const DEFAULT_SEED: u64 = 1;

/// What is covered of what takes more time than a default run has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thorough {
    /// Cases that crash something try every point at which they can, instead of a choice.
    pub every_crash_point: bool,
    /// A pending gang outlives the scheduler's own gang timeout.
    pub gang_timeouts: bool,
    /// Draws the choices that are made instead.
    pub seed: u64,
}

impl Default for Thorough {
    fn default() -> Self {
        Self { every_crash_point: false, gang_timeouts: false, seed: DEFAULT_SEED }
    }
}

impl std::fmt::Debug for TestCluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TestCluster({:?})", self.cluster)
    }
}

/// The topology binding that every case may use: block, rack and host, by upstream's keys.
pub const TOPOLOGY: &str = "conformance-topology";

/// A ClusterTopologyBinding with these levels.
pub fn binding(name: &str, levels: &[(&str, &str)]) -> Value {
    let levels: Vec<_> = levels.iter().map(|(domain, key)| json!({"domain": domain, "key": key})).collect();
    json!({
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopologyBinding",
        "metadata": {"name": name},
        "spec": {"levels": levels},
    })
}

impl TestCluster {
    /// Starts recording on a cluster and creates what all cases share: the topology binding, where there is an operator
    /// to read it, and the canaries' node.
    ///
    /// # Errors
    /// [`ClusterError::Rights`], [`ClusterError::NotReady`] if it cannot be recorded; [`ClusterError::Forbidden`],
    /// [`ClusterError::Api`].
    pub async fn prepare(
        cluster: Arc<dyn Provider>,
        schedulers: &BTreeSet<Scheduler>,
        run: &str,
    ) -> Result<Self, ClusterError> {
        let workload = cluster.local().map_or(Workload::PodCliqueSets, |local| local.spec().workload());
        Self::prepare_for(workload, cluster, schedulers, run).await
    }

    /// The same for a workload that the cluster itself does not say.
    ///
    /// # Errors
    /// As [`TestCluster::prepare`].
    pub async fn prepare_for(
        workload: Workload,
        cluster: Arc<dyn Provider>,
        schedulers: &BTreeSet<Scheduler>,
        run: &str,
    ) -> Result<Self, ClusterError> {
        let client = cluster.client();
        let recorder = Recorder::start(client.clone(), schedulers, workload, SETTLE.length).await?;
        let speed = Speed::measure(client.clone()).await;
        if workload != Workload::PlainPods {
            shared::hold(&client, &binding(TOPOLOGY, &LEVELS), (names::RUN, run)).await?;
        }
        cluster.node_pools().add_canary_node(names::CANARY, (names::RUN, run)).await?;
        Ok(Self {
            client,
            recorder,
            speed,
            cluster,
            schedulers: schedulers.clone(),
            run: run.into(),
            configured_by_others: false,
            short_limits_count: false,
            thorough: Thorough::default(),
        })
    }

    /// The local control plane.
    ///
    /// # Errors
    /// [`ClusterError::OtherProvider`] on a cluster of another provider.
    pub fn local(&self) -> Result<&LocalCluster, ClusterError> {
        self.cluster.local().ok_or_else(|| ClusterError::OtherProvider { needed: "a local control plane" })
    }

    /// The kind cluster.
    ///
    /// # Errors
    /// [`ClusterError::OtherProvider`] on a cluster of another provider.
    pub fn kind(&self) -> Result<&KindCluster, ClusterError> {
        self.cluster.kind().ok_or_else(|| ClusterError::OtherProvider { needed: "one of kind's" })
    }
}
