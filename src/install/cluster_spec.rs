use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use conformance_contract::clauses::Workload;
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;
use conformance_programs::components::ModuleFiles;
use conformance_proxy::{Patch, Rule};
use serde_json::Value;

use crate::given_trainer::GivenTrainer;
use crate::memory::Memory;
use crate::operator::Operator;
use crate::part::Part;
use crate::schedulers::{GivenScheduler, SchedulerConfiguration, StartSettings, installation};
use crate::trainer::{self, TrainerSpec};
use crate::upgrade::{ControlPlane, Upgrade};

pub use crate::controller_spec::ControllerSpec;
pub use crate::gates::Gates;

#[derive(Debug, Clone, PartialEq)]
pub struct ClusterSpec {
    pub kubernetes: Kubernetes,
    /// Feature gates of the API server and the controller manager.
    pub api_gates: Gates,
    pub runtime_config: Vec<String>,
    /// Whether the API server has a watch cache. Without the cache, a watch can resume after a restart of the
    /// API server, because etcd has old versions that a new cache lacks.
    pub watch_cache: bool,
    pub memory: Memory,
    pub scheduler_gates: Gates,
    pub controller: ControllerSpec,
    /// Environment variables of the reference operator. Only machine-made mutations use this.
    pub controller_variables: Vec<(String, String)>,
    /// Whether the harness, not the caller, installs the reference operator.
    pub has_controller: bool,
    pub operator: Option<Arc<Operator>>,
    pub upgrade: Option<Upgrade>,
    pub trainer: Option<TrainerSpec>,
    /// The schedulers, always including kube-scheduler.
    pub schedulers: BTreeSet<Scheduler>,
    /// Plugins, arguments of plugins, or flags that a scheduler other than kube-scheduler starts without. The
    /// names are those in the scheduler's file in [`crate::schedulers`].
    pub plugins_off: Vec<(Scheduler, String)>,
    /// Additional KWOK stages. Only mutants use this.
    pub further_stages: Vec<Value>,
    /// Faults of the fake GPU plugin, which runs on nodes with kubelets. Only mutants use this.
    pub gpu_plugin_faults: Vec<String>,
    pub proxied: BTreeSet<Part>,
    /// The rules of the fault proxy of each part. Only mutants use this.
    pub rules: BTreeMap<Part, Vec<Rule>>,
    /// Patches of the operator's API objects, by `Kind name`. Only mutants use this.
    pub altered: Vec<(String, Patch)>,
    /// How long KAI waits before it evicts a gang that lost a member. `None` turns this eviction off.
    pub stale_gangs_for: Option<Duration>,
    /// Whether Volcano and KAI evict gangs of lower priority. kube-scheduler always does.
    pub preempts: bool,
    /// Whether Volcano and KAI evict gangs of queues that use more than their share.
    pub reclaims: bool,
    /// Plugins in addition to those of the suite's configuration. Only Volcano can have some.
    pub further_plugins: Vec<(Scheduler, &'static str)>,
    /// For a scheduler that is neither built nor given, kube-scheduler binds the pods.
    pub given: BTreeMap<Scheduler, Arc<GivenScheduler>>,
    pub configurations: BTreeMap<Scheduler, SchedulerConfiguration>,
}

impl Default for ClusterSpec {
    fn default() -> Self {
        Self::of(Kubernetes::default())
    }
}

impl ClusterSpec {
    /// A cluster of this version with only kube-scheduler and the whole Workload API.
    pub fn of(kubernetes: Kubernetes) -> Self {
        let ControlPlane { kubernetes, api_gates, scheduler_gates, runtime_config } =
            ControlPlane::of(kubernetes);
        Self {
            kubernetes,
            api_gates,
            runtime_config,
            watch_cache: true,
            memory: Memory::default(),
            scheduler_gates,
            controller: ControllerSpec::default(),
            controller_variables: Vec::new(),
            has_controller: true,
            operator: None,
            upgrade: None,
            trainer: None,
            schedulers: BTreeSet::from([Scheduler::KUBE]),
            plugins_off: Vec::new(),
            further_stages: Vec::new(),
            gpu_plugin_faults: Vec::new(),
            proxied: BTreeSet::new(),
            rules: BTreeMap::new(),
            altered: Vec::new(),
            stale_gangs_for: None,
            preempts: false,
            reclaims: false,
            further_plugins: Vec::new(),
            given: BTreeMap::new(),
            configurations: BTreeMap::new(),
        }
    }

