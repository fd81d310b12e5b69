//! What cases need of a cluster, wherever it comes from: an API server, nodes, and its health.
//!
//! [`super::local`] starts one from processes with simulated nodes, [`super::kind`] one from containers with real
//! kubelets, [`super::existing`] uses one that someone else runs. What only one of them can do (stop a scheduler,
//! restart a kubelet) is available through [`Provider::local`] and [`Provider::kind`]; a case that needs it is not
//! run elsewhere.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use conformance_contract::metrics::MetricNames;
use conformance_contract::scheduler::Scheduler;
use kube::Client;
use serde_json::Value;

use super::kind::KindCluster;
use super::local::LocalCluster;
use super::node_pools::NodePools;
use super::{ClusterError, SchedulerFailure};
use crate::plain_http::ask;

/// Places in logs.
#[derive(Debug, Clone)]
pub struct Logs {
    /// Whose, beside the controller's.
    pub scheduler: Scheduler,
    /// When.
    pub since: jiff::Timestamp,
    /// Log files, and how long they were then.
    pub files: Vec<(PathBuf, u64)>,
}

impl Logs {
    /// Now, without files.
    pub fn now(scheduler: Scheduler) -> Self {
        Self { scheduler, since: jiff::Timestamp::now(), files: Vec::new() }
    }
}

/// Where the operator's metrics are, in Prometheus' text format.
pub struct MetricsPage {
    pub(crate) client: Client,
    pub(crate) path: String,
    /// What they are called there.
    pub names: MetricNames,
}

impl MetricsPage {
    /// The page as it is now.
    ///
    /// # Errors
    /// What came instead of an answer within 2 s.
    pub async fn read(&self) -> Result<String, String> {
        ask(&self.client, &self.path, Duration::from_secs(2)).await
    }
}

/// A cluster that cases run on.
#[async_trait]
pub trait Provider: std::fmt::Debug + Send + Sync {
    /// Its name in reports: `local`, `kind` or `existing`.
    fn name(&self) -> &'static str;

    /// A client with the rights that the harness has there.
    fn client(&self) -> Client;

    /// How it gives nodes to cases.
    fn node_pools(&self) -> &NodePools;

    /// From its creation to its being ready, if the harness made it.
    fn ready_in(&self) -> Option<Duration> {
        None
    }

    /// What every service account might do before the operator was installed ([`super::rights_of_all`]); `None` if nobody
    /// read it then.
    fn rights_of_all(&self) -> Option<&[Value]> {
        None
    }

    /// A part without which no verdict can be trusted, and which has ended by itself.
    fn dead(&self) -> Option<ClusterError> {
        None
    }

    /// Why a scheduler other than kube-scheduler is not there.
    fn scheduler_failed(&self, _: Scheduler) -> Option<SchedulerFailure> {
        None
    }

    /// Whether a scheduler other than kube-scheduler was up, and has ended by itself since.
    fn scheduler_ended(&self, _: Scheduler) -> bool {
        false
    }

    /// How the operator under test ended by itself, where that is known and nothing else is to blame.
    fn operator_death(&self) -> Option<ClusterError> {
        None
    }

    /// Where the metrics of the operator under test are; why nobody can read them there.
    fn metrics(&self) -> Result<MetricsPage, &'static str> {
        Err("the operator's metrics are read where the harness has started it: run it with --provider local")
    }

    /// Whether it still is what cases need.
    ///
    /// # Errors
    /// What is wrong: an infrastructure error, whatever the judges say.
    async fn healthy(&self) -> Result<(), ClusterError> {
        let answer = tokio::time::timeout(Duration::from_secs(5), self.client().apiserver_version()).await;
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

    /// Where the logs that explain a result on a scheduler are now.
    fn logs(&self, scheduler: Scheduler) -> Logs;

    /// Writes what they say since then to files in a folder.
    ///
    /// # Errors
    /// What kept it from doing so.
    async fn export_logs(&self, logs: &Logs, folder: &Path) -> Result<(), ClusterError>;

    /// The local control plane, whose parts can be stopped and started otherwise.
    fn local(&self) -> Option<&LocalCluster> {
        None
    }

    /// The kind cluster, whose nodes are containers.
    fn kind(&self) -> Option<&KindCluster> {
        None
    }

    /// Ends what the harness made of it. With `keep`, logs and data stay.
    ///
    /// # Errors
    /// What could not be removed.
    async fn end(&self, keep: bool) -> Result<(), ClusterError>;
}
