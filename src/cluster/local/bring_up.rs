//! Starts the control plane in order. CRDs precede the schedulers, which wait indefinitely for a missing CRD,
//! and kube-controller-manager, whose garbage collector looks for new kinds only every 30 s.

use std::time::{Duration, Instant};

use conformance_contract::scheduler::Scheduler;
use conformance_install::cluster_spec::ClusterSpec;
use conformance_install::part::Part;
use conformance_install::schedulers::{WebhookServer, installation};
use conformance_install::trainer;
use conformance_programs::ProgramError;
use conformance_programs::home::{self, ClusterHome};
use futures::future::{join_all, join3, try_join_all};
use parking_lot::Mutex;
use rustix::process::Signal;
use serde_json::Value;

use super::{LocalCluster, NotReady, Processes, Programs, start};
use crate::node_pools::NodePools;
use crate::{ClusterError, SchedulerFailure, access, deploy, rights_of_all};

const CLUSTER_MIB: u64 = 1024;

impl LocalCluster {
    /// Starts a control plane. Continues without a scheduler other than kube-scheduler that does not become
    /// ready ([`LocalCluster::failed_schedulers`]). Any other failure kills all processes.
    pub async fn start(name: &str, spec: ClusterSpec, programs: Programs) -> Result<Self, ClusterError> {
        home::require_space(&home::state(), CLUSTER_MIB, "for a cluster", home::STATE_VARIABLE)?;
        let home = ClusterHome::take(name)?;
        let begin = Instant::now();
        let layout = start::Layout::new(&home.path, &spec)?;
        let client = access::client(&layout.admin).await?;
        let others = spec.schedulers.iter().filter(|scheduler| **scheduler != Scheduler::KUBE);
        let not_ready = others.map(|scheduler| (*scheduler, NotReady::Starting)).collect();
        let mut cluster = Self {
            home,
            programs,
            layout,
            spec: Mutex::new(spec),
            processes: Processes::default(),
            proxies: Default::default(),
            not_ready: Mutex::new(not_ready),
            node_pools: NodePools::Simulated { client, has_daemon_sets: false },
            operator_log_from: Default::default(),
            ready_in: Duration::ZERO,
            rights_of_all: Vec::new(),
        };
        cluster.start_part(Part::Etcd).await?;
        cluster.start_part(Part::Apiserver).await?;
        cluster.apiserver_ready().await?;
        cluster.rights_of_all = rights_of_all::read(&cluster.client()).await?;
        cluster.start_part(Part::KUBE_SCHEDULER).await?;
        cluster.start_part(Part::Kwok).await?;
        let apis = join_all(cluster.starting().into_iter().map(|scheduler| cluster.install_api(scheduler)));
        let has_controller = cluster.spec().has_controller;
        let install = async {
            if !has_controller {
                return Ok(());
            }
            deploy::install(&cluster.client(), &cluster.controller_objects().await?).await
        };
        let (controller, trainer, _) = join3(install, cluster.install_trainer(), apis).await;
        controller.and(trainer)?;
        cluster.start_part(Part::ControllerManager).await?;
        let schedulers =
            join_all(cluster.starting().into_iter().map(|scheduler| cluster.start_scheduler(scheduler)));
        // The trainer checks only once which CRDs of schedulers exist, so it starts after their installation.
        let (controller, trainer, _) =
            join3(cluster.start_controller(), cluster.start_trainer(), schedulers).await;
        controller.and(trainer)?;
        cluster.ready_in = begin.elapsed();
        Ok(cluster)
    }

    async fn install_trainer(&self) -> Result<(), ClusterError> {
        let spec = self.spec();
        let Some(trainer) = &spec.trainer else { return Ok(()) };
        let port = |part| self.layout.home(part).map_or(0, |home| home.other);
        let ports = Part::OF_TRAINER.map(port);
        let objects =
            trainer::objects(trainer, &self.programs.trainer_plugin, &self.layout.ca_bundle, ports).await?;
        deploy::install(&self.client(), &altered(objects, &spec)).await
    }

    async fn start_trainer(&self) -> Result<(), ClusterError> {
        for part in self.spec().parts().filter(|part| part.is_of_trainer()) {
            self.start_part(part).await?;
        }
        self.trainer_ready().await
    }

    pub(super) async fn controller_objects(&self) -> Result<Vec<Value>, ClusterError> {
        let spec = self.spec();
        let objects = match &spec.operator {
            Some(operator) => operator.objects(self.layout.operator_home(operator)?, &spec.controller)?,
            None => self.programs.controller.manifests(self.layout.webhook_flags()).await?,
        };
        Ok(altered(objects, &spec))
    }

    async fn start_controller(&self) -> Result<(), ClusterError> {
        if !self.spec().has_controller {
            return Ok(());
        }
        self.start_part(Part::Controller).await?;
        self.controller_ready().await.map(drop)
    }

    fn starting(&self) -> Vec<Scheduler> {
        let not_ready = self.not_ready.lock();
        let starting = not_ready.iter().filter(|(_, state)| matches!(state, NotReady::Starting));
        starting.map(|(scheduler, _)| *scheduler).collect()
    }

    async fn install_api(&self, scheduler: Scheduler) {
        let spec = self.spec();
        let install = async {
            let install = installation(scheduler);
            let mut objects = install.crds(install.given_scheduler(&spec)).await?;
            objects.extend(install.roles());
            if let (Some(add_webhooks), Some(part)) = (install.webhooks, spec.parts_of(scheduler).next()) {
                let port = self.layout.home(part)?.other;
                add_webhooks(&mut objects, WebhookServer { port, ca_bundle: &self.layout.ca_bundle });
            }
            deploy::install(&self.client(), &altered(objects, &spec)).await
        };
        if let Err(error) = install.await {
            self.give_up(scheduler, error).await;
        }
    }

    async fn start_scheduler(&self, scheduler: Scheduler) {
        let spec = self.spec();
        let objects = altered((installation(scheduler).objects)(), &spec);
        let started = async {
            let client = self.client();
            try_join_all(objects.iter().map(|object| deploy::apply_when_served(&client, object))).await?;
            for part in spec.parts_of(scheduler) {
                self.start_part(part).await?;
            }
            self.scheduler_ready(scheduler).await
        };
        match started.await {
            Ok(()) => drop(self.not_ready.lock().remove(&scheduler)),
            Err(error) => self.give_up(scheduler, error).await,
        }
    }

    /// Gives up a scheduler: kills its processes, and records the reason with the last lines of their logs.
    async fn give_up(&self, scheduler: Scheduler, error: ClusterError) {
        let has_log = matches!(error.program(), Some(ProgramError::Process { .. }));
        let mut failure = SchedulerFailure::from(error);
        for part in self.spec().parts_of(scheduler) {
            self.stop_part(part, Signal::KILL).await;
            let tail = home::tail(&self.log(part), 15);
            if !has_log && !tail.is_empty() {
                failure.logs.push_str(&format!("\n{}: {tail}", part.program()));
            }
        }
        tracing::warn!(scheduler = scheduler.name(), %failure, "the cluster continues without a scheduler");
        self.not_ready.lock().insert(scheduler, NotReady::Failed(failure));
    }
}

fn altered(mut objects: Vec<Value>, spec: &ClusterSpec) -> Vec<Value> {
    let name = |object: &Value| {
        let field = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        format!("{} {}", field(&object["kind"]), field(&object["metadata"]["name"]))
    };
    for (altered, patch) in &spec.altered {
        for object in objects.iter_mut().filter(|object| name(object) == *altered) {
            patch.apply(object);
        }
    }
    objects
}
