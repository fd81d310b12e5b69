//! The specification of a local cluster. The default is what a conformance run uses; mutants change parts of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use conformance_contract::clauses::Workload;
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::{EXTERNAL_SCHEDULER, Scheduler};
use conformance_proxy::{Patch, Rule};
use serde_json::{Value, json};

use crate::given_trainer::GivenTrainer;
use crate::local::Part;
use crate::memory::Memory;
use crate::operator::Operator;
use crate::schedulers::{self, GivenScheduler, installation};
use crate::trainer::TrainerSpec;

/// Feature gates, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gates(pub BTreeMap<String, bool>);

impl Gates {
    /// The Workload API with gangs and topology, all of it that a version has.
    pub fn workload_api(kubernetes: Kubernetes) -> Self {
        kubernetes.workload_gates().iter().fold(Self::default(), |gates, name| gates.with(name, true))
    }

    /// The same with one gate set.
    #[must_use]
    pub fn with(mut self, name: &str, on: bool) -> Self {
        self.0.insert(name.into(), on);
        self
    }

    /// Only the named ones.
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

    /// Whether a gate is on; one that is not named is off (all of the Workload API's are, by default).
    pub fn is_on(&self, name: &str) -> bool {
        self.0.get(name).copied().unwrap_or(false)
    }

    /// `--feature-gates=…`, if any is named.
    pub fn flag(&self) -> Option<String> {
        let all: Vec<_> = self.0.iter().map(|(name, on)| format!("{name}={on}")).collect();
        (!all.is_empty()).then(|| format!("--feature-gates={}", all.join(",")))
    }
}

/// A control plane.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterSpec {
    /// The version of the API server, the controller manager and kube-scheduler.
    pub kubernetes: Kubernetes,
    /// Gates of the API server (and of the controller manager).
    pub api_gates: Gates,
    /// API versions that are off by default.
    pub runtime_config: Vec<String>,
    /// Whether the API server serves watches from memory, as it does by default. Without, a watch can be resumed
    /// across a restart of the API server: etcd still knows the versions that a fresh cache does not.
    pub watch_cache: bool,
    /// What its programs may take of the memory.
    pub memory: Memory,
    /// Gates of the scheduler.
    pub scheduler_gates: Gates,
    /// How the reference controller is configured.
    pub controller: ControllerSpec,
    /// Whether the cluster gets the reference controller, with its CRDs and webhooks; otherwise the caller installs one.
    pub has_controller: bool,
    /// The operator that runs in the reference controller's place.
    pub operator: Option<Arc<Operator>>,
    /// The operators that an upgrade is about, where cases are to run one.
    pub upgrade: Option<Upgrade>,
    /// How the trainer runs, on a cluster for TrainJobs.
    pub trainer: Option<TrainerSpec>,
    /// The schedulers; kube-scheduler is always among them.
    pub schedulers: BTreeSet<Scheduler>,
    /// Plugins (or arguments of plugins) that a scheduler other than kube-scheduler is started without, by the names
    /// that its file in [`crate::schedulers`] has for them; none but in mutants.
    pub plugins_off: Vec<(Scheduler, String)>,
    /// Stages that KWOK has beside the suite's; none but in mutants.
    pub further_stages: Vec<Value>,
    /// Faults that the fake GPU plugin is started with, where nodes have kubelets; none but in mutants.
    pub gpu_plugin_faults: Vec<String>,
    /// The parts that reach the API server through a fault proxy; none but while a case asks for it.
    pub proxied: BTreeSet<Part>,
    /// What the fault proxy of a part does from its start on; none but in mutants.
    pub rules: BTreeMap<Part, Vec<Rule>>,
    /// Changes of what is installed with the controller, by `Kind name`; none but in mutants.
    pub altered: Vec<(String, Patch)>,
    /// How long KAI waits before it evicts what is left of a gang that is no longer whole; it leaves it alone unless a case
    /// asks for this.
    pub stale_gangs_for: Option<Duration>,
    /// Schedulers that the user gave, with their CRDs. For one that can only be given and is not, kube-scheduler stands in.
    pub given: BTreeMap<Scheduler, Arc<GivenScheduler>>,
}

/// Who replaces whom; `None` is the reference controller.
#[derive(Debug, Clone, PartialEq)]
pub struct Upgrade {
    /// Runs first.
    pub from: Option<Arc<Operator>>,
    /// Takes its place.
    pub to: Option<Arc<Operator>>,
    /// Faults that the reference controller is started with in the other's place; none but in mutants.
    pub faults: Vec<String>,
}

impl Upgrade {
    /// Who is replaced, as histories have it.
    pub fn from(&self) -> String {
        title(self.from.as_deref())
    }

    /// Who takes its place, as histories have it.
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
    /// OperatorConfiguration.
    pub configuration: Value,
    /// Faults it is started with; none but in mutants.
    pub faults: Vec<String>,
    /// Whether it elects a leader.
    pub leader_election: bool,
}

impl Default for ControllerSpec {
    fn default() -> Self {
        Self::with_profile(json!({"gangScheduling": true}))
    }
}

