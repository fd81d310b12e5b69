//! The interface of a cluster to cases: an API server, nodes, and its health. Operations of only one kind of
//! cluster are available through [`Provider::local`] and [`Provider::kind`].

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
use crate::plain_http::get;

pub use crate::plain_http::NoAnswer;

#[derive(Debug, Clone)]
pub struct Logs {
    /// The scheduler whose logs are exported, in addition to the operator's.
    pub scheduler: Scheduler,
    pub since: jiff::Timestamp,
    pub files: Vec<(PathBuf, u64)>,
}

impl Logs {
    pub fn now(scheduler: Scheduler) -> Self {
        Self { scheduler, since: jiff::Timestamp::now(), files: Vec::new() }
    }
}

/// Where the operator's metrics are, in Prometheus' text format.
pub struct MetricsPage {
    pub(crate) client: Client,
    pub(crate) path: String,
    pub names: MetricNames,
}

impl MetricsPage {
    /// Reads the page. Fails if there is no response within 2 s.
    pub async fn read(&self) -> Result<String, NoAnswer> {
        get(&self.client, &self.path, Duration::from_secs(2)).await
    }
}

#[async_trait]
pub trait Provider: std::fmt::Debug + Send + Sync {
    /// The name in reports: `local`, `kind` or `existing`.
    fn name(&self) -> &'static str;

    fn node_pools(&self) -> &NodePools;

    fn client(&self) -> Client {
        self.node_pools().client()
    }

    fn ready_in(&self) -> Option<Duration> {
        None
    }

    /// Returns the rights of every service account before the operator was installed, or `None` if unknown.
    fn rights_of_all(&self) -> Option<&[Value]> {
        None
    }

    /// Returns the error of a required part that exited by itself. Without the part, no verdict is reliable.
    fn dead(&self) -> Option<ClusterError> {
        None
    }

    fn scheduler_failed(&self, _: Scheduler) -> Option<SchedulerFailure> {
        None
    }

    /// Whether a scheduler other than kube-scheduler was ready and has exited by itself.
    fn scheduler_ended(&self, _: Scheduler) -> bool {
        false
    }

    /// Returns how the operator exited, or `None` if another failure may be the cause.
    fn operator_death(&self) -> Option<ClusterError> {
        None
    }

    /// Returns the metrics of the operator under test, or the reason why they cannot be read.
    fn metrics(&self) -> Result<MetricsPage, &'static str> {
        Err("the operator's metrics are only read if the harness started it: pass --provider local")
    }

    /// Fails if cases can no longer use the cluster. The case then ends in an infrastructure error.
    async fn healthy(&self) -> Result<(), ClusterError> {
        let answer = tokio::time::timeout(Duration::from_secs(5), self.client().apiserver_version()).await;
        match answer {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(source)) => Err(ClusterError::api("ask the API server for its version", source)),
            Err(_) => Err(ClusterError::NotReady {
                what: "the API server".into(),
                seconds: 5,
                last: "no response".into(),
            }),
        }
    }

    fn logs(&self, scheduler: Scheduler) -> Logs;

    async fn export_logs(&self, logs: &Logs, folder: &Path) -> Result<(), ClusterError>;

    fn local(&self) -> Option<&LocalCluster> {
        None
    }

    fn kind(&self) -> Option<&KindCluster> {
        None
    }

    /// Removes what the harness created. With `keep`, logs and data remain.
    async fn end(&self, keep: bool) -> Result<(), ClusterError>;

    /// Like [`Provider::end`], for an interrupted run: all programs are killed.
    async fn end_at_once(&self, keep: bool) -> Result<(), ClusterError> {
        self.end(keep).await
    }
}
