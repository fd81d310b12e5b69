use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use conformance_contract::scheduler::Scheduler;
use conformance_programs::home;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, ListParams, LogParams};
use serde_json::Value;

use super::KindCluster;
use crate::node_pools::NodePools;
use crate::provider::{Logs, Provider};
use crate::{ClusterError, SchedulerFailure};

#[async_trait]
impl Provider for KindCluster {
    fn name(&self) -> &'static str {
        "kind"
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

    fn scheduler_failed(&self, scheduler: Scheduler) -> Option<SchedulerFailure> {
        self.schedulers.failed.iter().find(|(of, _)| *of == scheduler).map(|(_, why)| why.clone())
    }

    fn logs(&self, scheduler: Scheduler) -> Logs {
        Logs::now(scheduler)
    }

    async fn export_logs(&self, logs: &Logs, folder: &Path) -> Result<(), ClusterError> {
        let deployed = self.schedulers.deployed(logs.scheduler);
        let since = Some(logs.since);
        for (namespace, label) in [(&*self.operator.namespace, ""), (deployed.namespace, deployed.labels)] {
            let pods: Api<Pod> = Api::namespaced(self.client(), namespace);
            let found = pods
                .list(&ListParams::default().labels(label))
                .await
                .map_err(ClusterError::during(format!("list the pods of {namespace}")))?;
            for pod in found {
                let name = pod.name_any();
                let params = LogParams { since_time: since, ..LogParams::default() };
                let text = pods
                    .logs(&name, &params)
                    .await
                    .map_err(ClusterError::during(format!("read the log of pod {name}")))?;
                home::write(&folder.join(format!("{name}.log")), text)?;
            }
        }
        Ok(())
    }

    fn kind(&self) -> Option<&KindCluster> {
        Some(self)
    }

    async fn end(&self, keep: bool) -> Result<(), ClusterError> {
        self.delete(keep).await
    }
}
