//! One run of a case on a target: its namespace, its nodes, and the operations that drivers use.
//!
//! A driver acts and waits; it does not judge. What it learns that the API server does not store (an admission
//! answer, "the barrier has passed") is recorded as a mark. A wait that times out stops the driver and records
//! everything known at that moment; the judge still judges what happened until then.
//!
//! The operations that every case needs are in the folder beside this file: nodes, manifests, requests and waits.

mod manifests;
mod nodes;
mod requests;
mod stop;
mod waits;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub use self::requests::{Answer, Loss};
pub use self::stop::{Awaited, Breach, Duty, Stop, Waited};
pub use self::waits::answered;
use conformance_cluster::deploy;
use conformance_cluster::kind::KindCluster;
use conformance_cluster::local::LocalCluster;
use conformance_cluster::nodes::NodeSpec;
use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_expect::{Expected, Gang, hyper_nodes, schedulers};
use conformance_history::{Header, History, Live, MarkName};

use super::case::Case;
use crate::recorder::Tracked;
use crate::test_cluster::TestCluster;

/// A case on a target.
pub struct TestContext {
    /// The case.
    pub case: &'static Case,
    /// The target.
    pub target: Target,
    /// The cluster.
    pub test_cluster: Arc<TestCluster>,
    /// Its namespace; its node pool has the same name.
    pub namespace: String,
    /// By how much its limits are longer than at scale 1.
    pub scale: f64,
    /// Namespaces that are recorded until it ends.
    tracked: Vec<Tracked>,
    submitted: BTreeMap<String, Value>,
    /// The nodes that it was given.
    pub nodes: Vec<NodeSpec>,
    /// What it made that lies in no namespace.
    of_the_cluster: Mutex<Vec<Value>>,
    begin: Instant,
    /// How much of its time the harness spent on itself.
    pub overhead: Duration,
    /// From a gang's pods being in the scheduler's hands to the barrier having passed.
    pub negative_verdict: Option<Duration>,
}

impl std::fmt::Debug for TestContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TestContext({} on {} in {})", self.case.id, self.target, self.namespace)
    }
}

impl TestContext {
    /// Makes the namespace and the nodes, as soon as there are enough for all that the case will ever need.
    ///
    /// # Errors
    /// [`Stop::Cluster`]; [`Stop::Wait`] if the scheduler's own picture of the topology does not take in the nodes.
    /// Nodes that it has by then are for the caller to take back.
    pub async fn begin(
        case: &'static Case,
        target: Target,
        test_cluster: Arc<TestCluster>,
        namespace: String,
        scale: f64,
    ) -> Result<Self, Stop> {
        let all = case.nodes.iter().map(|nodes| nodes.count as usize).sum();
        test_cluster.cluster.node_pools().reserve(&namespace, all).await?;
        let begin = Instant::now();
        let mut test = Self {
            case,
            target,
            test_cluster,
            namespace,
            scale,
            tracked: Vec::new(),
            submitted: BTreeMap::new(),
            nodes: Vec::new(),
            of_the_cluster: Mutex::default(),
            begin,
            overhead: Duration::ZERO,
            negative_verdict: None,
        };
        test.track(test.namespace.clone());
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": test.namespace, "labels": {names::RUN: test.test_cluster.run}}});
        deploy::create_unless_there(&test.test_cluster.client, &namespace).await?;
        if test.kind().is_ok() {
            // No workload asks the API server anything; a token would cost each pod a request, a mount and a watch.
            let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "automountServiceAccountToken": false,
                "metadata": {"name": "default", "namespace": test.namespace}});
            deploy::create_unless_there(&test.test_cluster.client, &account).await?;
        }
        match test.nodes_join(0).await {
            // Where the backend does not make the scheduler's picture, the judge says what comes of it.
            Err(Stop::Wait(_))
                if { schedulers::of(target).picture() }
                    .is_some_and(|picture| picture.is_made_by_the_backend) => {}
            made => made?,
        }
        test.overhead = begin.elapsed();
        Ok(test)
    }

    /// Adds a mark to the history: something that the judge needs to know and no object says.
    pub fn mark(&self, name: impl Into<MarkName>, detail: Value) {
        self.test_cluster.recorder.mark(&self.namespace, name, detail);
    }

    /// Looks at the case's namespace as it is now.
    pub fn look<T>(&self, at: impl FnOnce(&Live) -> T) -> T {
        self.test_cluster.recorder.look(&self.namespace, at)
    }

    /// The local control plane, for cases that stop or restart a part of it ([`super::case::Isolation::Dedicated`]).
    ///
    /// # Errors
    /// [`Stop::Cluster`] on a cluster of another provider.
    pub fn local(&self) -> Result<&LocalCluster, Stop> {
        Ok(self.test_cluster.local()?)
    }

    /// The kind cluster, for cases that do something to a kubelet.
    ///
    /// # Errors
    /// [`Stop::Cluster`] on a cluster of another provider.
    pub fn kind(&self) -> Result<&KindCluster, Stop> {
        Ok(self.test_cluster.kind()?)
    }

    /// Has what happens in a namespace recorded until the case ends: its own, and others that it makes. To be called before
    /// the namespace is made.
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

    /// The base PodGang of a PodCliqueSet's first replica, which there is by now.
    ///
    /// # Errors
    /// [`Stop::Refused`] if there is none.
    pub fn base_gang(&self, set: &str) -> Result<Gang, Stop> {
        self.history().base(set).map_err(|_| Stop::Refused {
            action: format!("find the base PodGang of {set}"),
            reason: "there is none".into(),
        })
    }

    /// Everything that happened to the case so far.
    pub fn history(&self) -> History {
        let header = Header::new(self.case.id, self.target, &self.namespace, self.submitted.clone());
        let slowness = self.test_cluster.speed.slowest_since(self.begin);
        let header = Header { slowness, ..header };
        self.test_cluster.recorder.history(header)
    }
}
