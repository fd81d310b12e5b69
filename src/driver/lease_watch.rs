//! Watches the operator's lease. The history of a case lacks the operator's namespace, so the watch records
//! each version of the lease as a [`SharedMark::Lease`].

use std::time::Instant;

use conformance_history::SharedMark;
use futures::StreamExt;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::limits::{self, Limit};
use crate::context::{Stop, TestContext};

pub struct LeaseWatch {
    holder: watch::Receiver<Option<String>>,
    _task: JoinSet<()>,
}

impl TestContext {
    pub async fn watch_lease(&self) -> Result<LeaseWatch, Stop> {
        let operator = self.kind()?.operator();
        let leases: Api<Lease> = Api::namespaced(self.test_cluster.client.clone(), &operator.namespace);
        let config = watcher::Config::default().fields(&format!("metadata.name={}", operator.lease));
        let mut events = watcher(leases, config).default_backoff().boxed();
        let (test_cluster, namespace) = (self.test_cluster.clone(), self.namespace.clone());
        let (sender, holder) = watch::channel(None);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut is_listed = false;
            while let Some(event) = events.next().await {
                let lease = match event {
                    Ok(watcher::Event::Apply(lease) | watcher::Event::InitApply(lease)) => lease,
                    Ok(watcher::Event::Delete(lease)) => Lease { spec: None, ..lease },
                    Ok(watcher::Event::InitDone) => {
                        is_listed = true;
                        continue;
                    }
                    Ok(watcher::Event::Init) => {
                        // The watch lists again, so versions may be missing.
                        if is_listed {
                            test_cluster.recorder.mark(&namespace, SharedMark::LeaseWatchLost, Value::Null);
                        }
                        continue;
                    }
                    Err(error) => {
                        tracing::debug!(%error, "failed to watch the lease, retrying");
                        continue;
                    }
                };
                let version = json!({"resourceVersion": lease.metadata.resource_version, "spec": lease.spec});
                test_cluster.recorder.mark(&namespace, SharedMark::Lease, version);
                let new_holder = lease.spec.and_then(|spec| spec.holder_identity);
                sender.send_replace(new_holder.filter(|holder| !holder.is_empty()));
            }
        });
        let mut watched = LeaseWatch { holder, _task: task };
        watched
            .until(self, "a leader holding the lease", limits::RECOVERY, |holder| holder.is_some())
            .await?;
        Ok(watched)
    }
}

impl LeaseWatch {
    pub fn holder(&self) -> Option<String> {
        self.holder.borrow().clone()
    }

    /// Waits for a holder that satisfies the condition. The holder is `None` while no process holds the lease.
    pub async fn until(
        &mut self,
        test: &TestContext,
        condition: &str,
        limit: Limit,
        is_reached: impl Fn(Option<&str>) -> bool,
    ) -> Result<(), Stop> {
        let begin = Instant::now();
        let reached = self.holder.wait_for(|holder| is_reached(holder.as_deref()));
        if test.within(limit, reached).await.is_some_and(|seen| seen.is_ok()) {
            return Ok(());
        }
        Err(test.timed_out(condition, limit, begin).await)
    }
}
