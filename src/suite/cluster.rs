//! The cluster that trials run on, as they see it.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use serde_json::json;

use super::history::Recorder;
use super::limits::SETTLE;
use super::names;
use crate::cluster::local::LocalCluster;
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

impl Ground {
    /// Starts recording on a cluster and creates what all trials share: the topology binding and the canaries' node.
    ///
    /// # Errors
    /// [`ClusterError::Forbidden`], [`ClusterError::Api`].
    pub async fn prepare(
        client: Client,
        local: Option<Arc<LocalCluster>>,
        run: &str,
    ) -> Result<Self, ClusterError> {
        let recorder =
            Recorder::start(client.clone(), SETTLE.length).await.map_err(|kind| ClusterError::NotReady {
                what: format!("the list of {}", kind.plural),
                seconds: SETTLE.length.as_secs(),
                last: "the API server does not let this identity list it, or does not answer".into(),
            })?;
        let binding = json!({
            "apiVersion": "grove.io/v1alpha1",
            "kind": "ClusterTopologyBinding",
            "metadata": {"name": TOPOLOGY},
            "spec": {"levels": [
                {"domain": "block", "key": names::BLOCK},
                {"domain": "rack", "key": names::RACK},
                {"domain": "host", "key": names::HOST},
            ]},
        });
        deploy::apply(&client, &binding).await?;
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
