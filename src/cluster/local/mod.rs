//! One control plane of local processes: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, KWOK and the
//! controller under test, on loopback ports of its own, with a CA, credentials and a folder of its own.
//!
//! One file per component says how it is started; this one knows the order. Everything a case may want to break is
//! a [`Part`]: it can be stopped, started again, or started otherwise, and [`LocalCluster::dead`] tells a part that
//! ended by itself from one that was stopped on purpose.

mod apiserver;
mod certs;
mod controller;
mod controller_manager;
mod etcd;
mod kwok;
mod ports;
mod spec;
mod start;

#[cfg(test)]
mod tests;

pub use spec::{ClusterSpec, ControllerSpec, EXTERNAL_SCHEDULER, Gates};
pub use start::{Part, Programs};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustix::process::Signal;

use super::home::{self, ClusterHome};
use super::process::Process;
use super::{ClusterError, deploy};
use crate::controller::install::{InstallOptions, WebhookTarget};

/// What a cluster's folder may grow to.
const CLUSTER_MIB: u64 = 1024;

/// The parts that should be running. Dropping it kills them.
#[derive(Default)]
struct Processes(Mutex<BTreeMap<Part, Process>>);

/// A running control plane. Dropping it kills its processes; [`LocalCluster::stop`] ends it in order.
pub struct LocalCluster {
    home: ClusterHome,
    programs: Programs,
    layout: start::Layout,
    spec: Mutex<ClusterSpec>,
    processes: Processes,
    client: Client,
    /// From the first process to a controller that answers `/readyz`.
    pub ready_in: Duration,
}

impl LocalCluster {
    /// Brings a control plane up.
    ///
    /// # Errors
    /// [`ClusterError::Name`], [`ClusterError::Disk`], [`ClusterError::Ports`] before anything runs;
    /// [`ClusterError::Process`] with the log of a component that ended; [`ClusterError::NotReady`]. Whatever ran by
    /// then is killed.
    pub async fn start(name: &str, spec: ClusterSpec, programs: Programs) -> Result<Self, ClusterError> {
        home::require_space(&home::state(), CLUSTER_MIB, "for a cluster", home::STATE_VARIABLE)?;
        let home = ClusterHome::take(name)?;
        let begin = Instant::now();
        let layout = start::Layout::new(&home.path)?;
        let client = client(&layout.admin).await?;
        let mut cluster = Self {
            home,
            programs,
            layout,
            spec: Mutex::new(spec),
            processes: Processes::default(),
            client,
            ready_in: Duration::ZERO,
        };
        cluster.start_part(Part::Etcd).await?;
        cluster.start_part(Part::Apiserver).await?;
        cluster.apiserver_ready().await?;
        cluster.start_part(Part::Scheduler).await?;
        cluster.start_part(Part::Kwok).await?;
        let options = InstallOptions {
            webhooks: WebhookTarget::Url(cluster.layout.webhook_url()),
            ca_bundle: cluster.layout.ca_bundle.clone().into_bytes(),
        };
        deploy::install_controller(&cluster.client, &options).await?;
        // After the CRDs: its garbage collector looks for new kinds only every 30 s.
        cluster.start_part(Part::ControllerManager).await?;
        cluster.start_part(Part::Controller).await?;
        cluster.controller_ready().await?;
        cluster.ready_in = begin.elapsed();
        Ok(cluster)
    }

    /// A client with the rights of the cluster's administrator.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The kubeconfig of the cluster's administrator.
    pub fn kubeconfig(&self) -> &Path {
        &self.layout.admin
    }

    /// The folder with its logs.
    pub fn logs(&self) -> PathBuf {
        self.home.path.join("logs")
    }

