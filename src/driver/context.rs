//! One run of a case on a target: its namespace, its nodes, and the operations of drivers. Marks record facts
//! that no API object shows. After a timeout, the checks decide on the history so far.

mod companions;
mod manifests;
mod nodes;
mod requests;
mod stop;
mod waits;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

pub use self::nodes::{domain, node_spec};
pub use self::requests::{Answer, Disruption};
pub use self::stop::{Awaited, Breach, Duty, Stop, Timeout};
use conformance_cluster::deploy;
use conformance_cluster::kind::KindCluster;
use conformance_cluster::local::LocalCluster;
use conformance_cluster::nodes::NodeSpec;
use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_expect::{Expected, Gang, hyper_nodes, schedulers};
use conformance_history::{Header, History, Live, MarkName, SharedMark};
use conformance_install::schedulers::installation;

use super::case::Case;
use crate::recorder::Tracked;
use crate::test_cluster::TestCluster;

pub struct TestContext {
    pub case: &'static Case,
    pub target: Target,
    pub test_cluster: Arc<TestCluster>,
    /// The namespace of this run of the case, and the name of its node pool.
    pub namespace: String,
    /// Factor for all limits (`--timeout-scale`).
    pub scale: f64,
    /// The length of the audit log when the case began.
    pub audit_from: u64,
    tracked: Vec<Tracked>,
    submitted: BTreeMap<String, Value>,
    pub nodes: Vec<NodeSpec>,
    cluster_scoped: Mutex<Vec<Value>>,
    companions: Mutex<Vec<Value>>,
    /// The resourceVersion of the last change that the case made to each object, by kind and name.
    changed: Mutex<BTreeMap<(&'static str, String), u64>>,
    started: Instant,
    pub overhead: Duration,
    /// Time from the ungating of a gang's pods until the canaries prove that the scheduler did not bind them.
    pub negative_verdict: Option<Duration>,
}

impl std::fmt::Debug for TestContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TestContext({} on {} in {})", self.case.id, self.target, self.namespace)
    }
}

impl TestContext {
    /// Creates the namespace, and the nodes once enough are free. On an error, the caller returns the nodes.
    pub async fn begin(
        case: &'static Case,
        target: Target,
        test_cluster: Arc<TestCluster>,
        namespace: String,
        scale: f64,
    ) -> Result<Self, Stop> {
        let count = case.nodes.iter().map(|nodes| nodes.count as usize).sum();
        test_cluster.cluster.node_pools().reserve(&namespace, count).await?;
        let started = Instant::now();
        let audit_from = test_cluster.local().map_or(0, LocalCluster::audit_length);
        let mut test = Self {
            case,
            target,
            test_cluster,
            namespace,
            scale,
            audit_from,
            tracked: Vec::new(),
            submitted: BTreeMap::new(),
            nodes: Vec::new(),
            cluster_scoped: Mutex::default(),
            companions: Mutex::default(),
            changed: Mutex::default(),
            started,
            overhead: Duration::ZERO,
            negative_verdict: None,
        };
        test.track(test.namespace.clone());
        if test.local().is_err() && test.kind().is_err() {
            test.mark(SharedMark::ForeignAdmission, Value::Null);
        }
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": test.namespace, "labels": {names::RUN: test.test_cluster.run}}});
        deploy::create_unless_exists(&test.test_cluster.client, &namespace).await?;
        if test.kind().is_ok() {
            // No pod of a case calls the API server. Each token would cost a request, a mount and a watch.
            let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "automountServiceAccountToken": false,
                "metadata": {"name": "default", "namespace": test.namespace}});
            deploy::create_unless_exists(&test.test_cluster.client, &account).await?;
        }
        match test.add_nodes(0).await {
            // The backend did not update the scheduler's topology model in time, which a check decides.
            Err(Stop::Timeout(_))
                if { schedulers::of(target).topology_model() }
                    .is_some_and(|topology_model| topology_model.is_maintained_by_backend) => {}
            added => added?,
        }
        test.overhead = started.elapsed();
        Ok(test)
    }

    pub fn mark(&self, name: impl Into<MarkName>, detail: Value) {
        self.test_cluster.recorder.mark(&self.namespace, name, detail);
    }

    pub fn look<T>(&self, at: impl FnOnce(&Live) -> T) -> T {
        self.test_cluster.recorder.look(&self.namespace, at)
    }

    pub fn local(&self) -> Result<&LocalCluster, Stop> {
        Ok(self.test_cluster.local()?)
    }

    pub fn kind(&self) -> Result<&KindCluster, Stop> {
        Ok(self.test_cluster.kind()?)
    }

    /// Records the history of a namespace. Call this before the namespace is created.
    pub fn track(&mut self, namespace: String) {
        let pool = self.namespace.clone();
        let belongs = move |object: &Value| match object["kind"].as_str().unwrap_or_default() {
            "ClusterTopologyBinding" | "Topology" => true,
            "HyperNode" => hyper_nodes::mentions(object, &pool),
            _ => {
                object["metadata"]["labels"][names::POOL] == pool.as_str()
                    || object["metadata"]["name"] == pool.as_str()
            }
        };
        let recorder = &self.test_cluster.recorder;
        self.tracked.push(match self.case.keep {
            Some(keep) => recorder.track_part(&namespace, belongs, keep),
            None => recorder.track(&namespace, belongs),
        });
    }

    pub fn base_gang(&self, set: &str) -> Result<Gang, Stop> {
        self.history().base(set).map_err(|_| Stop::Refused {
            action: format!("find the base PodGang of PodCliqueSet {set}"),
            reason: "the PodGang does not exist".into(),
        })
    }

    pub fn history(&self) -> History {
        let header = Header::new(self.case.id, self.target, &self.namespace, self.submitted.clone());
        let slowness = self.test_cluster.speed.slowest_since(self.started);
        // Only a local cluster's period is known: in other clusters the scheduler may run with other flags.
        let local = self.local().ok();
        let cycle_millis = local.and_then(|_| installation(self.target.scheduler()).cycle_millis);
        let header = Header { slowness, cycle_millis, ..header };
        self.test_cluster.recorder.history(header)
    }
}
