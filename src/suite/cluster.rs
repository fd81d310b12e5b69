//! The cluster that trials run on, as they see it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};

use super::history::Recorder;
use super::limits::SETTLE;
use super::names;
use crate::cluster::local::LocalCluster;
use crate::cluster::schedulers::Scheduler;
use crate::cluster::{ClusterError, deploy};

/// An API server with its recorder, and the switches of its parts where the harness owns them.
pub struct Ground {
    /// Administrator's client.
    pub client: Client,
    /// What happens.
    pub recorder: Recorder,
    /// The parts, where they are local processes of this harness.
    pub local: Option<Arc<LocalCluster>>,
    /// The run's id, on everything that trials create.
    pub run: String,
}

impl std::fmt::Debug for Ground {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ground({:?})", self.local)
    }
}

/// The topology binding that every trial may use: block, rack and host, by upstream's keys.
pub const TOPOLOGY: &str = "conformance-topology";

/// Its levels, widest first: domains and node-label keys.
pub const LEVELS: [(&str, &str); 3] = [("block", names::BLOCK), ("rack", names::RACK), ("host", names::HOST)];

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

impl Ground {
    /// Starts recording on a cluster and creates what all trials share: the topology binding and the canaries' node.
    ///
    /// # Errors
    /// [`ClusterError::Forbidden`], [`ClusterError::Api`].
    pub async fn prepare(
        client: Client,
        local: Option<Arc<LocalCluster>>,
        schedulers: &BTreeSet<Scheduler>,
        run: &str,
    ) -> Result<Self, ClusterError> {
        let recorder = Recorder::start(client.clone(), schedulers, SETTLE.length).await.map_err(|kind| {
            ClusterError::NotReady {
                what: format!("the list of {}", kind.plural),
                seconds: SETTLE.length.as_secs(),
                last: "the API server does not let this identity list it, or does not answer".into(),
            }
        })?;
        deploy::apply(&client, &binding(TOPOLOGY, &LEVELS)).await?;
        let node = crate::cluster::nodes::NodeSpec {
            name: "canary".into(),
            labels: [(names::CANARY.to_owned(), "true".to_owned()), (names::RUN.to_owned(), run.to_owned())]
                .into(),
            taint: Some((names::CANARY.into(), "true".into())),
            gpus: 0,
            pods: 1000,
        };
        deploy::create_unless_there(&client, &node.object()).await?;
        Ok(Self { client, recorder, local, run: run.into() })
    }

    /// Whether the cluster still is what trials need: every part alive, the API server answering.
    ///
    /// # Errors
    /// What is wrong: an infrastructure error, whatever the judges say.
    pub async fn healthy(&self) -> Result<(), ClusterError> {
        if let Some(local) = &self.local {
            return local.healthy().await;
        }
        let answer = tokio::time::timeout(Duration::from_secs(5), self.client.apiserver_version()).await;
        match answer {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(source)) => Err(ClusterError::api("ask the API server for its version", source)),
            Err(_) => Err(ClusterError::NotReady {
                what: "the API server".into(),
                seconds: 5,
                last: "no answer".into(),
            }),
        }
    }
}