    pub fn with(schedulers: impl IntoIterator<Item = Scheduler>) -> Self {
        Self::default().with_schedulers(schedulers)
    }

    #[must_use]
    pub fn with_schedulers(mut self, schedulers: impl IntoIterator<Item = Scheduler>) -> Self {
        self.schedulers.extend(schedulers);
        self.controller = self.controller.with_schedulers(&self.schedulers);
        self
    }

    /// With `jobs_have_gangs`, the Job controller creates a gang for each Job, for any scheduler.
    #[must_use]
    pub fn with_trainer(mut self, jobs_have_gangs: bool) -> Self {
        self.trainer = Some(TrainerSpec { plugin: true, given: None });
        if jobs_have_gangs {
            self.api_gates = self.api_gates.with("WorkloadWithJob", true);
        }
        self
    }

    /// The reference plugin for KAI does not run if this trainer contains a KAI plugin.
    #[must_use]
    pub fn with_given_trainer(mut self, given: Arc<GivenTrainer>) -> Self {
        if let Some(trainer) = &mut self.trainer {
            trainer.plugin &= !given.has_kai_plugin;
            trainer.given = Some(given);
        }
        self
    }

    /// Omits those of a given scheduler or trainer, which has files of its own.
    pub fn module_files(&self) -> Vec<ModuleFiles> {
        let has_own = |scheduler: &Scheduler| self.given.get(scheduler).is_some_and(|given| given.has_crds());
        let read = self.schedulers.iter().filter(|scheduler| !has_own(scheduler));
        let mut files: Vec<_> =
            read.filter_map(|scheduler| installation(*scheduler).module_files()).collect();
        if self.trainer.is_some() {
            let [of_trainer, of_job_set] = trainer::module_files();
            files.extend(self.given_trainer().is_none().then_some(of_trainer));
            files.push(of_job_set);
        }
        files
    }

    pub fn given_trainer(&self) -> Option<&GivenTrainer> {
        self.trainer.as_ref()?.given.as_deref()
    }

    #[must_use]
    pub fn without_controller(self) -> Self {
        Self { has_controller: false, ..self }
    }

    pub fn has_faults(&self) -> bool {
        let upgraded = self.upgrade.as_ref().is_some_and(|upgrade| !upgrade.faults.is_empty());
        upgraded || !self.controller.faults.is_empty()
    }

    pub fn workload(&self) -> Workload {
        match (&self.trainer, self.has_controller) {
            (Some(_), _) => Workload::TrainJobs,
            (None, true) => Workload::PodCliqueSets,
            (None, false) => Workload::PlainPods,
        }
    }

    /// Keeps kube-scheduler and one other, and only its profile in the operator's configuration.
    #[must_use]
    pub fn narrowed_to(mut self, scheduler: Scheduler) -> Self {
        for other in std::mem::take(&mut self.schedulers) {
            if other == Scheduler::KUBE || other == scheduler {
                self.schedulers.insert(other);
            } else {
                self.controller = self.controller.without_profile(other.name());
            }
        }
        self
    }

    /// `None` without an upgrade.
    #[must_use]
    pub fn before_upgrade(mut self) -> Option<Self> {
        self.operator.clone_from(&self.upgrade.as_ref()?.from);
        self.exchange_control_plane();
        Some(self)
    }

    pub fn exchange_control_plane(&mut self) {
        let Some(other) = self.upgrade.as_mut().and_then(|upgrade| upgrade.control_plane.as_mut()) else {
            return;
        };
        let ControlPlane { kubernetes, api_gates, scheduler_gates, runtime_config } = other;
        std::mem::swap(&mut self.kubernetes, kubernetes);
        std::mem::swap(&mut self.api_gates, api_gates);
        std::mem::swap(&mut self.scheduler_gates, scheduler_gates);
        std::mem::swap(&mut self.runtime_config, runtime_config);
    }

    pub fn parts(&self) -> impl Iterator<Item = Part> {
        Part::all().filter(|part| self.has(*part))
    }

    /// The processes of a scheduler; none if kube-scheduler stands in for it.
    pub fn parts_of(&self, scheduler: Scheduler) -> impl Iterator<Item = Part> {
        self.parts().filter(move |part| part.scheduler() == Some(scheduler))
    }

    fn has(&self, part: Part) -> bool {
        match part.described() {
            Some((install, process)) => {
                let given = self.given.get(&install.scheduler).map(Arc::as_ref);
                self.schedulers.contains(&install.scheduler) && install.has(process, given)
            }
            None if part.is_of_trainer() => {
                self.trainer.as_ref().is_some_and(|trainer| part != Part::TRAINER_PLUGIN || trainer.plugin)
            }
            None => part != Part::Controller || self.has_controller,
        }
    }

