//! A control plane of local processes: etcd, kube-apiserver, kube-controller-manager, the schedulers, KWOK
//! and the operator under test. Control planes share no loopback ports, CA, credentials or folder. A case can
//! stop any [`Part`], and start it again with other settings or behind a fault proxy (`proxied`).

mod apiserver;
mod audit;
mod bring_up;
mod certs;
mod control_plane;
mod controller;
mod controller_manager;
mod etcd;
mod kwok;
mod operator;
mod operator_home;
mod provider;
mod proxied;
mod proxies;
mod readiness;
mod start;
mod upgrade;
mod webhooks;

#[cfg(test)]
mod tests;

pub use audit::{Binding, Forbidden, OperatorWrite};
pub use start::Programs;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use conformance_contract::scheduler::Scheduler;
use conformance_install::cluster_spec::{ClusterSpec, ControllerSpec};
use conformance_install::operator::Operator;
use conformance_install::part::Part;
use conformance_programs::home::ClusterHome;
use conformance_programs::process::Process;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use parking_lot::{Mutex, MutexGuard};
use rustix::process::Signal;

use self::readiness::etcd_is_healthy;
use super::node_pools::NodePools;
use super::{ClusterError, SchedulerFailure};

/// The running processes that the harness started. Dropping this value kills them.
#[derive(Default)]
struct Processes(Mutex<BTreeMap<Part, Process>>);

#[derive(Debug, Clone)]
enum NotReady {
    Starting,
    Failed(SchedulerFailure),
    Ended(SchedulerFailure),
}

/// Dropping this value kills the processes; [`LocalCluster::stop`] shuts them down in order.
pub struct LocalCluster {
    home: ClusterHome,
    programs: Programs,
    layout: start::Layout,
    spec: Mutex<ClusterSpec>,
    processes: Processes,
    proxies: proxies::Proxies,
    not_ready: Mutex<BTreeMap<Scheduler, NotReady>>,
    node_pools: NodePools,
    /// The length of the operator's log when the operator was last started.
    operator_log_from: AtomicU64,
    /// Time from the first process until the operator is ready and each scheduler is ready or has failed.
    pub ready_in: Duration,
    rights_of_all: Vec<serde_json::Value>,
}

impl LocalCluster {
    pub fn client(&self) -> Client {
        self.node_pools.client()
    }

    pub fn kubeconfig(&self) -> &Path {
        &self.layout.admin
    }

    pub fn logs(&self) -> PathBuf {
        self.home.path.join("logs")
    }

    pub fn log(&self, part: Part) -> PathBuf {
        match part {
            Part::Controller => self.controller_log(self.spec().operator.as_deref()),
            _ => self.logs().join(format!("{}.log", part.program())),
        }
    }

    fn controller_log(&self, operator: Option<&Operator>) -> PathBuf {
        let name = operator.map_or(Part::Controller.program(), |operator| &operator.description.name);
        self.logs().join(format!("{name}.log"))
    }

    pub fn spec(&self) -> ClusterSpec {
        self.spec.lock().clone()
    }

    pub fn respecify(&self, change: impl FnOnce(&mut ClusterSpec)) {
        change(&mut self.spec.lock());
    }

    /// Returns the parts of the specification, except those of schedulers that never became ready.
    pub fn parts(&self) -> Vec<Part> {
        let not_ready = self.not_ready.lock().clone();
        let has_failed = |part: &Part| {
            let state = part.scheduler().and_then(|scheduler| not_ready.get(&scheduler));
            matches!(state, Some(NotReady::Failed(_)))
        };
        self.spec().parts().filter(|part| !has_failed(part)).collect()
    }

    /// The schedulers other than kube-scheduler that did not become ready or have exited by themselves.
    pub fn failed_schedulers(&self) -> BTreeMap<Scheduler, SchedulerFailure> {
        for (scheduler, part) in self.ended_schedulers() {
            let death = self.running_parts().get(&part).and_then(Process::death);
            if let Some(death) = death {
                self.not_ready.lock().insert(scheduler, NotReady::Ended(ClusterError::from(death).into()));
            }
        }
        let mut failed = BTreeMap::new();
        for (scheduler, state) in &*self.not_ready.lock() {
            if let NotReady::Failed(failure) | NotReady::Ended(failure) = state {
                failed.insert(*scheduler, failure.clone());
            }
        }
        failed
    }

