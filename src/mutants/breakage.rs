//! What a mutant can break, and the specification of the broken cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use conformance_contract::clauses::{Feature, Workload};
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::Target;
use conformance_install::cluster_spec::{ClusterSpec, ControllerSpec};
use conformance_install::part::Part;
use conformance_install::schedulers::{self, GivenScheduler};
use conformance_install::upgrade::Upgrade;
use conformance_proxy::{Change, Edit, Patch, Rule};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::InvalidMutant;

pub type Given = BTreeMap<Scheduler, Arc<GivenScheduler>>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Breakage {
    pub faults: Vec<String>,
    /// In cases with an upgrade: the faults of the reference operator that replaces one without faults.
    pub upgrade: Option<Vec<String>>,
    /// In cases with an upgrade to the target's next Kubernetes: faults of the operator after the upgrade.
    pub kubernetes_upgrade: Option<Vec<String>>,
    /// Fault proxy rules between the reference operator and the API server.
    pub controller: Vec<Rule>,
    /// Fault proxy rules between the API server and the processes of the target's scheduler or stand-in.
    pub scheduler: Vec<Rule>,
    /// The PodCliqueSet requests that bypass the webhook, as CEL over `object`, `oldObject` and `request`.
    pub unasked: Option<String>,
    /// Changes to the objects that are installed with the operator or the trainer. Keys are kind and name.
    pub altered: BTreeMap<String, Patch>,
    /// The `config` of the target's profile in the operator's configuration.
    pub profile: Option<Value>,
    pub scheduler_gates: BTreeMap<String, bool>,
    pub api_gates: BTreeMap<String, bool>,
    /// Plugins (or arguments of plugins) that are disabled in the target's scheduler.
    pub plugins_off: Vec<String>,
    /// KWOK stages in addition to those of the suite.
    pub stages: Vec<Value>,
    /// Schedulers in addition to that of the target.
    pub beside: Vec<String>,
    /// Faults of the device plugin that provides the GPUs of kubelets.
    pub gpu_plugin: Vec<String>,
    /// For a TrainJob target: fault proxy rules between the trainer and the API server.
    pub trainer: Vec<Rule>,
    /// For a TrainJob target: fault proxy rules between JobSet and the API server.
    pub job_set: Vec<Rule>,
    /// For a TrainJob target: whether the trainer's KAI plugin is left out.
    pub without_plugin: bool,
}

impl Breakage {
    pub(crate) fn spec(&self, target: Target, given: Given) -> ClusterSpec {
        let additional = self.beside.iter().filter_map(|name| scheduler(name));
        let target_scheduler = Some(target.scheduler()).filter(|scheduler| *scheduler != Scheduler::KUBE);
        let old = target.kubernetes();
        let upgraded = self.kubernetes_upgrade.as_ref().and_then(|_| old.successor());
        let mut spec = ClusterSpec::of(upgraded.unwrap_or(old));
        if let Some(config) = &self.profile {
            spec.controller = ControllerSpec::with_profile(config.clone());
        }
        spec = spec.with_schedulers(target_scheduler.into_iter().chain(additional));
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
        spec.upgrade = self.upgrade(old);
        spec.gpu_plugin_faults.extend(self.gpu_plugin.clone());
        spec.api_gates.0.extend(self.api_gates.clone());
        spec.scheduler_gates.0.extend(self.scheduler_gates.clone());
        spec.plugins_off = self.plugins_off.iter().map(|name| (target.scheduler(), name.clone())).collect();
        spec.further_stages.clone_from(&self.stages);
        spec.altered = self.unasked.iter().map(|requests| unasked(requests)).collect();
        spec.altered.extend(self.altered.clone());
        let mut scheduler_parts: Vec<Part> = spec.parts_of(target.scheduler()).collect();
        if scheduler_parts.is_empty() {
            scheduler_parts.extend(spec.binding_part(target.scheduler()));
        }
        for (part, rules) in [
            (Part::Controller, &self.controller),
            (Part::TRAINER, &self.trainer),
            (Part::JOB_SET, &self.job_set),
        ] {
            spec = rules.iter().cloned().fold(spec, |spec, rule| spec.with_rule(part, rule));
        }
        for part in scheduler_parts {
            spec = self.scheduler.iter().cloned().fold(spec, |spec, rule| spec.with_rule(part, rule));
        }
        spec
    }

    fn upgrade(&self, old: Kubernetes) -> Option<Upgrade> {
        if let Some(faults) = self.kubernetes_upgrade.clone() {
            return Some(Upgrade { faults, ..Upgrade::of_kubernetes(old, None) });
        }
        let faults = self.upgrade.clone()?;
        Some(Upgrade { from: None, to: None, faults, control_plane: None })
    }

    pub(crate) fn check(&self, target: Target) -> Result<(), InvalidMutant> {
        if let Some(unknown) = self.beside.iter().find(|name| scheduler(name).is_none()) {
            return Err(InvalidMutant::UnknownScheduler(unknown.clone()));
        }
        let sound = Self::default().spec(target, Given::default());
        if self.spec(target, Given::default()) == sound { Err(InvalidMutant::NothingBroken) } else { Ok(()) }
    }
}

fn unasked(requests: &str) -> (String, Patch) {
    let condition = json!([{"name": "mutant", "expression": format!("!({requests})")}]);
    let edit = Edit { at: "/webhooks/0/matchConditions".into(), to: Change::Set(condition) };
    ("ValidatingWebhookConfiguration podcliqueset-validating-webhook".into(), Patch::Edit(vec![edit]))
}

fn scheduler(name: &str) -> Option<Scheduler> {
    schedulers::all().find(|scheduler| scheduler.name() == name)
}
