//! A kind cluster: its nodes are containers with real kubelets and a fake GPU plugin. Cases lease the workers
//! ([`super::workers`]). All clusters share a Docker network. If the process that created a cluster was
//! killed, [`remove_abandoned`] finds the cluster by its name.

pub mod config;
pub mod host;
mod in_cluster;
mod kubelets;
pub mod node_image;
mod operator;
pub mod prepare;
mod provider;
mod rollout;
mod spec;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use conformance_install::schedulers::helm::Installed;
use conformance_programs::ProgramError;
use conformance_programs::docker::{self, docker};
use conformance_programs::home::{self, ClusterHome};
use kube::Client;
use tokio::process::Command;

use self::config::kubeconfig_in;
pub use self::operator::{OperatorPlace, UnderTest};
pub use self::spec::KindSpec;
use super::ClusterError;
use super::access;
use super::node_pools::NodePools;
use super::rights_of_all;
use super::workers::Workers;

const PREFIX: &str = "grove-conformance-";
const NETWORK: &str = "grove-conformance";
const WORKER: &str = "conformance.grove.io/worker=true";

#[derive(Debug)]
pub struct KindCluster {
    name: String,
    home: ClusterHome,
    kind: PathBuf,
    node_pools: NodePools,
    schedulers: in_cluster::Schedulers,
    operator: OperatorPlace,
    rights_of_all: Vec<serde_json::Value>,
    pub nodes_ready_in: Duration,
    /// Time from the first container until the operator and the schedulers were ready.
    pub ready_in: Duration,
    armed: std::sync::atomic::AtomicBool,
}

impl KindCluster {
    /// Creates a cluster. A scheduler other than kube-scheduler may fail to become ready. After any other
    /// failure, nothing is left.
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
            return Err(with_kubelet_log(failed, &name).await.into());
        }
        let client = access::client(&kubeconfig).await?;
        in_cluster::nodes_ready(&client, config::nodes(&spec.config)).await?;
        in_cluster::write_topology(&client).await?;
        let nodes_ready_in = begin.elapsed();
        load(&spec.kind, &name, spec.images_of_nodes(), None).await?;
        // Only the control plane runs the schedulers. An image takes twice its size on each node.
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

    pub fn client(&self) -> Client {
        self.node_pools.client()
    }

    pub async fn load(&self, reference: &str) -> Result<(), ClusterError> {
        load(&self.kind, &self.name, [reference], None).await
    }

    pub async fn export_all_logs(&self, folder: &Path) -> Result<(), ClusterError> {
        let mut export = kind(&self.kind);
        export.args(["export", "logs", "--name", &self.name]).arg(folder);
        docker::output(export).await?;
        Ok(())
    }

    /// Deletes the cluster. With `keep`, exports the logs and keeps the cluster's folder.
    pub async fn delete(&self, keep: bool) -> Result<(), ClusterError> {
        if keep {
            self.export_all_logs(&self.home.path.join("logs")).await?;
        }
        remove(&self.name).await?;
        self.armed.store(false, std::sync::atomic::Ordering::Relaxed);
        if !keep {
            self.home.remove()?;
        }
        Ok(())
    }
}

impl Drop for KindCluster {
    fn drop(&mut self) {
        if self.armed.load(std::sync::atomic::Ordering::Relaxed) {
            drop(Guard { name: Some(std::mem::take(&mut self.name)) });
        }
    }
}

/// Adds the last lines of the kubelet's log, because kind reports only that the control plane did not start.
async fn with_kubelet_log(failed: ProgramError, name: &str) -> ProgramError {
    let node = control_plane(name);
    let log = ["exec", &node, "journalctl", "--unit", "kubelet", "--lines", "3", "--output", "cat"];
    match (failed, docker::docker(log).await) {
        (ProgramError::Command { command, reason }, Ok(log)) if !log.trim().is_empty() => {
            ProgramError::Command {
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
    docker::output(command).await?;
    Ok(())
}

fn control_plane(cluster: &str) -> String {
    format!("{cluster}-control-plane")
}

async fn containers(name: &str) -> Result<Vec<String>, ClusterError> {
    let filter = format!("label=io.x-k8s.kind.cluster={name}");
    let found = docker(["ps", "--all", "--quiet", "--filter", &filter]).await?;
    Ok(found.lines().map(str::to_owned).collect())
}

/// Removes the containers of a cluster and their volumes. After the last cluster, also removes the network.
async fn remove(name: &str) -> Result<(), ClusterError> {
    let found = containers(name).await?;
    if !found.is_empty() {
        let words = ["rm", "--force", "--volumes"].into_iter().chain(found.iter().map(String::as_str));
        docker(words).await?;
    }
    let _ = docker(["network", "rm", NETWORK]).await;
    Ok(())
}

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
        // Run it in a separate process, because the runtime may be shutting down. `clean` removes the rest.
        let ended = std::process::Command::new("sh")
            .args(["-c", &script])
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status();
        if let Err(error) = ended {
            tracing::warn!(cluster = name, %error, "failed to remove the containers of a kind cluster; run `grove-conformance clean`");
        }
    }
}

/// Removes clusters whose harness was killed, and returns their names. Does nothing without Docker.
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
    // A cluster without a folder here may belong to a live run with another state folder.
    let known = home::clusters()?;
    let is_abandoned = |name: &String| known.iter().any(|found| found.name == *name && !found.live);
    let mut names: Vec<String> = docker(words)
        .await?
        .lines()
        .filter_map(|line| line.strip_prefix(PREFIX).map(str::to_owned))
        .filter(is_abandoned)
        .collect();
    names.sort();
    names.dedup();
    for name in &names {
        remove(&format!("{PREFIX}{name}")).await?;
    }
    if known.iter().all(|found| !found.live) {
        let _ = docker(["network", "rm", NETWORK]).await;
    }
    Ok(names)
}