impl ControllerSpec {
    /// The default-scheduler profile with this `config`, and that of [`EXTERNAL_SCHEDULER`].
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

    /// One profile for each of these schedulers that PodCliqueSets can use, and that of [`EXTERNAL_SCHEDULER`].
    pub fn for_schedulers(schedulers: &BTreeSet<Scheduler>) -> Self {
        Self::default().with_schedulers(schedulers)
    }

    /// The same with a profile, which configures nothing, for each of these schedulers that has none and that PodCliqueSets
    /// can use.
    #[must_use]
    pub fn with_schedulers(mut self, wanted: &BTreeSet<Scheduler>) -> Self {
        for scheduler in schedulers::of_pod_clique_sets().filter(|scheduler| wanted.contains(scheduler)) {
            self.profile(scheduler.name());
        }
        self
    }

    /// The same with this `config` of the profile of that name.
    #[must_use]
    pub fn with_profile_config(mut self, name: &str, config: Value) -> Self {
        if let Some(profile) = self.profile(name) {
            profile["config"] = config;
        }
        self
    }

    /// The profile of that name; one that is not there is put before the External one.
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

    /// The same without the profile of that name.
    #[must_use]
    pub fn without_profile(mut self, name: &str) -> Self {
        if let Some(profiles) = self.configuration["scheduler"]["profiles"].as_array_mut() {
            profiles.retain(|profile| profile["name"] != name);
        }
        self
    }

    /// The same with a fault.
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
    /// kube-scheduler alone, of that version, with the whole Workload API.
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

    /// The default one with these schedulers beside kube-scheduler, and the controller's profiles for them.
    pub fn with(schedulers: impl IntoIterator<Item = Scheduler>) -> Self {
        Self::default().beside(schedulers)
    }

    /// The same with these schedulers beside kube-scheduler, and the controller's profiles for them.
    #[must_use]
    pub fn beside(mut self, schedulers: impl IntoIterator<Item = Scheduler>) -> Self {
        self.schedulers.extend(schedulers);
        self.controller = self.controller.with_schedulers(&self.schedulers);
        self
    }

    /// The same for TrainJobs: with the trainer and its KAI plugin. Where `jobs_have_gangs`, the Job controller makes a gang
    /// of each Job, whoever schedules its pods.
    #[must_use]
    pub fn with_trainer(mut self, jobs_have_gangs: bool) -> Self {
        self.trainer = Some(TrainerSpec { plugin: true, given: None });
        if jobs_have_gangs {
            self.api_gates = self.api_gates.with("WorkloadWithJob", true);
        }
        self
    }

    /// The same with this trainer, on a cluster for TrainJobs: without our KAI plugin where it has that inside.
    #[must_use]
    pub fn with_given_trainer(mut self, given: Arc<GivenTrainer>) -> Self {
        if let Some(trainer) = &mut self.trainer {
            trainer.plugin &= !given.has_kai_plugin;
            trainer.given = Some(given);
        }
        self
    }

    /// The trainer that the user gave, if the cluster has one.
    pub fn given_trainer(&self) -> Option<&GivenTrainer> {
        self.trainer.as_ref()?.given.as_deref()
    }

    /// The same for plain pods: without a controller, and without Grove's APIs.
    #[must_use]
    pub fn without_controller(self) -> Self {
        Self { has_controller: false, ..self }
    }

    /// What runs on it.
    pub fn workload(&self) -> Workload {
        match (&self.trainer, self.has_controller) {
            (Some(_), _) => Workload::TrainJobs,
            (None, true) => Workload::PodCliqueSets,
            (None, false) => Workload::PlainPods,
        }
    }

    /// The same with one scheduler beside kube-scheduler at most, and the controller without the profiles of the others.
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

    /// The same before an upgrade: with the operator that is replaced. `None` without an upgrade.
    #[must_use]
    pub fn before_upgrade(self) -> Option<Self> {
        let operator = self.upgrade.as_ref()?.from.clone();
        Some(Self { operator, ..self })
    }

    /// The same with a fault of the fake GPU plugin.
    #[must_use]
    pub fn with_gpu_plugin_fault(mut self, fault: impl Into<String>) -> Self {
        self.gpu_plugin_faults.push(fault.into());
        self
    }

    /// The parts that the cluster has, in the order in which they are started.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        Part::all().filter(|part| self.has(*part))
    }

    /// The processes of one of its schedulers; none where it has a stand-in.
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

    /// The part that does it.
    pub fn binding_part(&self, scheduler: Scheduler) -> Option<Part> {
        let binder = self.binder(scheduler);
        self.parts().find(|part| part.user() == Some(binder))
    }

    /// The same with a rule of a part's fault proxy, which is there from the start.
    #[must_use]
    pub fn with_rule(mut self, part: Part, rule: Rule) -> Self {
        self.proxied.insert(part);
        self.rules.entry(part).or_default().push(rule);
        self
    }

    /// The users whose requests the API server writes down, beside who binds pods: those that run TrainJobs.
    pub(crate) fn audited(&self) -> Vec<&'static str> {
        self.parts().filter(|part| part.is_of_trainer()).filter_map(Part::user).collect()
    }

    /// What a scheduler is started without.
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
