//! The scheduler of kubernetes-sigs/scheduler-plugins, which is kube-scheduler 1.35 with more plugins: here with
//! Coscheduling. The gangs of TrainJobs are judged on it; PodCliqueSets have no backend for it.
//!
//! Its controller, which keeps the status of PodGroups, is not needed: the scheduler reads their spec alone.

use std::path::Path;

use conformance_contract::scheduler::Scheduler;
use serde_json::{Value, json};

use super::in_cluster::Deployed;
use super::install::{
    Command, Crds, Install, ModuleCrds, ProcessHome, ProgramSource, SchedulerProcess, recipe,
};
use super::rbac::{self, Right};
use crate::ClusterError;
use crate::cluster_spec::ClusterSpec;
use crate::components::{Component, Module, Purpose, module};

/// Its `schedulerName`, that of its chart.
pub const SCHEDULER: Scheduler = Scheduler::named("scheduler-plugins-scheduler");

/// What it needs.
pub(crate) static INSTALL: Install = Install {
    scheduler: SCHEDULER,
    // As kube-scheduler: its health is on a port with TLS of its own.
    processes: &[SchedulerProcess {
        name: PROGRAM.name,
        user: USER,
        rights: &[rbac::FRAMEWORK, RIGHTS],
        local_rights: &[],
        health: None,
        optional: None,
        start,
        // TrainJobs are judged on local control planes only.
        deployment: None,
    }],
    programs: ProgramSource::Built(std::slice::from_ref(&PROGRAM)),
    recipe: recipe!("scheduler-plugins-scheduler"),
    user: USER,
    crds: Crds::Module(CRDS),
    objects: Vec::new,
    deployed: Deployed::alone("scheduler-plugins", &[SCHEDULER.name()]),
    package: None,
};

static MODULE: Module = module!(
    "scheduler-plugins",
    // The gates follow the kube-scheduler inside, and build metadata does not touch them.
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

/// Its user.
pub const USER: &str = "system:scheduler-plugins-scheduler";
/// Plugin that makes PodGroups gangs.
pub const COSCHEDULING: &str = "Coscheduling";

/// Without it pods of PodGroups wait forever.
pub(super) const CRDS: ModuleCrds = ModuleCrds {
    component: &PROGRAM,
    folder: "config/crd/bases",
    files: &["scheduling.x-k8s.io_podgroups.yaml"],
};

/// What it watches and writes beside the framework ([`super::rbac::FRAMEWORK`]), from scheduler-plugins 0.35.4.
///
/// The role of its chart (`manifests/install/charts/as-a-second-scheduler/templates/rbac.yaml`) is for all its plugins; this
/// is the part that Coscheduling (`pkg/coscheduling`) and the plugins that are on by default use: no preemption, no
/// leader election, no ElasticQuotas, no NodeResourceTopologies, and no writing of PodGroups, which its controller does.
pub(super) const RIGHTS: &[Right] = &[
    Right::read("scheduling.x-k8s.io", &["podgroups"]),
    // The condition of a pod that does not fit.
    Right::new("", &["pods/status"], &["patch"]),
    Right::new("events.k8s.io", &["events"], &["create", "patch"]),
    // DynamicResources is a default plugin. From Kubernetes 1.36 on the API server asks for `binding` when a claim's
    // allocation changes.
    Right::new("resource.k8s.io", &["resourceclaims"], &["update"]),
    Right::new("resource.k8s.io", &["resourceclaims/binding", "resourceclaims/status"], &["patch", "update"]),
];

/// KubeSchedulerConfiguration without what is `off`. Preemption pod by pod is off too: it would break gangs.
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
        // Of a PodGroup that names no time of its own.
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

fn start(place: &ProcessHome, spec: &ClusterSpec) -> Result<Command, ClusterError> {
    let path = place.write("scheduler.yaml", &configuration(&place.kubeconfig, &spec.off(SCHEDULER)))?;
    Ok(Command { args: args(&path), env: Vec::new() })
}

/// Its arguments. The flush of unschedulable pods stays at five minutes: it would hide, now and then, that a gang is not
/// woken by room that comes.
pub fn args(configuration: &Path) -> Vec<String> {
    vec![format!("--config={}", configuration.display()), "--secure-port=0".into(), "-v=2".into()]
}
