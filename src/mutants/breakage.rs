//! What can be broken, and the cluster that comes of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use conformance_cluster::local::{ClusterSpec, ControllerSpec, Part, Upgrade};
use conformance_cluster::schedulers::{self, GivenScheduler};
use conformance_contract::clauses::{Feature, Workload};
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::Target;
use conformance_proxy::{Change, Edit, Patch, Rule};
use serde::Deserialize;
use serde_json::{Value, json};

/// Schedulers that the user gave.
pub type Given = BTreeMap<Scheduler, Arc<GivenScheduler>>;

/// What is broken. Of several all are.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Breakage {
    /// Faults of the reference controller's own.
    pub faults: Vec<String>,
    /// Faults of the reference controller that takes the place of one without them, where cases run an upgrade.
    pub upgrade: Option<Vec<String>>,
    /// Rules of a fault proxy between the reference controller and the API server: its requests and what it sees.
    pub controller: Vec<Rule>,
    /// Rules of a fault proxy between the API server and each program of the target's scheduler, or who stands in for it.
    pub scheduler: Vec<Rule>,
    /// Requests about PodCliqueSets that the validating webhook is not asked about: CEL over `object`, `oldObject` and
    /// `request`.
    pub unasked: Option<String>,
    /// What is altered of the objects that come with the controller or the trainer, by kind and name.
    pub altered: BTreeMap<String, Patch>,
    /// The target's profile in the controller's configuration.
    pub profile: Option<Value>,
    /// Feature gates of kube-scheduler.
    pub scheduler_gates: BTreeMap<String, bool>,
    /// Feature gates of the API server.
    pub api_gates: BTreeMap<String, bool>,
    /// Plugins (or arguments of plugins) that the target's scheduler does without.
    pub plugins_off: Vec<String>,
    /// Stages that KWOK has beside the suite's.
    pub stages: Vec<Value>,
    /// Schedulers beside the target's.
    pub beside: Vec<String>,
    /// Faults of the plugin that provides the kubelets' GPUs.
    pub gpu_plugin: Vec<String>,
    /// Of a column of TrainJobs: rules of a fault proxy between the trainer and the API server.
    pub trainer: Vec<Rule>,
    /// The same between JobSet and the API server.
    pub job_set: Vec<Rule>,
    /// Whether the trainer lacks its KAI plugin.
    pub without_plugin: bool,
}

impl Breakage {
    /// The cluster of a target with what is broken.
    pub(crate) fn spec(&self, target: Target, given: Given) -> ClusterSpec {
        let beside = self.beside.iter().filter_map(|name| scheduler(name));
        let own = Some(target.scheduler()).filter(|scheduler| *scheduler != Scheduler::KUBE);
        let mut spec = ClusterSpec::of(target.kubernetes());
        if let Some(config) = &self.profile {
            spec.controller = ControllerSpec::with_profile(config.clone());
        }
        spec = spec.beside(own.into_iter().chain(beside));
        if target.workload() == Workload::TrainJobs {
            spec = spec.with_trainer(target.declares(Feature::JobWorkload));
        }
        if target.workload() == Workload::PlainPods {
            spec = spec.without_controller();
        }
        if let Some(trainer) = &mut spec.trainer {
            trainer.plugin = !self.without_plugin;
        }
        spec.given = given;
        spec.controller.faults.extend(self.faults.clone());
        spec.upgrade = self.upgrade.clone().map(|faults| Upgrade { from: None, to: None, faults });
        spec.gpu_plugin_faults.extend(self.gpu_plugin.clone());
        spec.api_gates.0.extend(self.api_gates.clone());
        spec.scheduler_gates.0.extend(self.scheduler_gates.clone());
        spec.plugins_off = self.plugins_off.iter().map(|name| (target.scheduler(), name.clone())).collect();
        spec.further_stages.clone_from(&self.stages);
        spec.altered = self.unasked.iter().map(|requests| unasked(requests)).collect();
        spec.altered.extend(self.altered.clone());
        let mut of_scheduler: Vec<Part> = spec.parts_of(target.scheduler()).collect();
        if of_scheduler.is_empty() {
            of_scheduler.extend(spec.binding_part(target.scheduler()));
        }
        for (part, rules) in [
            (Part::Controller, &self.controller),
            (Part::TRAINER, &self.trainer),
            (Part::JOB_SET, &self.job_set),
        ] {
            spec = rules.iter().cloned().fold(spec, |spec, rule| spec.with_rule(part, rule));
        }
        for part in of_scheduler {
            spec = self.scheduler.iter().cloned().fold(spec, |spec, rule| spec.with_rule(part, rule));
        }
        spec
    }

    pub(crate) fn check(&self, target: Target) -> Result<(), String> {
        if let Some(unknown) = self.beside.iter().find(|name| scheduler(name).is_none()) {
            return Err(format!("there is no scheduler {unknown:?}"));
        }
        let (clean, broken) =
            (Self::default().spec(target, Given::default()), self.spec(target, Given::default()));
        if clean == broken { Err("nothing is broken: say what in `by`".into()) } else { Ok(()) }
    }
}

/// The webhook that is not asked about some requests.
fn unasked(requests: &str) -> (String, Patch) {
    let condition = json!([{"name": "mutant", "expression": format!("!({requests})")}]);
    let edit = Edit { at: "/webhooks/0/matchConditions".into(), to: Change::Set(condition) };
    ("ValidatingWebhookConfiguration podcliqueset-validating-webhook".into(), Patch::Edit(vec![edit]))
}

fn scheduler(name: &str) -> Option<Scheduler> {
    schedulers::all().find(|scheduler| scheduler.name() == name)
}
