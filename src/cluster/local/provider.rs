use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use conformance_contract::metrics::MetricNames;
use conformance_contract::scheduler::Scheduler;
use conformance_install::operator::Metrics;
use conformance_install::part::Part;
use conformance_programs::home;
use serde_json::Value;

use super::LocalCluster;
use crate::node_pools::NodePools;
use crate::plain_http::plain_client;
use crate::provider::{Logs, MetricsPage, Provider};
use crate::{ClusterError, SchedulerFailure};

#[async_trait]
impl Provider for LocalCluster {
    fn name(&self) -> &'static str {
        "local"
    }

    fn node_pools(&self) -> &NodePools {
        &self.node_pools
    }

    fn ready_in(&self) -> Option<Duration> {
        Some(self.ready_in)
    }

    fn rights_of_all(&self) -> Option<&[Value]> {
        Some(&self.rights_of_all)
    }

    fn dead(&self) -> Option<ClusterError> {
        self.dead()
    }

    fn scheduler_failed(&self, scheduler: Scheduler) -> Option<SchedulerFailure> {
        self.failed_schedulers().remove(&scheduler)
    }

    fn scheduler_ended(&self, scheduler: Scheduler) -> bool {
        self.has_ended(scheduler)
    }

    fn operator_death(&self) -> Option<ClusterError> {
        self.operator_death()
    }

    fn metrics(&self) -> Result<MetricsPage, &'static str> {
        const NOT_DESCRIBED: &str = "the operator's description has no `metrics`";
        const NO_PORT: &str = "the cluster has no port for the operator's metrics";
        let (port, path, names) = match &self.spec().operator {
            None => (self.layout.controller.metrics, "/metrics".to_owned(), MetricNames::default()),
            Some(operator) => {
                let home = self.layout.operator_home(operator).map_err(|_| NO_PORT)?;
                let Metrics { path, names } = operator.description.metrics.clone().ok_or(NOT_DESCRIBED)?;
                (home.metrics, path, names)
            }
        };
        Ok(MetricsPage { client: plain_client(port).map_err(|_| NO_PORT)?, path, names })
    }

    async fn healthy(&self) -> Result<(), ClusterError> {
        self.healthy().await
    }

    fn logs(&self, scheduler: Scheduler) -> Logs {
        let spec = self.spec();
        let mut parts = vec![Part::Controller];
        parts.extend(spec.parts().filter(|part| part.is_of_trainer()));
        parts.extend(Part::of_scheduler(scheduler));
        let length = |path: &Path| std::fs::metadata(path).map(|log| log.len());
        let mut files = Vec::new();
        for part in &parts {
            let path = self.log(*part);
            if let Ok(length) = length(&path) {
                files.push((path, length));
            }
        }
        // Include the log of the new operator of an upgrade, which is created when that operator starts.
        let next = spec.upgrade.map(|upgrade| self.controller_log(upgrade.to.as_deref()));
        files.extend(next.filter(|next| files.iter().all(|(path, _)| path != next)).map(|next| (next, 0)));
        // Include the logs of fault proxies, which are created when a case starts a proxy.
        for part in parts {
            let path = self.fault_log(part);
            let length = length(&path).unwrap_or(0);
            files.push((path, length));
        }
        Logs { files, ..Logs::now(scheduler) }
    }

    async fn export_logs(&self, logs: &Logs, folder: &Path) -> Result<(), ClusterError> {
        for (path, from) in logs.files.iter().filter(|(path, _)| path.exists()) {
            let mut text = Vec::new();
            let mut log = match File::open(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                opened => opened.map_err(ClusterError::file(path))?,
            };
            log.seek(SeekFrom::Start(*from))
                .and_then(|_| log.read_to_end(&mut text))
                .map_err(ClusterError::file(path))?;
            home::write(&folder.join(path.file_name().unwrap_or_default()), text)?;
        }
        Ok(())
    }

    fn local(&self) -> Option<&LocalCluster> {
        Some(self)
    }

    async fn end(&self, keep: bool) -> Result<(), ClusterError> {
        // Keep the logs if a part exited by itself, because the report refers to them.
        let failed = self.dead().is_some() || !self.failed_schedulers().is_empty();
        self.stop(keep || failed).await
    }

    async fn end_at_once(&self, keep: bool) -> Result<(), ClusterError> {
        self.kill(keep).await
    }
}
