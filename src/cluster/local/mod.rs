//! One control plane of local processes: etcd, kube-apiserver, kube-controller-manager, the schedulers, KWOK and
//! the controller under test, with its own loopback ports, CA, credentials and folder.
//!
//! One file per component defines how it is started, `bring_up` the order, `readiness` when it works. Everything a
//! case may want to break is a [`Part`]: it can be stopped, started again, or started with other settings, and
//! [`LocalCluster::dead`] distinguishes a part that exited by itself from one that was stopped on purpose.
//!
//! Any part can be started behind a fault proxy (`proxied`), which its kubeconfig leads to instead.
//!
//! A scheduler other than kube-scheduler that does not start, or exits by itself, is given up, and the cluster
//! continues without it: [`LocalCluster::failed_schedulers`] has the reason.

mod apiserver;
mod audit;
mod bring_up;
mod certs;
mod controller;
mod controller_manager;
mod etcd;
mod kwok;
mod operator;
mod part;
mod ports;
mod provider;
mod proxied;
mod readiness;
mod start;
mod upgrade;

#[cfg(test)]
mod tests;

pub use crate::cluster_spec::{ClusterSpec, ControllerSpec, Gates, Upgrade};
pub use audit::{Binding, Forbidden, OperatorWrite};
pub use conformance_contract::scheduler::EXTERNAL_SCHEDULER;
pub use part::{Part, ProcessId};
pub(crate) use ports::reserve_any;
pub use start::Programs;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use conformance_contract::scheduler::Scheduler;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustix::process::Signal;

use super::home::ClusterHome;
use super::node_pools::NodePools;
use super::process::Process;
use super::{ClusterError, SchedulerFailure};
use crate::operator::Operator;

/// The parts that should be running. Dropping it kills them.
#[derive(Default)]
struct Processes(Mutex<BTreeMap<Part, Process>>);

/// Why a scheduler is not up.
#[derive(Debug, Clone)]
enum NotUp {
    /// It is being started.
    Starting,
    /// It never came up and was given up, for this reason.
    Failed(SchedulerFailure),
    /// It was up, and a process of it ended by itself.
    Ended(SchedulerFailure),
}

/// A running control plane. Dropping it kills its processes; [`LocalCluster::stop`] ends it in order.
pub struct LocalCluster {
    home: ClusterHome,
    programs: Programs,
    layout: start::Layout,
    spec: Mutex<ClusterSpec>,
    processes: Processes,
    proxies: proxied::Proxies,
    /// The schedulers beside kube-scheduler that are not, or not yet, up.
    not_up: Mutex<BTreeMap<Scheduler, NotUp>>,
    node_pools: NodePools,
    /// How long an operator's log was when it was started last.
    operator_log_from: AtomicU64,
    /// From the first process to a controller that answers `/readyz`, and schedulers that are up or given up.
    pub ready_in: Duration,
    /// What every service account might do before the operator was installed.
    rights_of_all: Vec<serde_json::Value>,
}

impl LocalCluster {
    /// A client with the rights of the cluster's administrator.
    pub fn client(&self) -> Client {
        self.node_pools.client()
    }

    /// The kubeconfig of the cluster's administrator.
    pub fn kubeconfig(&self) -> &Path {
        &self.layout.admin
    }

    /// The folder with its logs.
    pub fn logs(&self) -> PathBuf {
        self.home.path.join("logs")
    }

    /// The log of a part.
    pub fn log(&self, part: Part) -> PathBuf {
        match part {
            Part::Controller => self.controller_log(self.spec().operator.as_deref()),
            _ => self.logs().join(format!("{}.log", part.program())),
        }
    }

    /// The log of an operator, or of the reference controller.
    fn controller_log(&self, operator: Option<&Operator>) -> PathBuf {
        let name = operator.map_or(Part::Controller.program(), |operator| &operator.description.name);
        self.logs().join(format!("{name}.log"))
    }

