//! The specification of a local cluster. Conformance runs use the default; mutants change parts of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use conformance_contract::clauses::Workload;
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::{EXTERNAL_SCHEDULER, Scheduler};
use conformance_proxy::{Patch, Rule};
use serde_json::{Value, json};

use crate::given_trainer::GivenTrainer;
use crate::memory::Memory;
use crate::operator::Operator;
use crate::part::Part;
use crate::schedulers::{self, GivenScheduler, installation};
use crate::trainer::TrainerSpec;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gates(pub BTreeMap<String, bool>);

impl Gates {
    /// Every gate that a version has for the Workload API, with gangs and topology.
    pub fn workload_api(kubernetes: Kubernetes) -> Self {
        kubernetes.workload_gates().iter().fold(Self::default(), |gates, name| gates.with(name, true))
    }

    #[must_use]
    pub fn with(mut self, name: &str, on: bool) -> Self {
        self.0.insert(name.into(), on);
        self
    }

    #[must_use]
    pub fn only(&self, names: &[&str]) -> Self {
        Self(
            self.0
                .iter()
                .filter(|(name, _)| names.contains(&name.as_str()))
                .map(|(n, v)| (n.clone(), *v))
                .collect(),
        )
    }

    /// Returns false for a gate that is not listed: all gates of the Workload API are off by default.
    pub fn is_on(&self, name: &str) -> bool {
        self.0.get(name).copied().unwrap_or(false)
    }

