use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conformance_contract::kubernetes::Kubernetes;
use conformance_install::cluster_spec::ClusterSpec;
use conformance_install::operator::{Operator, OperatorHome};
use conformance_install::part::Part;
use conformance_install::schedulers::{Command, ProcessHome};
use conformance_programs::components::{Program, Toolbox};
use conformance_programs::own_program::OwnProgram;
use conformance_programs::ports::{self, Port};
use conformance_programs::process::{Launcher, ProcessSpec};
use conformance_programs::{ProgramError, home};

use super::certs::{self, Authority, Identity, KeyFiles, ServiceAccountKeys};
use super::controller::{self, ControllerPorts};
use super::{apiserver, audit, controller_manager, etcd, kwok, operator_home};
use crate::ClusterError;

/// Environment of the Go programs. Go copies a goroutine's stack whenever it grows, which took 5 % of the
/// processor time. With `adaptivestackstart`, new stacks have the average size.
fn go_runtime(spec: &ClusterSpec, part: Part) -> impl Iterator<Item = (String, String)> {
    let variables = spec.memory.go_variables(part, spec.schedulers.len());
    variables.into_iter().chain([("GODEBUG".to_owned(), "adaptivestackstart=1".to_owned())])
}

#[derive(Debug, Clone)]
pub struct Programs {
    pub toolbox: Toolbox,
    /// The version and the programs of the control plane that an upgrade replaces.
    pub replaced: Option<(Kubernetes, Toolbox)>,
    pub launcher: Launcher,
    pub controller: OwnProgram,
    pub trainer_plugin: OwnProgram,
}

impl Programs {
    /// Uses `program`, a `grove-conformance` executable, for all of the suite's own programs.
    pub fn within(toolbox: Toolbox, program: &Path) -> Self {
        Self {
            toolbox,
            replaced: None,
            launcher: Launcher::new(program),
            controller: OwnProgram::controller_within(program),
            trainer_plugin: OwnProgram::trainer_plugin_within(program),
        }
    }

    fn of(&self, part: Part, kubernetes: Kubernetes) -> Result<&Program, ProgramError> {
        if let Some((version, replaced)) = &self.replaced
            && *version == kubernetes
            && let Ok(program) = replaced.get(part.program())
        {
            return Ok(program);
        }
        self.toolbox.get(part.program())
    }
}

#[derive(Debug)]
pub(super) struct Layout {
    folder: PathBuf,
    pub etcd: (Port, Port),
    api: Port,
    kwok: Port,
    _controller_ports: [Port; 3],
    pub controller: ControllerPorts,
    /// Serving certificate for loopback, which the API server, the operator and the fault proxies use.
    pub serving: KeyFiles,
    /// PEM.
    pub ca_bundle: String,
    ca: PathBuf,
    tokens: PathBuf,
    service_account: ServiceAccountKeys,
    pub admin: PathBuf,
    controller_manager: PathBuf,
    kwok_config: PathBuf,
    controller_config: PathBuf,
    operators: Vec<(Arc<Operator>, OperatorHome)>,
    processes: BTreeMap<Part, (ProcessHome, [Port; 2])>,
}

impl Layout {
    pub(super) fn new(folder: &Path, spec: &ClusterSpec) -> Result<Self, ClusterError> {
        let api = ports::reserve()?;
        let controller_ports = [ports::reserve()?, ports::reserve()?, ports::reserve()?];
        let server = format!("https://127.0.0.1:{}", api.number);
        let authority = Authority::new(&folder.join("pki"))?;
        let [webhook, health, metrics] = &controller_ports;
        let serving = authority.serving("loopback", &["kubernetes", "kubernetes.default.svc"])?;
        let mut processes = BTreeMap::new();
        for part in spec.parts() {
            let Some(process) = part.process() else { continue };
            let identity = Identity { file: process.name, user: process.user, group: None };
            let ports = [ports::reserve()?, ports::reserve()?];
            let home = ProcessHome {
                kubeconfig: authority.kubeconfig(identity, &server)?,
                folder: folder.join(part.program()),
                health: ports[0].number,
                other: ports[1].number,
            };
            home::create_folder(&home.folder)?;
            let has_webhooks = part.described().is_some_and(|(install, _)| install.webhooks.is_some());
            if part.is_of_trainer() || has_webhooks {
                for (file, from) in home.certificates().iter().zip([&serving.certificate, &serving.key]) {
                    home::write(file, std::fs::read(from).map_err(ClusterError::file(from))?)?;
                }
            }
            processes.insert(part, (home, ports));
        }
        let controller =
            ControllerPorts { webhook: webhook.number, health: health.number, metrics: metrics.number };
        let mut operators: Vec<(Arc<Operator>, OperatorHome)> = Vec::new();
        let next = spec.upgrade.as_ref().and_then(|upgrade| upgrade.to.as_ref());
        for given in spec.operator.iter().chain(next) {
            if operators.iter().all(|(known, _)| known != given) {
                let name = &given.description.name;
                let file = if operators.is_empty() { name.clone() } else { format!("{name}-next") };
                let home = operator_home::create(given, &file, &authority, &server, folder, controller)?;
                operators.push((given.clone(), home));
            }
        }
        Ok(Self {
            folder: folder.into(),
            operators,
            etcd: (ports::reserve()?, ports::reserve()?),
            kwok: ports::reserve()?,
            controller,
            serving,
            ca_bundle: authority.bundle(),
            ca: authority.bundle_file(),
            tokens: authority.tokens(),
            service_account: authority.service_account_keys()?,
            admin: authority.kubeconfig(certs::ADMIN, &server)?,
            controller_manager: authority.kubeconfig(certs::CONTROLLER_MANAGER, &server)?,
            kwok_config: authority.kubeconfig(certs::KWOK, &server)?,
            controller_config: authority.kubeconfig(certs::CONTROLLER, &server)?,
            api,
            _controller_ports: controller_ports,
            processes,
        })
    }

