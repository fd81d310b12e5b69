//! The scheduler of kubernetes-sigs/scheduler-plugins: kube-scheduler 1.35 with Coscheduling, for TrainJobs
//! only. Its controller is not needed, because it reads only the spec of PodGroups.

use std::path::Path;

use conformance_contract::scheduler::Scheduler;
use conformance_programs::components::{Component, Module, Purpose};
use conformance_programs::{ProgramError, module};
use serde_json::{Value, json};

use super::deployed::Deployed;
use super::install::{
    Command, Crds, Install, ModuleCrds, ProcessHome, ProgramSource, SchedulerProcess, StartSettings, recipe,
};
use super::rbac::{self, Right};

pub const SCHEDULER: Scheduler = Scheduler::named("scheduler-plugins-scheduler");

pub(crate) static INSTALL: Install = Install {
    scheduler: SCHEDULER,
    // TrainJobs run only on local control planes.
    processes: &[SchedulerProcess {
        rights: &[rbac::FRAMEWORK, RIGHTS],
        ..SchedulerProcess::new(PROGRAM.name, USER, start)
    }],
    programs: ProgramSource::Built(std::slice::from_ref(&PROGRAM)),
    recipe: recipe!("scheduler-plugins-scheduler"),
    user: USER,
    crds: Crds::Module(CRDS),
    webhooks: None,
    objects: Vec::new,
    deployed: Deployed::alone("scheduler-plugins", &[SCHEDULER.name()]),
    package: None,
    // Its gang plugin is off unless a configuration enables it.
    configured_by: None,
    cycle_millis: None,
};

static MODULE: Module = module!(
    "scheduler-plugins",
    // The embedded kube-scheduler derives its feature gates from this version, without the part after `+`.
    "-s -w -X k8s.io/component-base/version.gitVersion=v1.35.4+scheduler-plugins.v0.35.4-devel \
     -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=35"
);

static PROGRAM: Component = Component {
    name: "scheduler-plugins-scheduler",
    version: "v0.35.4-devel",
    package: "sigs.k8s.io/scheduler-plugins/cmd/scheduler",
    module: &MODULE,
    purpose: Purpose::Scheduler(SCHEDULER),
};

pub const USER: &str = "system:scheduler-plugins-scheduler";
pub const COSCHEDULING: &str = "Coscheduling";

/// Without this CRD, pods of PodGroups wait indefinitely.
pub(super) const CRDS: ModuleCrds = ModuleCrds {
    component: &PROGRAM,
    folder: "config/crd/bases",
    files: &["scheduling.x-k8s.io_podgroups.yaml"],
};

/// In addition to the framework ([`super::rbac::FRAMEWORK`]), from scheduler-plugins 0.35.4: the part of its
/// chart's role (`manifests/install/charts/as-a-second-scheduler/templates/rbac.yaml`) that Coscheduling
/// (`pkg/coscheduling`) and the default plugins use.
pub(super) const RIGHTS: &[Right] = &[
    Right::read("scheduling.x-k8s.io", &["podgroups"]),
    Right::new("", &["pods/status"], &["patch"]),
    Right::new("events.k8s.io", &["events"], &["create", "patch"]),
    // For the default plugin DynamicResources. Since 1.36, a change of a claim's allocation needs `binding`.
    Right::new("resource.k8s.io", &["resourceclaims"], &["update"]),
    Right::new("resource.k8s.io", &["resourceclaims/binding", "resourceclaims/status"], &["patch", "update"]),
];

/// Preemption of single pods is off, because it would break gangs, and so are the plugins in `off`.
pub fn configuration(kubeconfig: &Path, off: &[&str]) -> Value {
    let mut profile = json!({"schedulerName": SCHEDULER.name()});
    if !off.contains(&COSCHEDULING) {
        let all = json!([{"name": "*"}]);
        let gangs = json!([{"name": COSCHEDULING}]);
        profile["plugins"] = json!({
            "multiPoint": {"enabled": gangs},
            "queueSort": {"disabled": all, "enabled": gangs},
            "postFilter": {"disabled": all, "enabled": gangs},
        });
        // For a PodGroup without its own timeout.
        profile["pluginConfig"] = json!([{"name": COSCHEDULING, "args": {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "CoschedulingArgs",
            "permitWaitingTimeSeconds": 10,
        }}]);
    }
    json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": false},
        "clientConnection": {"kubeconfig": kubeconfig, "qps": 500, "burst": 1000},
        "profiles": [profile],
    })
}

fn start(home: &ProcessHome, settings: &StartSettings<'_>) -> Result<Command, ProgramError> {
    let path =
        home.configure("scheduler.yaml", &configuration(&home.kubeconfig, &settings.plugins_off), settings)?;
    Ok(Command { args: args(&path), env: Vec::new() })
}

/// The flush keeps its default of five minutes: a shorter one could hide that new capacity wakes no gang.
pub fn args(configuration: &Path) -> Vec<String> {
    vec![format!("--config={}", configuration.display()), "--secure-port=0".into(), "-v=2".into()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::tests::home;

    #[test]
    fn configuration_and_argv() {
        let home = home("scheduler-plugins-scheduler");
        insta::assert_yaml_snapshot!((
            args(Path::new("DIR/scheduler-plugins-scheduler/scheduler.yaml")),
            configuration(&home.kubeconfig, &[]),
        ));
        let without = configuration(&home.kubeconfig, &[COSCHEDULING]);
        assert!(!without.to_string().contains(COSCHEDULING), "{without}");
    }
}
