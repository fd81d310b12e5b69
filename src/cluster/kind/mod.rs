//! A kind cluster: nodes are containers, with real kubelets and a fake GPU plugin. Controller and schedulers
//! run in the cluster.
//!
//! - [`host`] checks whether this machine can run one.
//! - [`node_image`] provides the node image.
//! - [`config`] has kind's configuration.
//! - [`prepare`] builds or finds the programs and images.
//! - [`in_cluster`] installs schedulers that are built here, or charts ([`super::schedulers::helm`]).
//! - [`operator`] is the operator under test.
//!
//! Cases lease the cluster's workers ([`super::workers`]). Clusters have their own Docker network. If the
//! process that created them was killed, [`remove_abandoned`] finds them by their names.

pub mod config;
pub mod host;
mod in_cluster;
mod kubelets;
pub mod node_image;
mod operator;
pub mod prepare;
mod provider;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use conformance_contract::scheduler::Scheduler;
use kube::Client;
use serde_json::Value;
use tokio::process::Command;

pub use self::operator::{OperatorPlace, UnderTest};
use super::ClusterError;
use super::docker::{self, docker};
use super::home::{self, ClusterHome};
use super::images::Image;
use super::local::{self, ControllerSpec};
use super::node_pools::NodePools;
use super::rights_of_all;
use super::schedulers::helm::{Installed, Release};
use super::schedulers::in_cluster::DeployedScheduler;
use super::workers::Workers;

/// The prefix of all clusters' names.
const PREFIX: &str = "grove-conformance-";
const NETWORK: &str = "grove-conformance";
/// Node label of the workers that cases lease.
const WORKER: &str = "conformance.grove.io/worker=true";

#[derive(Debug, Clone)]
pub struct KindSpec {
    pub kind: PathBuf,
    pub node_image: String,
    /// kind's configuration, as [`config::for_host`] returns it.
    pub config: Value,
    pub operator: UnderTest,
    pub plugin_image: Image,
    /// The schedulers that become Deployments of images built here. The node image contains kube-scheduler.
    pub schedulers: Vec<DeployedScheduler>,
    pub releases: Vec<Release>,
    pub controller: ControllerSpec,
    pub plugin_faults: Vec<String>,
}

#[derive(Debug)]
pub struct KindCluster {
    name: String,
    home: ClusterHome,
    kind: PathBuf,
    node_pools: NodePools,
    schedulers: in_cluster::Schedulers,
    operator: OperatorPlace,
    /// The rights of every service account before the operator was installed.
    rights_of_all: Vec<serde_json::Value>,
    /// From the first container until every node is Ready.
    pub nodes_ready_in: Duration,
    /// From the first container until the controller and the schedulers work.
    pub ready_in: Duration,
    /// Whether dropping it removes its containers.
    armed: std::sync::atomic::AtomicBool,
}

impl KindCluster {
    /// Creates a cluster and installs everything in it, on a host that [`prepare`] has checked. It succeeds
    /// without a scheduler that does not become ready, except kube-scheduler. A failure leaves nothing
    /// behind.
    pub async fn create(name: &str, spec: &KindSpec) -> Result<Self, ClusterError> {
        let home = ClusterHome::take(name)?;
        let name = format!("{PREFIX}{name}");
        if !containers(&name).await?.is_empty() {
            return Err(ClusterError::NotOurs { name });
        }
        let begin = Instant::now();
        let config_file = home.path.join("kind.yaml");
        home::write(&config_file, spec.config.to_string())?;
        let kubeconfig = kubeconfig_in(&home.path);
        let guard = Guard { name: Some(name.clone()) };
        let mut create = kind(&spec.kind);
        create
            .args(["create", "cluster", "--retain", "--name", &name, "--image", &spec.node_image, "--config"])
            .arg(&config_file)
            .arg("--kubeconfig")
            .arg(&kubeconfig);
        if let Err(failed) = docker::output(create).await {
            return Err(with_log_of_kubelet(failed, &name).await);
        }
        let client = local::client(&kubeconfig).await?;
        in_cluster::nodes_ready(&client, config::nodes(&spec.config)).await?;
        in_cluster::write_topology(&client).await?;
        let nodes_ready_in = begin.elapsed();
        load(&spec.kind, &name, spec.images_of_nodes(), None).await?;
        // Schedulers do not run on workers, so only the control plane loads their images. An image takes
        // twice its size on each node.
        load(&spec.kind, &name, spec.images_of_schedulers(), Some(&control_plane(&name))).await?;
        let rights_of_all = rights_of_all::read(&client).await?;
        let schedulers = in_cluster::install(&client, spec, &home.path).await?;
        let workers = Workers::with_label(client.clone(), WORKER).await?;
        guard.disarm();
        Ok(Self {
            name,
            home,
            kind: spec.kind.clone(),
            node_pools: NodePools::Workers(workers),
            schedulers,
            operator: spec.operator.place(),
            rights_of_all,
            nodes_ready_in,
            ready_in: begin.elapsed(),
            armed: true.into(),
        })
    }