    /// How it was asked to be.
    pub fn spec(&self) -> ClusterSpec {
        self.spec.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes how parts that are started from now on are started.
    pub fn respecify(&self, change: impl FnOnce(&mut ClusterSpec)) {
        change(&mut self.spec.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The parts that should be there: those of its specification but for the schedulers that never came up.
    pub fn parts(&self) -> Vec<Part> {
        let not_up = self.not_up().clone();
        let given_up = |part: &Part| {
            let why = part.scheduler().and_then(|scheduler| not_up.get(&scheduler));
            matches!(why, Some(NotUp::Failed(_)))
        };
        self.spec().parts().filter(|part| !given_up(part)).collect()
    }

    /// The schedulers other than kube-scheduler that did not come up, or have ended by themselves since, and that the
    /// cluster does without: each with the reason and the last lines of its log.
    pub fn failed_schedulers(&self) -> BTreeMap<Scheduler, SchedulerFailure> {
        for (scheduler, part) in self.ended_schedulers() {
            // Told once: the end of a log is no matter of every look.
            let death = self.lock().get(&part).and_then(Process::death);
            if let Some(death) = death {
                self.not_up().insert(scheduler, NotUp::Ended(death.into()));
            }
        }
        let failed = |(scheduler, why): (&Scheduler, &NotUp)| match why {
            NotUp::Failed(failure) | NotUp::Ended(failure) => Some((*scheduler, failure.clone())),
            NotUp::Starting => None,
        };
        self.not_up().iter().filter_map(failed).collect()
    }

    /// Whether a scheduler other than kube-scheduler was up, and has ended by itself since.
    pub fn has_ended(&self, scheduler: Scheduler) -> bool {
        drop(self.failed_schedulers());
        matches!(self.not_up().get(&scheduler), Some(NotUp::Ended(_)))
    }

    /// The schedulers other than kube-scheduler that are up as far as is known, and have a process that ended by itself.
    fn ended_schedulers(&self) -> Vec<(Scheduler, Part)> {
        let not_up = self.not_up().clone();
        let running = self.lock();
        let ended = running.iter().filter(|(_, process)| process.ended().is_some());
        let others = ended.filter_map(|(part, _)| Some((part.scheduler()?, *part)));
        others.filter(|(of, _)| *of != Scheduler::KUBE && !not_up.contains_key(of)).collect()
    }

    /// Who has bound which pod in a namespace, by the API server's audit log. A binding is in it once its request was
    /// answered, which can be a moment after a watch has shown the pod.
    ///
    /// # Errors
    /// [`ClusterError::File`].
    pub fn bindings(&self, namespace: &str) -> Result<Vec<Binding>, ClusterError> {
        audit::bindings(&self.layout.audit_log(), namespace)
    }

    /// What those that run TrainJobs asked for and were refused for want of rights.
    ///
    /// # Errors
    /// [`ClusterError::File`].
    pub fn forbidden(&self) -> Result<Vec<Forbidden>, ClusterError> {
        audit::forbidden(&self.layout.audit_log(), &self.spec().audited())
    }

    /// What the operator under test has requested to be written in a namespace since then, by the API server's audit log:
    /// what changed nothing and what was refused too, Leases and Events excepted.
    ///
    /// # Errors
    /// [`ClusterError::File`].
    pub fn operator_writes(
        &self,
        namespace: &str,
        since: Timestamp,
    ) -> Result<Vec<OperatorWrite>, ClusterError> {
        audit::operator_writes(&self.layout.audit_log(), &operator::users(&self.spec()), namespace, since)
    }

    /// Resident memory of all its parts, in bytes.
    pub fn resident_bytes(&self) -> u64 {
        self.lock().values().filter_map(Process::resident_bytes).sum()
    }

    /// Resident memory of one part, in bytes, while it runs.
    pub fn resident_bytes_of(&self, part: Part) -> Option<u64> {
        self.lock().get(&part).and_then(Process::resident_bytes)
    }

    /// The first part that should be running and has ended, as an error with its log. The others go on without a
    /// scheduler that is not kube-scheduler: [`LocalCluster::failed_schedulers`].
    pub fn dead(&self) -> Option<ClusterError> {
        self.dead_parts().first().and_then(|part| self.lock().get(part).and_then(Process::death))
    }

    /// How the operator under test ended by itself, if it is the only part that did: not for want of an API server.
    pub fn operator_death(&self) -> Option<ClusterError> {
        let only = self.dead_parts() == [Part::Controller];
        only.then(|| self.lock().get(&Part::Controller).and_then(Process::death)).flatten()
    }

    fn dead_parts(&self) -> Vec<Part> {
        let counts = |part: &Part| part.scheduler().is_none_or(|scheduler| scheduler == Scheduler::KUBE);
        let running = self.lock();
        let ended = running.iter().filter(|(part, process)| counts(part) && process.ended().is_some());
        ended.map(|(part, _)| *part).collect()
    }

    /// Whether the API server is ready and no part has ended.
    ///
    /// # Errors
    /// What is wrong.
    pub async fn healthy(&self) -> Result<(), ClusterError> {
        if let Some(death) = self.dead() {
            return Err(death);
        }
        self.apiserver_answers().await
    }

    /// Starts a part as the specification says now.
    ///
    /// # Errors
    /// [`ClusterError::Process`], [`ClusterError::File`]; [`ClusterError::NoProgram`] if its program was not prepared.
    pub async fn start_part(&self, part: Part) -> Result<(), ClusterError> {
        let spec = self.spec();
        let process = self.layout.process(part, &spec, &self.programs)?;
        self.route(part, &spec)?;
        if part == Part::Controller {
            let length = std::fs::metadata(self.log(part)).map_or(0, |log| log.len());
            self.operator_log_from.store(length, Ordering::Relaxed);
        }
        let running = self.programs.launcher.start(&process, &self.log(part)).await?;
        self.lock().insert(part, running);
        if let Some(scheduler) = part.scheduler() {
            // Started again, it has another chance.
            self.not_up().retain(|of, why| *of != scheduler || !matches!(why, NotUp::Ended(_)));
        }
        Ok(())
    }

    /// Stops a part on purpose: SIGKILL, or SIGTERM with 5 s of grace. Whether it obeyed.
    pub async fn stop_part(&self, part: Part, signal: Signal) -> bool {
        let process = self.lock().remove(&part);
        match process {
            Some(process) if signal == Signal::TERM => process.stop(Duration::from_secs(5)).await,
            Some(process) => {
                process.kill().await;
                true
            }
            None => true,
        }
    }

    /// Waits until a part has ended by itself and forgets it; its exit code.
    ///
    /// # Errors
    /// [`ClusterError::NotReady`] if it still runs after `limit`.
    pub async fn ended(&self, part: Part, limit: Duration) -> Result<Option<i32>, ClusterError> {
        let Some(process) = self.lock().remove(&part) else { return Ok(None) };
        if tokio::time::timeout(limit, process.wait()).await.is_ok() {
            return Ok(process.exit_code());
        }
        let name = process.name.clone();
        self.lock().insert(part, process);
        Err(ClusterError::NotReady {
            what: format!("the end of {name}"),
            seconds: limit.as_secs(),
            last: "it is still running".into(),
        })
    }

    /// Stops the controller and starts it as `spec` says; returns once it is ready.
    ///
    /// # Errors
    /// As [`LocalCluster::start`].
    pub async fn restart_controller(&self, spec: ControllerSpec) -> Result<(), ClusterError> {
        self.stop_part(Part::Controller, Signal::KILL).await;
        self.respecify(|cluster| cluster.controller = spec);
        self.start_part(Part::Controller).await?;
        self.controller_ready().await.map(drop)
    }

    /// The process id of a part that runs.
    pub fn pid(&self, part: Part) -> Option<u32> {
        self.lock().get(&part).map(|process| process.pid)
    }

    /// Ends the cluster: the controller in order, everything else at once. Removes its folder unless `keep`.
    ///
    /// # Errors
    /// [`ClusterError::File`] if the folder cannot be removed.
    pub async fn stop(&self, keep: bool) -> Result<(), ClusterError> {
        self.stop_part(Part::Controller, Signal::TERM).await;
        let parts: Vec<_> = Part::all().collect();
        for part in parts.into_iter().rev() {
            self.stop_part(part, Signal::KILL).await;
        }
        if keep { Ok(()) } else { self.home.remove() }
    }

    fn not_up(&self) -> std::sync::MutexGuard<'_, BTreeMap<Scheduler, NotUp>> {
        self.not_up.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Part, Process>> {
        self.processes.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for LocalCluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LocalCluster({})", self.home.path.display())
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for process in self.0.get_mut().unwrap_or_else(PoisonError::into_inner).values() {
            process.signal(Signal::KILL);
        }
    }
}

/// A client for a kubeconfig file.
///
/// # Errors
/// [`ClusterError::Kubeconfig`] if the file cannot be used.
pub async fn client(kubeconfig: &Path) -> Result<Client, ClusterError> {
    Client::try_from(config(kubeconfig).await?).map_err(|source| ClusterError::api("connect", source))
}

/// What a kubeconfig says. Nothing is asked of its server.
///
/// # Errors
/// [`ClusterError::Kubeconfig`].
pub async fn config(kubeconfig: &Path) -> Result<kube::Config, ClusterError> {
    let unusable = |source| ClusterError::Kubeconfig { path: kubeconfig.into(), source: Box::new(source) };
    let file = Kubeconfig::read_from(kubeconfig).map_err(unusable)?;
    let mut config =
        kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.map_err(unusable)?;
    // Watches stay open for minutes; a request that hangs is bounded by the wait it belongs to.
    config.read_timeout = None;
    Ok(config)
}