    /// Returns `--feature-gates=…`, or `None` without gates.
    pub fn flag(&self) -> Option<String> {
        let all: Vec<_> = self.0.iter().map(|(name, on)| format!("{name}={on}")).collect();
        (!all.is_empty()).then(|| format!("--feature-gates={}", all.join(",")))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ClusterSpec {
    /// The version of the API server, the controller manager and kube-scheduler.
    pub kubernetes: Kubernetes,
    /// Feature gates of the API server and the controller manager.
    pub api_gates: Gates,
    /// API versions that are off by default.
    pub runtime_config: Vec<String>,
    /// Whether the API server serves watches from memory, as it does by default. Without the cache, a watch
    /// can resume across an API server restart: etcd still knows the versions that a fresh cache does not.
    pub watch_cache: bool,
    pub memory: Memory,
    pub scheduler_gates: Gates,
    pub controller: ControllerSpec,
    /// Whether the harness installs the reference controller with its CRDs and webhooks. Otherwise the caller
    /// installs an operator.
    pub has_controller: bool,
    /// The operator that replaces the reference controller.
    pub operator: Option<Arc<Operator>>,
    /// The operators of an upgrade, for runs with upgrade cases.
    pub upgrade: Option<Upgrade>,
    /// How the trainer runs, on a cluster for TrainJobs.
    pub trainer: Option<TrainerSpec>,
    /// The schedulers, always including kube-scheduler.
    pub schedulers: BTreeSet<Scheduler>,
    /// Plugins, or arguments of plugins, that a scheduler other than kube-scheduler starts without. The names
    /// are those in the scheduler's file in [`crate::schedulers`]. Only mutants use this.
    pub plugins_off: Vec<(Scheduler, String)>,
    /// Additional KWOK stages. Only mutants use this.
    pub further_stages: Vec<Value>,
    /// Faults of the fake GPU plugin, which runs on nodes with kubelets. Only mutants use this.
    pub gpu_plugin_faults: Vec<String>,
    /// The parts that reach the API server through a fault proxy, while a case needs one.
    pub proxied: BTreeSet<Part>,
    /// Rules that a part's fault proxy has from its start. Only mutants use this.
    pub rules: BTreeMap<Part, Vec<Rule>>,
    /// Patches of objects that are installed with the controller, by `Kind name`. Only mutants use this.
    pub altered: Vec<(String, Patch)>,
    /// How long KAI waits before it evicts the rest of a gang that lost a member. Without this, KAI never
    /// evicts it.
    pub stale_gangs_for: Option<Duration>,
    /// Schedulers that the user gave, with their CRDs. If a scheduler that the harness cannot build is not
    /// given, kube-scheduler binds its pods.
    pub given: BTreeMap<Scheduler, Arc<GivenScheduler>>,
}

/// The operator that is replaced and its replacement; `None` is the reference controller.
#[derive(Debug, Clone, PartialEq)]
pub struct Upgrade {
    pub from: Option<Arc<Operator>>,
    pub to: Option<Arc<Operator>>,
    /// Faults of the reference controller when it replaces the other operator. Only mutants use this.
    pub faults: Vec<String>,
}

impl Upgrade {
    /// The replaced operator, as histories name it.
    pub fn from(&self) -> String {
        title(self.from.as_deref())
    }

    /// The new operator, as histories name it.
    pub fn to(&self) -> String {
        title(self.to.as_deref())
    }
}

fn title(operator: Option<&Operator>) -> String {
    operator.map_or("the reference controller".into(), |operator| {
        format!("{} {}", operator.description.name, operator.version)
    })
}

/// The reference backend controller's configuration file and hidden flags.
#[derive(Debug, Clone, PartialEq)]
pub struct ControllerSpec {
    pub configuration: Value,
    /// Faults that the controller starts with. Only mutants use this.
    pub faults: Vec<String>,
    pub leader_election: bool,
}

impl Default for ControllerSpec {
    fn default() -> Self {
        Self::with_profile(json!({"gangScheduling": true}))
    }
}

impl ControllerSpec {
    /// The default-scheduler profile with this `config`, and the profile of [`EXTERNAL_SCHEDULER`].
    pub fn with_profile(config: Value) -> Self {
        let configuration = json!({
            "apiVersion": "operator.config.grove.io/v1alpha1",
            "kind": "OperatorConfiguration",
            "scheduler": {
                "defaultProfileName": "default-scheduler",
                "profiles": [
                    {"name": "default-scheduler", "config": config},
                    {"name": EXTERNAL_SCHEDULER, "type": "External"},
                ],
            },
        });
        Self { configuration, faults: Vec::new(), leader_election: false }
    }

    /// One profile for each of these schedulers that PodCliqueSets can use, and the profile of
    /// [`EXTERNAL_SCHEDULER`].
    pub fn for_schedulers(schedulers: &BTreeSet<Scheduler>) -> Self {
        Self::default().with_schedulers(schedulers)
    }

    /// Adds an empty profile for each of these schedulers that PodCliqueSets can use and that has no profile.
    #[must_use]
    pub fn with_schedulers(mut self, wanted: &BTreeSet<Scheduler>) -> Self {
        for scheduler in schedulers::of_pod_clique_sets().filter(|scheduler| wanted.contains(scheduler)) {
            self.profile(scheduler.name());
        }
        self
    }

    /// Replaces the `config` of the profile of this name.
    #[must_use]
    pub fn with_profile_config(mut self, name: &str, config: Value) -> Self {
        if let Some(profile) = self.profile(name) {
            profile["config"] = config;
        }
        self
    }

    /// The profile of this name. A missing profile is inserted before the External one.
    fn profile(&mut self, name: &str) -> Option<&mut Value> {
        let profiles = self.configuration["scheduler"]["profiles"].as_array_mut()?;
        let place = profiles.iter().position(|profile| profile["name"] == name).unwrap_or_else(|| {
            let end =
                profiles.iter().position(|profile| profile["type"] == "External").unwrap_or(profiles.len());
            profiles.insert(end, json!({"name": name}));
            end
        });
        profiles.get_mut(place)
    }

    #[must_use]
    pub fn without_profile(mut self, name: &str) -> Self {
        if let Some(profiles) = self.configuration["scheduler"]["profiles"].as_array_mut() {
            profiles.retain(|profile| profile["name"] != name);
        }
        self
    }

    #[must_use]
    pub fn with_fault(mut self, fault: impl Into<String>) -> Self {
        self.faults.push(fault.into());
        self
    }
}

impl Default for ClusterSpec {
    fn default() -> Self {
        Self::of(Kubernetes::default())
    }
}

impl ClusterSpec {
    /// kube-scheduler alone, of this version, with the whole Workload API.
    pub fn of(kubernetes: Kubernetes) -> Self {
        let gates = Gates::workload_api(kubernetes);
        Self {
            kubernetes,
            api_gates: gates.clone(),
            runtime_config: kubernetes.workload_apis().iter().map(|api| (*api).into()).collect(),
            watch_cache: true,
            memory: Memory::default(),
            scheduler_gates: gates,
            controller: ControllerSpec::default(),
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
            given: BTreeMap::new(),
        }
    }

    /// The default spec with these schedulers in addition to kube-scheduler, and the controller's profiles
    /// for them.
    pub fn with(schedulers: impl IntoIterator<Item = Scheduler>) -> Self {
        Self::default().beside(schedulers)
    }

    /// Adds schedulers and the controller's profiles for them.
    #[must_use]
    pub fn beside(mut self, schedulers: impl IntoIterator<Item = Scheduler>) -> Self {
        self.schedulers.extend(schedulers);
        self.controller = self.controller.with_schedulers(&self.schedulers);
        self
    }

    /// Adds the trainer and its KAI plugin, for TrainJobs. With `jobs_have_gangs`, the Job controller creates
    /// a gang for each Job, regardless of the scheduler.
    #[must_use]
    pub fn with_trainer(mut self, jobs_have_gangs: bool) -> Self {
        self.trainer = Some(TrainerSpec { plugin: true, given: None });
        if jobs_have_gangs {
            self.api_gates = self.api_gates.with("WorkloadWithJob", true);
        }
        self
    }

    /// Uses this trainer on a cluster for TrainJobs. The harness does not start its own KAI plugin if the
    /// trainer contains one.
    #[must_use]
    pub fn with_given_trainer(mut self, given: Arc<GivenTrainer>) -> Self {
        if let Some(trainer) = &mut self.trainer {
            trainer.plugin &= !given.has_kai_plugin;
            trainer.given = Some(given);
        }
        self
    }

    pub fn given_trainer(&self) -> Option<&GivenTrainer> {
        self.trainer.as_ref()?.given.as_deref()
    }

    /// Removes the controller and Grove's APIs, for plain pods.
    #[must_use]
    pub fn without_controller(self) -> Self {
        Self { has_controller: false, ..self }
    }

    /// Whether the reference controller starts with faults, at first or after an upgrade.
    pub fn has_faults(&self) -> bool {
        let upgraded = self.upgrade.as_ref().is_some_and(|upgrade| !upgrade.faults.is_empty());
        upgraded || !self.controller.faults.is_empty()
    }

    /// The kind of workload that runs on this cluster.
    pub fn workload(&self) -> Workload {
        match (&self.trainer, self.has_controller) {
            (Some(_), _) => Workload::TrainJobs,
            (None, true) => Workload::PodCliqueSets,
            (None, false) => Workload::PlainPods,
        }
    }

    /// Keeps at most one scheduler in addition to kube-scheduler, and removes the controller's profiles of
    /// the others.
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

    /// The spec before an upgrade, with the operator that is replaced. `None` without an upgrade.
    #[must_use]
    pub fn before_upgrade(self) -> Option<Self> {
        let operator = self.upgrade.as_ref()?.from.clone();
        Some(Self { operator, ..self })
    }

    #[must_use]
    pub fn with_gpu_plugin_fault(mut self, fault: impl Into<String>) -> Self {
        self.gpu_plugin_faults.push(fault.into());
        self
    }

    /// The parts that the cluster has, in start order.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        Part::all().filter(|part| self.has(*part))
    }

    /// The processes of a scheduler. There are none if kube-scheduler stands in for it.
    pub fn parts_of(&self, scheduler: Scheduler) -> impl Iterator<Item = Part> {
        self.parts().filter(move |part| part.scheduler() == Some(scheduler))
    }

    fn has(&self, part: Part) -> bool {
        match part.described() {
            Some((install, process)) => {
                self.schedulers.contains(&install.scheduler) && install.has(process, self)
            }
            None if part.is_of_trainer() => {
                self.trainer.as_ref().is_some_and(|trainer| part != Part::TRAINER_PLUGIN || trainer.plugin)
            }
            None => part != Part::Controller || self.has_controller,
        }
    }

    /// The schedulers for whose pods kube-scheduler stands in.
    pub fn stood_in_for(&self) -> Vec<&'static str> {
        let without = |scheduler: &&Scheduler| self.parts_of(**scheduler).next().is_none();
        self.schedulers.iter().filter(without).map(|scheduler| scheduler.name()).collect()
    }

