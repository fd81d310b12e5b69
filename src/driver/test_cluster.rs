use std::collections::BTreeSet;
use std::sync::Arc;

use conformance_cluster::kind::KindCluster;
use conformance_cluster::local::LocalCluster;
use conformance_cluster::provider::Provider;
use conformance_cluster::{ClusterError, shared};
use conformance_contract::names;
use conformance_contract::scheduler::Scheduler;
use conformance_expect::domains::LEVELS;
use conformance_history::Kind;
use kube::Client;
use serde_json::{Value, json};

use super::limits::RECOVERY;
use crate::recorder::Recorder;
use crate::speed::Speed;

pub struct TestCluster {
    pub client: Client,
    pub recorder: Recorder,
    pub speed: Speed,
    pub cluster: Arc<dyn Provider>,
    pub schedulers: BTreeSet<Scheduler>,
    /// Id of the run. All objects that cases create have this label.
    pub run: String,
    /// Whether someone else wrote the operator's configuration, so that its profiles are unknown.
    pub configured_by_others: bool,
    pub thorough: Thorough,
    pub short_limits_count: bool,
}

/// The seed of every run that sets no seed, so that these runs have the same coverage.
pub const DEFAULT_SEED: u64 = 1;

/// Optional coverage that takes longer than a default run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thorough {
    /// Cases that crash a component try every possible point instead of a selection.
    pub every_crash_point: bool,
    /// Cases observe a pending gang until after the scheduler's own gang timeout.
    pub gang_timeouts: bool,
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

/// Returns a ClusterTopologyBinding with these levels, each a domain and the key of its node label.
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
    /// Connects, and creates the shared objects: the canary node, and the topology binding if `kinds` has it.
    pub async fn prepare(
        kinds: &[Kind],
        cluster: Arc<dyn Provider>,
        schedulers: &BTreeSet<Scheduler>,
        run: &str,
    ) -> Result<Self, ClusterError> {
        let client = cluster.client();
        let recorder = Recorder::start(client.clone(), schedulers, kinds, RECOVERY.length).await?;
        let speed = Speed::measure(client.clone(), cluster.local().is_none()).await;
        if recorder.kind("ClusterTopologyBinding").is_some() {
            shared::hold(&client, &binding(names::TOPOLOGY, &LEVELS), (names::RUN, run)).await?;
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

    pub fn local(&self) -> Result<&LocalCluster, ClusterError> {
        self.cluster.local().ok_or_else(|| ClusterError::OtherProvider { needed: "a local control plane" })
    }

    pub fn kind(&self) -> Result<&KindCluster, ClusterError> {
        self.cluster.kind().ok_or_else(|| ClusterError::OtherProvider { needed: "a kind cluster" })
    }
}