    /// Whether a scheduler other than kube-scheduler was ready and has exited by itself.
    pub fn has_ended(&self, scheduler: Scheduler) -> bool {
        drop(self.failed_schedulers());
        matches!(self.not_ready.lock().get(&scheduler), Some(NotReady::Ended(_)))
    }

    /// Returns the schedulers that have exited by themselves and whose failure is not recorded yet.
    fn ended_schedulers(&self) -> Vec<(Scheduler, Part)> {
        let not_ready = self.not_ready.lock().clone();
        let running = self.running_parts();
        let ended = running.iter().filter(|(_, process)| process.ended().is_some());
        let others = ended.filter_map(|(part, _)| Some((part.scheduler()?, *part)));
        others.filter(|(of, _)| *of != Scheduler::KUBE && !not_ready.contains_key(of)).collect()
    }

    /// Returns the current length of the audit log. Requests about a new namespace follow it.
    pub fn audit_length(&self) -> u64 {
        audit::length(&self.layout.audit_log())
    }

    /// Returns the bindings in the audit log after byte `from`, which may follow a watch's event by a moment.
    pub fn bindings(&self, namespace: &str, from: u64) -> Result<Vec<Binding>, ClusterError> {
        audit::bindings(&self.layout.audit_log(), namespace, from)
    }

    /// Returns the requests that the API server rejected because a user that handles TrainJobs lacks rights.
    pub fn forbidden(&self) -> Result<Vec<Forbidden>, ClusterError> {
        audit::forbidden(&self.layout.audit_log(), &self.spec().audited_users())
    }

    /// The operator's writes, also rejected ones and those without effect, but not to Leases and Events. Reads
    /// the audit log after byte `from`.
    pub fn operator_writes(
        &self,
        namespace: &str,
        since: Timestamp,
        from: u64,
    ) -> Result<Vec<OperatorWrite>, ClusterError> {
        let users = operator_home::users(&self.spec());
        audit::operator_writes(&self.layout.audit_log(), &users, namespace, since, from)
    }

    pub fn resident_bytes(&self) -> u64 {
        self.running_parts().values().filter_map(Process::resident_bytes).sum()
    }

    /// Returns the first part that exited by itself, except schedulers that the cluster can lose.
    pub fn dead(&self) -> Option<ClusterError> {
        let part = *self.dead_parts().first()?;
        self.running_parts().get(&part).and_then(Process::death).map(Into::into)
    }

    /// Returns how the operator exited, or `None` if another part has also exited and may be the cause.
    pub fn operator_death(&self) -> Option<ClusterError> {
        if self.dead_parts() != [Part::Controller] {
            return None;
        }
        self.running_parts().get(&Part::Controller).and_then(Process::death).map(Into::into)
    }

    fn dead_parts(&self) -> Vec<Part> {
        let counts = |part: &Part| part.scheduler().is_none_or(|scheduler| scheduler == Scheduler::KUBE);
        let running = self.running_parts();
        let ended = running.iter().filter(|(part, process)| counts(part) && process.ended().is_some());
        ended.map(|(part, _)| *part).collect()
    }

    pub async fn healthy(&self) -> Result<(), ClusterError> {
        if let Some(death) = self.dead() {
            return Err(death);
        }
        self.apiserver_answers().await?;
        etcd_is_healthy(self.layout.etcd.0.number).await
    }