    /// How it was asked to be.
    pub fn spec(&self) -> ClusterSpec {
        self.spec.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A serving certificate of the cluster's CA for loopback, and the CA bundle, for webhooks of the harness.
    pub fn webhook_identity(&self) -> (&Path, &Path, &str) {
        (&self.layout.serving.certificate, &self.layout.serving.key, &self.layout.ca_bundle)
    }

    /// Changes how parts that are started from now on are started.
    pub fn respecify(&self, change: impl FnOnce(&mut ClusterSpec)) {
        change(&mut self.spec.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The first part that should be running and has ended, as an error with its log.
    pub fn dead(&self) -> Option<ClusterError> {
        self.lock().values().find_map(Process::death)
    }

    /// Whether the controller answers, the API server is ready and no part has ended.
    ///
    /// # Errors
    /// What is wrong.
    pub async fn healthy(&self) -> Result<(), ClusterError> {
        if let Some(death) = self.dead() {
            return Err(death);
        }
        match tokio::time::timeout(Duration::from_secs(5), get(&self.client, "/readyz")).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(last)) => Err(ClusterError::NotReady { what: "the API server".into(), seconds: 5, last }),
            Err(_) => Err(ClusterError::NotReady {
                what: "the API server".into(),
                seconds: 5,
                last: "no answer".into(),
            }),
        }
    }

    /// Starts a part as the specification says now.
    ///
    /// # Errors
    /// [`ClusterError::Process`], [`ClusterError::File`].
    pub async fn start_part(&self, part: Part) -> Result<(), ClusterError> {
        let spec = self.spec();
        let process = self.layout.process(part, &spec, &self.programs)?;
        let log = self.logs().join(format!("{}.log", process.name));
        let running = self.programs.launcher.start(&process, &log).await?;
        self.lock().insert(part, running);
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

    /// Waits until a part has ended by itself (a fault made it exit) and forgets it; its exit code.
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

    /// Waits until the API server is ready.
    ///
    /// # Errors
    /// [`ClusterError::NotReady`], or the death of a part.
    pub async fn apiserver_ready(&self) -> Result<(), ClusterError> {
        self.ready("the API server", &self.client, "/readyz").await.map(drop)
    }

    /// Waits until the controller says that it is ready; its detail.
    ///
    /// # Errors
    /// [`ClusterError::NotReady`], or the death of a part.
    pub async fn controller_ready(&self) -> Result<String, ClusterError> {
        let client = self.plain_client(self.layout.controller.health)?;
        self.ready("the backend controller", &client, "/readyz").await
    }

    /// The controller's metrics, in the text format.
    ///
    /// # Errors
    /// [`ClusterError::NotReady`].
    pub async fn controller_metrics(&self) -> Result<String, ClusterError> {
        let client = self.plain_client(self.layout.controller.metrics)?;
        self.ready("the controller's metrics", &client, "/metrics").await
    }

    /// The process id of a part that runs.
    pub fn pid(&self, part: Part) -> Option<u32> {
        self.lock().get(&part).map(|process| process.pid)
    }

    /// Ends the cluster: the controller in order, everything else at once. Removes its folder unless `keep`.
    ///
    /// # Errors
    /// [`ClusterError::File`] if the folder cannot be removed.
    pub async fn stop(self, keep: bool) -> Result<(), ClusterError> {
        self.stop_part(Part::Controller, Signal::TERM).await;
        for part in Part::ALL.iter().rev() {
            self.stop_part(*part, Signal::KILL).await;
        }
        if keep { Ok(()) } else { self.home.remove() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Part, Process>> {
        self.processes.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plain_client(&self, port: u16) -> Result<Client, ClusterError> {
        let url = format!("http://127.0.0.1:{port}");
        let url = url.parse().map_err(|_| ClusterError::Name(format!("{url} is no address")))?;
        Client::try_from(kube::Config::new(url)).map_err(|source| ClusterError::api("connect", source))
    }

    /// Asks until the answer is 200. A question every 25 ms is no load for a process that is just starting.
    async fn ready(&self, what: &str, client: &Client, path: &str) -> Result<String, ClusterError> {
        const SECONDS: u64 = 60;
        let begin = Instant::now();
        loop {
            let last = match tokio::time::timeout(Duration::from_secs(2), get(client, path)).await {
                Ok(Ok(text)) => return Ok(text),
                Ok(Err(last)) => last,
                Err(_) => "no answer".into(),
            };
            if let Some(death) = self.dead() {
                return Err(death);
            }
            if begin.elapsed() > Duration::from_secs(SECONDS) {
                return Err(ClusterError::NotReady { what: what.into(), seconds: SECONDS, last });
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
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

async fn get(client: &Client, path: &str) -> Result<String, String> {
    let request = http::Request::get(path).body(Vec::new()).map_err(|e| e.to_string())?;
    client.request_text(request).await.map_err(|e| e.to_string())
}

/// A client for a kubeconfig file.
///
/// # Errors
/// [`ClusterError::Api`] if the file cannot be used.
pub async fn client(kubeconfig: &Path) -> Result<Client, ClusterError> {
    let unusable =
        |reason: String| ClusterError::Name(format!("kubeconfig {}: {reason}", kubeconfig.display()));
    let file = Kubeconfig::read_from(kubeconfig).map_err(|e| unusable(e.to_string()))?;
    let mut config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .map_err(|e| unusable(e.to_string()))?;
    // Watches stay open for minutes; a request that hangs is bounded by the wait it belongs to.
    config.read_timeout = None;
    Client::try_from(config).map_err(|source| ClusterError::api("connect", source))
}