    /// The user who posts `pods/binding` for a scheduler's pods in this cluster.
    pub fn binder(&self, scheduler: Scheduler) -> &'static str {
        let stand_in = self.stood_in_for().contains(&scheduler.name());
        if stand_in { installation(Scheduler::KUBE).user } else { installation(scheduler).user }
    }

    /// The part that posts `pods/binding` for a scheduler's pods.
    pub fn binding_part(&self, scheduler: Scheduler) -> Option<Part> {
        let binder = self.binder(scheduler);
        self.parts().find(|part| part.user() == Some(binder))
    }

    /// Adds a rule to a part's fault proxy that applies from the start.
    #[must_use]
    pub fn with_rule(mut self, part: Part, rule: Rule) -> Self {
        self.proxied.insert(part);
        self.rules.entry(part).or_default().push(rule);
        self
    }

    /// The users whose requests the API server audits in addition to those that bind pods: the users that run
    /// TrainJobs.
    pub fn audited(&self) -> Vec<&'static str> {
        self.parts().filter(|part| part.is_of_trainer()).filter_map(Part::user).collect()
    }

    /// The plugins, or arguments of plugins, that a scheduler starts without.
    pub fn off(&self, scheduler: Scheduler) -> Vec<&str> {
        self.plugins_off.iter().filter(|(of, _)| *of == scheduler).map(|(_, name)| name.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::{kai, koord_scheduler, volcano};

    const OTHERS: [Scheduler; 3] = [volcano::SCHEDULER, koord_scheduler::SCHEDULER, kai::SCHEDULER];

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

    #[test]
    fn the_controller_has_a_profile_for_each_scheduler() {
        let spec = ControllerSpec::for_schedulers(&OTHERS.into())
            .with_profile_config("koord-scheduler", json!({"gangMode": "Strict"}));
        insta::assert_yaml_snapshot!(spec.configuration["scheduler"]["profiles"], @r"
        - config:
            gangScheduling: true
          name: default-scheduler
        - name: volcano
        - config:
            gangMode: Strict
          name: koord-scheduler
        - name: kai-scheduler
        - name: conformance-external
          type: External
        ");
        assert_eq!(ControllerSpec::for_schedulers(&[Scheduler::KUBE].into()), ControllerSpec::default());
    }
}