    pub fn kubeconfig(&self) -> PathBuf {
        kubeconfig_in(&self.home.path)
    }

    pub fn operator(&self) -> &OperatorPlace {
        &self.operator
    }

    pub fn installed(&self) -> &[Installed] {
        &self.schedulers.installed
    }

    /// A client with the rights of the cluster's administrator.
    pub fn client(&self) -> Client {
        self.node_pools.client()
    }

    /// Loads an image of the engine into every node.
    pub async fn load(&self, reference: &str) -> Result<(), ClusterError> {
        load(&self.kind, &self.name, [reference], None).await
    }

    /// Writes the logs of all nodes to a folder, as `kind export logs` does.
    pub async fn export_all_logs(&self, folder: &Path) -> Result<(), ClusterError> {
        let mut export = kind(&self.kind);
        export.args(["export", "logs", "--name", &self.name]).arg(folder);
        docker::output(export).await.map(drop)
    }

    /// Removes its containers and their volumes, and, unless `keep`, its folder.
    pub async fn delete(&self, keep: bool) -> Result<(), ClusterError> {
        if keep {
            self.export_all_logs(&self.home.path.join("logs")).await?;
        }
        remove(&self.name).await?;
        self.armed.store(false, std::sync::atomic::Ordering::Relaxed);
        if keep { Ok(()) } else { self.home.remove() }
    }
}

impl Drop for KindCluster {
    fn drop(&mut self) {
        if self.armed.load(std::sync::atomic::Ordering::Relaxed) {
            drop(Guard { name: Some(std::mem::take(&mut self.name)) });
        }
    }
}

impl KindSpec {
    /// The images of the programs that run in the cluster.
    pub fn own_images(&self) -> impl Iterator<Item = &Image> {
        let of_schedulers = self.schedulers.iter().flat_map(|deployed| &deployed.images);
        self.operator.images().chain([&self.plugin_image]).chain(of_schedulers)
    }

    fn images_of_nodes(&self) -> impl Iterator<Item = &str> {
        self.operator.images().chain([&self.plugin_image]).map(|image| image.reference.as_str())
    }

    fn images_of_schedulers(&self) -> impl Iterator<Item = &str> {
        self.schedulers.iter().flat_map(|deployed| &deployed.images).map(|image| image.reference.as_str())
    }

    /// The chart of a scheduler that helm installs.
    pub fn release(&self, scheduler: Scheduler) -> Option<&Release> {
        self.releases.iter().find(|release| release.scheduler == scheduler)
    }
}

fn kubeconfig_in(folder: &Path) -> PathBuf {
    folder.join("kubeconfig")
}

/// Adds the end of the kubelet's log: kind reports only that the control plane did not start.
async fn with_log_of_kubelet(failed: ClusterError, name: &str) -> ClusterError {
    let node = control_plane(name);
    let log = ["exec", &node, "journalctl", "--unit", "kubelet", "--lines", "3", "--output", "cat"];
    match (failed, docker::docker(log).await) {
        (ClusterError::Command { command, reason }, Ok(log)) if !log.trim().is_empty() => {
            ClusterError::Command {
                command,
                reason: format!("{reason}\nthe kubelet's log ends with:\n{}", log.trim()),
            }
        }
        (failed, _) => failed,
    }
}

