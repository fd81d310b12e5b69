//! Which files and ports a cluster has, and how each part is started from them.

use std::path::{Path, PathBuf};

use super::certs::{self, Authority, KeyFiles, ServiceAccountKeys};
use super::controller::{self, ControllerPorts};
use super::ports::{self, Port};
use super::spec::ClusterSpec;
use super::{apiserver, controller_manager, etcd, kwok};
use crate::cluster::components::Toolbox;
use crate::cluster::process::{Launcher, ProcessSpec};
use crate::cluster::schedulers::kube_scheduler;
use crate::cluster::{ClusterError, home};

/// A process of the control plane, in the order in which they are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// etcd.
    Etcd,
    /// kube-apiserver.
    Apiserver,
    /// kube-scheduler.
    Scheduler,
    /// KWOK, the kubelets.
    Kwok,
    /// kube-controller-manager.
    ControllerManager,
    /// The controller under test.
    Controller,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Etcd, Self::Apiserver, Self::Scheduler, Self::Kwok, Self::ControllerManager, Self::Controller];

    /// The program's name, which is its log's name too.
    pub fn program(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Apiserver => "kube-apiserver",
            Self::Scheduler => "kube-scheduler",
            Self::Kwok => "kwok",
            Self::ControllerManager => "kube-controller-manager",
            Self::Controller => "grove-backend-controller",
        }
    }
}

/// The programs of a cluster.
#[derive(Debug, Clone)]
pub struct Programs {
    /// Kubernetes, etcd, KWOK.
    pub toolbox: Toolbox,
    /// Starts them.
    pub launcher: Launcher,
    /// The controller under test.
    pub controller: PathBuf,
}

/// Files and ports, fixed for a cluster's life so that a part comes back where it was.
#[derive(Debug)]
pub struct Layout {
    folder: PathBuf,
    etcd: (Port, Port),
    api: Port,
    kwok: Port,
    _controller_ports: [Port; 3],
    /// Ports of the controller.
    pub controller: ControllerPorts,
    /// Serving certificate for loopback, shared by API server and controller.
    pub serving: KeyFiles,
    /// CA certificate, PEM.
    pub ca_bundle: String,
    ca: PathBuf,
    service_account: ServiceAccountKeys,
    /// Kubeconfig of the administrator.
    pub admin: PathBuf,
    controller_manager: PathBuf,
    scheduler: PathBuf,
    kwok_config: PathBuf,
    controller_config: PathBuf,
}

impl Layout {
    /// Reserves ports and writes certificates and kubeconfigs.
    ///
    /// # Errors
    /// [`ClusterError::Ports`], [`ClusterError::Certificates`], [`ClusterError::File`].
    pub fn new(folder: &Path) -> Result<Self, ClusterError> {
        let api = ports::reserve()?;
        let controller_ports = [ports::reserve()?, ports::reserve()?, ports::reserve()?];
        let server = format!("https://127.0.0.1:{}", api.number);
        let authority = Authority::new(&folder.join("pki"))?;
        let [webhook, health, metrics] = &controller_ports;
        Ok(Self {
            folder: folder.into(),
            etcd: (ports::reserve()?, ports::reserve()?),
            kwok: ports::reserve()?,
            controller: ControllerPorts {
                webhook: webhook.number,
                health: health.number,
                metrics: metrics.number,
            },
            serving: authority.serving("loopback", &["kubernetes", "kubernetes.default.svc"])?,
            ca_bundle: authority.bundle(),
            ca: authority.bundle_file(),
            service_account: authority.service_account_keys()?,
            admin: authority.kubeconfig(certs::ADMIN, &server)?,
            controller_manager: authority.kubeconfig(certs::CONTROLLER_MANAGER, &server)?,
            scheduler: authority.kubeconfig(certs::SCHEDULER, &server)?,
            kwok_config: authority.kubeconfig(certs::KWOK, &server)?,
            controller_config: authority.kubeconfig(certs::CONTROLLER, &server)?,
            api,
            _controller_ports: controller_ports,
        })
    }

    /// Where the API server finds the controller's webhooks.
    pub fn webhook_url(&self) -> String {
        format!("https://127.0.0.1:{}", self.controller.webhook)
    }

    /// How a part is started; writes its configuration file if it has one.
    ///
    /// # Errors
    /// [`ClusterError::File`].
    pub fn process(
        &self,
        part: Part,
        spec: &ClusterSpec,
        programs: &Programs,
    ) -> Result<ProcessSpec, ClusterError> {
        let write = |name: &str, content: String| {
            let path = self.folder.join("config").join(name);
            home::write(&path, content).map(|()| path)
        };
        let args = match part {
            Part::Etcd => etcd::args(&self.folder.join("etcd"), self.etcd.0.number, self.etcd.1.number),
            Part::Apiserver => apiserver::args(&apiserver::Apiserver {
                etcd_port: self.etcd.0.number,
                port: self.api.number,
                client_ca: &self.ca,
                serving: &self.serving,
                service_account: &self.service_account,
                gates: &spec.api_gates,
                runtime_config: &spec.runtime_config,
                watch_cache: spec.watch_cache,
            }),
            Part::Scheduler => {
                let configuration = kube_scheduler::configuration(&self.scheduler).to_string();
                kube_scheduler::args(&write("kube-scheduler.yaml", configuration)?, &spec.scheduler_gates)
            }
            Part::Kwok => kwok::args(
                &self.kwok_config,
                &write("kwok-stages.yaml", kwok::STAGES.into())?,
                self.kwok.number,
            ),
            Part::ControllerManager => controller_manager::args(
                &self.controller_manager,
                &self.service_account.private,
                &self.ca,
                &self.serving,
                &spec.api_gates,
            ),
            Part::Controller => {
                let configuration = spec.controller.configuration.to_string();
                let path = write("operator-configuration.yaml", configuration)?;
                controller::args(
                    &self.controller_config,
                    &path,
                    self.controller,
                    &self.serving,
                    &spec.controller,
                )
            }
        };
        let program = match part {
            Part::Controller => programs.controller.clone(),
            _ => programs.toolbox.get(part.program())?.path.clone(),
        };
        let env = if part == Part::Controller { vec![("NO_COLOR".into(), "1".into())] } else { Vec::new() };
        Ok(ProcessSpec { name: part.program().into(), program, args, env })
    }
}