    /// Returns flags for the operator's manifests: the port of the webhooks, and the cluster's CA.
    pub(super) fn webhook_flags(&self) -> [String; 2] {
        let url = format!("--webhook-url=https://127.0.0.1:{}", self.controller.webhook);
        [url, format!("--ca-bundle={}", self.ca.display())]
    }

    pub(super) fn operator_home(&self, operator: &Operator) -> Result<&OperatorHome, ClusterError> {
        let home = self.operators.iter().find(|(known, _)| **known == *operator).map(|(_, home)| home);
        home.ok_or_else(|| {
            ClusterError::from(ProgramError::NoProgram {
                program: operator.description.name.clone(),
                reason: "the cluster was created without",
            })
        })
    }

    pub(super) fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.api.number)
    }

    pub(super) fn kubeconfig(&self, part: Part) -> Option<&Path> {
        match part {
            Part::Etcd | Part::Apiserver => None,
            Part::OfScheduler(_) | Part::OfTrainer(_) => {
                self.processes.get(&part).map(|(home, _)| home.kubeconfig.as_path())
            }
            Part::Kwok => Some(&self.kwok_config),
            Part::ControllerManager => Some(&self.controller_manager),
            Part::Controller => {
                // Both operators of an upgrade have the same rights, so either kubeconfig works.
                let operator = self.operators.first().map(|(_, home)| &home.kubeconfig);
                Some(operator.unwrap_or(&self.controller_config))
            }
        }
    }

    pub(super) fn audit_log(&self) -> PathBuf {
        self.folder.join(audit::FILE)
    }

    pub(super) fn home(&self, part: Part) -> Result<&ProcessHome, ClusterError> {
        let missing = || {
            ClusterError::from(ProgramError::NoProgram {
                program: part.program().into(),
                reason: "the cluster was created without",
            })
        };
        self.processes.get(&part).map(|(home, _)| home).ok_or_else(missing)
    }

    pub(super) fn process(
        &self,
        part: Part,
        spec: &ClusterSpec,
        programs: &Programs,
    ) -> Result<ProcessSpec, ClusterError> {
        if let (Part::Controller, Some(operator)) = (part, &spec.operator) {
            return Ok(operator.process(self.operator_home(operator)?, &spec.controller)?);
        }
        let Command { args, env } = self.command(part, spec)?;
        let given_trainer = spec.given_trainer().filter(|_| part == Part::TRAINER);
        let given = match given_trainer {
            Some(trainer) => Some((trainer.program.path.clone(), args.clone())),
            None => {
                part.described().and_then(|(install, process)| install.given_process(process, &args, spec))
            }
        };
        let (program, args) = match (part, given) {
            (Part::Controller, _) => (programs.controller.path.clone(), programs.controller.args(args)),
            (Part::TRAINER_PLUGIN, _) => {
                (programs.trainer_plugin.path.clone(), programs.trainer_plugin.args(args))
            }
            (_, Some(given)) => given,
            (_, None) => (programs.of(part, spec.kubernetes)?.path.clone(), args),
        };
        let env = go_runtime(spec, part).chain(env).collect();
        Ok(ProcessSpec { name: part.program().into(), program, args, env })
    }

    /// Returns the arguments and environment of a part, except those of a foreign operator.
    fn command(&self, part: Part, spec: &ClusterSpec) -> Result<Command, ClusterError> {
        let config = self.folder.join("config");
        let args = match part {
            Part::Etcd => etcd::args(&self.folder.join("etcd"), self.etcd.0.number, self.etcd.1.number),
            Part::Apiserver => apiserver::args(&apiserver::Apiserver {
                etcd_port: self.etcd.0.number,
                port: self.api.number,
                client_ca: &self.ca,
                tokens: &self.tokens,
                serving: &self.serving,
                service_account: &self.service_account,
                gates: &spec.api_gates,
                runtime_config: &spec.runtime_config,
                watch_cache: spec.watch_cache,
                audit_policy: &write(
                    &config,
                    "audit-policy.yaml",
                    audit::policy(&operator_home::users(spec), &spec.audited_users()),
                )?,
                audit_log: &self.audit_log(),
            }),
            Part::OfScheduler(_) | Part::OfTrainer(_) => {
                let Some(process) = part.process() else { return Ok(Command::default()) };
                return Ok((process.start)(self.home(part)?, &spec.start_settings(part))?);
            }
            Part::Kwok => kwok::args(
                &self.kwok_config,
                &write(&config, "kwok-stages.yaml", kwok::stages(&spec.further_stages))?,
                self.kwok.number,
            ),
            Part::ControllerManager => controller_manager::args(
                &self.controller_manager,
                &self.service_account.private,
                &self.ca,
                &self.serving,
                &spec.api_gates,
                spec.trainer.is_some(),
            ),
            Part::Controller => {
                let path = write(&config, "operator-configuration.yaml", &spec.controller.configuration)?;
                let args = controller::args(
                    &self.controller_config,
                    &path,
                    self.controller,
                    &self.serving,
                    &spec.controller,
                );
                let mut env = vec![("NO_COLOR".into(), "1".into())];
                env.extend(spec.controller_variables.iter().cloned());
                return Ok(Command { args, env });
            }
        };
        Ok(Command { args, env: Vec::new() })
    }
}

fn write(folder: &Path, name: &str, content: impl ToString) -> Result<PathBuf, ClusterError> {
    let path = folder.join(name);
    home::write(&path, content.to_string())?;
    Ok(path)
}