fn kind(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("KIND_EXPERIMENTAL_DOCKER_NETWORK", NETWORK).env("KIND_EXPERIMENTAL_PROVIDER", "docker");
    command
}

/// Loads images into one node, or into every node.
async fn load<'a>(
    program: &Path,
    name: &str,
    images: impl IntoIterator<Item = &'a str>,
    node: Option<&str>,
) -> Result<(), ClusterError> {
    let mut images = images.into_iter().peekable();
    if images.peek().is_none() {
        return Ok(());
    }
    let mut command = kind(program);
    command.args(["load", "docker-image", "--name", name]);
    if let Some(node) = node {
        command.args(["--nodes", node]);
    }
    command.args(images);
    docker::output(command).await.map(drop)
}

/// The container of the control plane node.
fn control_plane(cluster: &str) -> String {
    format!("{cluster}-control-plane")
}

async fn containers(name: &str) -> Result<Vec<String>, ClusterError> {
    let filter = format!("label=io.x-k8s.kind.cluster={name}");
    let found = docker(["ps", "--all", "--quiet", "--filter", &filter]).await?;
    Ok(found.lines().map(str::to_owned).collect())
}

/// Removes a cluster's containers with their volumes, and the network after the last cluster.
async fn remove(name: &str) -> Result<(), ClusterError> {
    let found = containers(name).await?;
    if !found.is_empty() {
        let words = ["rm", "--force", "--volumes"].into_iter().chain(found.iter().map(String::as_str));
        docker(words).await?;
    }
    // Another cluster may still use the network, or may have removed it.
    let _ = docker(["network", "rm", NETWORK]).await;
    Ok(())
}

/// Removes a cluster's containers when dropped.
struct Guard {
    name: Option<String>,
}

impl Guard {
    fn disarm(mut self) {
        self.name = None;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Some(name) = self.name.take() else { return };
        let script = format!(
            "docker ps --all --quiet --filter label=io.x-k8s.kind.cluster={name} | xargs --no-run-if-empty docker rm \
             --force --volumes; docker network rm {NETWORK}"
        );
        // The async runtime may be shutting down, so a separate process removes them. `clean` finds what it
        // misses.
        let ended = std::process::Command::new("sh")
            .args(["-c", &script])
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status();
        if let Err(error) = ended {
            tracing::warn!(cluster = name, %error, "its containers were not removed; run `grove-conformance clean`");
        }
    }
}

/// Removes the clusters whose harness was killed, and returns their names. Without an engine there are none.
pub async fn remove_abandoned() -> Result<Vec<String>, ClusterError> {
    if docker::engine().await.is_err() {
        return Ok(Vec::new());
    }
    let words = [
        "ps",
        "--all",
        "--filter",
        "label=io.x-k8s.kind.cluster",
        "--format",
        "{{.Label \"io.x-k8s.kind.cluster\"}}",
    ];
    let live: Vec<_> =
        home::clusters()?.into_iter().filter(|found| found.live).map(|found| found.name).collect();
    let mut names: Vec<String> = docker(words)
        .await?
        .lines()
        .filter_map(|line| line.strip_prefix(PREFIX).map(str::to_owned))
        .filter(|name| !live.contains(name))
        .collect();
    names.sort();
    names.dedup();
    for name in &names {
        remove(&format!("{PREFIX}{name}")).await?;
    }
    if live.is_empty() {
        let _ = docker(["network", "rm", NETWORK]).await;
    }
    Ok(names)
}

/// Why a node or a pod is not ready, from its status.
fn not_ready(object: &Value) -> String {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let said = conditions
        .filter(|condition| condition["status"] != "True")
        .filter_map(|condition| condition["message"].as_str());
    format!("{name}: {}", said.collect::<Vec<_>>().join("; "))
}