    pub fn stood_in_for(&self) -> Vec<&'static str> {
        let has_no_process = |scheduler: &&Scheduler| self.parts_of(**scheduler).next().is_none();
        self.schedulers.iter().filter(has_no_process).map(|scheduler| scheduler.name()).collect()
    }

    /// The user that posts `pods/binding` for a scheduler's pods in this cluster.
    pub fn binder(&self, scheduler: Scheduler) -> &'static str {
        let stand_in = self.stood_in_for().contains(&scheduler.name());
        if stand_in { installation(Scheduler::KUBE).user } else { installation(scheduler).user }
    }

    pub fn binding_part(&self, scheduler: Scheduler) -> Option<Part> {
        let binder = self.binder(scheduler);
        self.parts().find(|part| part.user() == Some(binder))
    }

    #[must_use]
    pub fn with_rule(mut self, part: Part, rule: Rule) -> Self {
        self.proxied.insert(part);
        self.rules.entry(part).or_default().push(rule);
        self
    }

    /// These users run TrainJobs. The API server audits all their requests, and of other users only bindings.
    pub fn audited_users(&self) -> Vec<&'static str> {
        self.parts().filter(|part| part.is_of_trainer()).filter_map(Part::user).collect()
    }

    pub fn start_settings(&self, part: Part) -> StartSettings<'_> {
        let scheduler = part.scheduler();
        let plugins_off = self.plugins_off.iter().filter(|(of, _)| Some(*of) == scheduler);
        let further_plugins = self.further_plugins.iter().filter(|(of, _)| Some(*of) == scheduler);
        StartSettings {
            gates: &self.scheduler_gates,
            plugins_off: plugins_off.map(|(_, name)| name.as_str()).collect(),
            stands_in_for: self.stood_in_for(),
            stale_gangs_for: self.stale_gangs_for,
            preempts: self.preempts,
            reclaims: self.reclaims,
            further_plugins: further_plugins.map(|(_, name)| *name).collect(),
            configuration: scheduler.and_then(|scheduler| self.configurations.get(&scheduler)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::{kai, koord_scheduler, volcano};

    const OTHERS: [Scheduler; 3] = [volcano::SCHEDULER, koord_scheduler::SCHEDULER, kai::SCHEDULER];

    #[test]
    fn a_cluster_starts_with_the_old_control_plane_and_gets_the_new_one() {
        let (old, new) = (Kubernetes::V1_36, Kubernetes::V1_37);
        let mut of_run = ClusterSpec::of(new);
        of_run.upgrade = Some(Upgrade::of_kubernetes(old, None));
        of_run.api_gates = of_run.api_gates.with("WorkloadWithJob", true);
        let mut cluster = of_run.clone().before_upgrade().unwrap();
        let started = ClusterSpec { upgrade: cluster.upgrade.clone(), ..ClusterSpec::of(old) };
        assert_eq!(cluster, started);
        assert_eq!(cluster.upgrade.as_ref().unwrap().titles(old), ["Kubernetes 1.36", "Kubernetes 1.37"]);
        cluster.exchange_control_plane();
        assert_eq!(cluster, of_run);
        assert_eq!(ClusterSpec::default().before_upgrade(), None);
    }

    #[test]
    fn a_cluster_has_the_parts_of_its_schedulers_only() {
        let kube: Vec<_> = ClusterSpec::default().parts().collect();
        assert_eq!(
            kube,
            [
                Part::Etcd,
                Part::Apiserver,
                Part::KUBE_SCHEDULER,
                Part::Kwok,
                Part::ControllerManager,
                Part::Controller
            ]
        );
        let all = ClusterSpec::with(OTHERS);
        assert_eq!(all.parts().count(), kube.len() + 2, "KAI has no processes unless it is given");
        assert_eq!(all.stood_in_for(), ["kai-scheduler"]);
        assert_eq!(all.binder(kai::SCHEDULER), "system:kube-scheduler");
        assert_eq!(all.binder(volcano::SCHEDULER), "system:volcano-scheduler");
        assert_eq!(all.binding_part(kai::SCHEDULER), Some(Part::KUBE_SCHEDULER));
        assert_eq!(all.binding_part(volcano::SCHEDULER), Part::of_scheduler(volcano::SCHEDULER).next());
    }
}