    pub async fn start_part(&self, part: Part) -> Result<(), ClusterError> {
        let spec = self.spec();
        let process = self.layout.process(part, &spec, &self.programs)?;
        self.route(part, &spec)?;
        if part == Part::Controller {
            let length = std::fs::metadata(self.log(part)).map_or(0, |log| log.len());
            self.operator_log_from.store(length, Ordering::Relaxed);
        }
        let running = self.programs.launcher.start(&process, &self.log(part)).await?;
        self.running_parts().insert(part, running);
        if let Some(scheduler) = part.scheduler() {
            let mut not_ready = self.not_ready.lock();
            not_ready.retain(|of, state| *of != scheduler || !matches!(state, NotReady::Ended(_)));
        }
        Ok(())
    }

    /// Stops a part with SIGKILL, or SIGTERM and 5 s of grace. Returns false if it did not exit in time.
    pub async fn stop_part(&self, part: Part, signal: Signal) -> bool {
        let process = self.running_parts().remove(&part);
        match process {
            Some(process) if signal == Signal::TERM => process.stop(Duration::from_secs(5)).await,
            Some(process) => {
                process.kill().await;
                true
            }
            None => true,
        }
    }

    /// Waits until the part exits by itself, and returns its exit code. The part then counts as stopped.
    pub async fn ended(&self, part: Part, limit: Duration) -> Result<Option<i32>, ClusterError> {
        let Some(process) = self.running_parts().remove(&part) else { return Ok(None) };
        if tokio::time::timeout(limit, process.wait()).await.is_ok() {
            return Ok(process.exit_code());
        }
        let name = process.name.clone();
        self.running_parts().insert(part, process);
        Err(ClusterError::NotReady {
            what: format!("the exit of {name}"),
            seconds: limit.as_secs(),
            last: "it is still running".into(),
        })
    }

    pub async fn restart_controller(&self, spec: ControllerSpec) -> Result<(), ClusterError> {
        self.stop_part(Part::Controller, Signal::KILL).await;
        self.respecify(|cluster| cluster.controller = spec);
        self.start_part(Part::Controller).await?;
        self.controller_ready().await.map(drop)
    }

    /// Restarts the operator. If it exits before it is ready, returns how it exited. It is then stopped.
    pub async fn restart_controller_or_exit(
        &self,
        spec: ControllerSpec,
    ) -> Result<Option<String>, ClusterError> {
        self.stop_part(Part::Controller, Signal::KILL).await;
        self.respecify(|cluster| cluster.controller = spec);
        self.start_part(Part::Controller).await?;
        // Remove the process from the running parts, because the exit of a running part fails the cluster.
        let Some(process) = self.running_parts().remove(&Part::Controller) else { return Ok(None) };
        let ready = tokio::select! {
            biased;
            () = process.wait() => return Ok(process.ended()),
            ready = self.controller_ready() => ready,
        };
        self.running_parts().insert(Part::Controller, process);
        ready.map(|_| None)
    }

    pub fn pid(&self, part: Part) -> Option<u32> {
        self.running_parts().get(&part).map(|process| process.pid)
    }

    /// Stops the operator with SIGTERM and the other parts with SIGKILL. Removes the folder unless `keep`.
    pub async fn stop(&self, keep: bool) -> Result<(), ClusterError> {
        self.stop_part(Part::Controller, Signal::TERM).await;
        let parts: Vec<_> = Part::all().collect();
        for part in parts.into_iter().rev() {
            self.stop_part(part, Signal::KILL).await;
        }
        if !keep {
            self.home.remove()?;
        }
        Ok(())
    }

    /// Kills all parts and waits until they have exited. Removes the folder unless `keep`.
    pub async fn kill(&self, keep: bool) -> Result<(), ClusterError> {
        let processes = std::mem::take(&mut *self.running_parts());
        for process in processes.values() {
            process.signal(Signal::KILL);
        }
        for process in processes.values() {
            process.wait().await;
        }
        if !keep {
            self.home.remove()?;
        }
        Ok(())
    }

    fn running_parts(&self) -> MutexGuard<'_, BTreeMap<Part, Process>> {
        self.processes.0.lock()
    }
}

impl std::fmt::Debug for LocalCluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LocalCluster({})", self.home.path.display())
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for process in self.0.get_mut().values() {
            process.signal(Signal::KILL);
        }
    }
}
