//! Volcano's vc-scheduler, without its controllers and webhooks: plain pods and PodGroups need neither.
//!
//! Plugins for queue shares (`proportion`, `capacity`) are omitted: they block gangs for reasons that no
//! clause covers. The suite replaces the queue controller: it creates the queues Open.

use std::path::Path;

use conformance_contract::scheduler::Scheduler;
use conformance_programs::components::{Amendment, Component, Module, Purpose};
use conformance_programs::{ProgramError, module};
use serde_json::{Value, json};

use super::helm::Package;
use super::in_cluster::{Deployed, Deployment};
use super::install::{
    Command, Crds, Install, ModuleCrds, ProcessHome, ProgramSource, SchedulerProcess, recipe,
};
use super::rbac::{self, Right};
use crate::cluster_spec::ClusterSpec;

pub const SCHEDULER: Scheduler = Scheduler::named("volcano");

pub(crate) static INSTALL: Install = Install {
    scheduler: SCHEDULER,
    processes: &[SchedulerProcess {
        name: PROGRAM.name,
        user: USER,
        rights: &[rbac::FRAMEWORK, RIGHTS],
        local_rights: &[],
        health: Some("/healthz"),
        optional: None,
        start,
        deployment: Some(Deployment {
            configuration: Some(|| configuration(&[])),
            args: |file, health| flags(file, &format!("0.0.0.0:{health}")),
            env: &[("DEBUG_SOCKET_DIR", "/tmp")],
        }),
    }],
    programs: ProgramSource::Built(std::slice::from_ref(&PROGRAM)),
    recipe: recipe!("vc-scheduler"),
    user: USER,
    crds: Crds::Module(CRDS),
    objects,
    deployed: Deployed::alone("volcano-system", &[SCHEDULER.name()]),
    package: Some(&PACKAGE),
};

static MODULE: Module =
    module!("volcano", "-s -w -X volcano.sh/volcano/pkg/version.Version=v1.15.1", Some(&APIS));

/// Volcano 1.15.1 is built with an API that is part of its repository, not of its module. The newest
/// volcano.sh/apis on module proxies lacks one of its constants.
static APIS: Amendment = Amendment {
    module: "volcano.sh/apis",
    version: "v1.14.0",
    sum: "h1:Rf8wzGFmgzbyg85GO0CxapDDEk/VM3D7QbjbI/sH+OQ=",
    go_mod_sum: "h1:CKQbxVt0o4lTKisC0MonoXWruGFC0S8KU+UuzaZ5E7k=",
    folder: "apis",
    files: &[(
        "pkg/apis/scheduling/v1beta1/queue_allocation_gate.go",
        include_str!("../../../components/volcano/apis/pkg/apis/scheduling/v1beta1/queue_allocation_gate.go"),
    )],
};

static PROGRAM: Component = Component {
    name: "vc-scheduler",
    version: "v1.15.1",
    package: "volcano.sh/volcano/cmd/scheduler",
    module: &MODULE,
    purpose: Purpose::Scheduler(SCHEDULER),
};

pub const USER: &str = "system:volcano-scheduler";
/// Plugin that makes a PodGroup a gang.
pub const GANG: &str = "gang";
/// Plugin that honours `networkTopology`.
pub const NETWORK_TOPOLOGY: &str = "network-topology-aware";

/// The scheduler waits indefinitely if one of these is missing.
pub(super) const CRDS: ModuleCrds = ModuleCrds {
    component: &PROGRAM,
    folder: "config/crd/volcano/bases",
    files: &[
        "scheduling.volcano.sh_podgroups.yaml",
        "scheduling.volcano.sh_queues.yaml",
        "topology.volcano.sh_hypernodes.yaml",
    ],
};

/// What it watches and writes in addition to the framework ([`super::rbac::FRAMEWORK`]), from Volcano 1.15.1.
///
/// Its informers are those of `addEventHandler` in `pkg/scheduler/cache/cache.go`. Its writes are those of
/// that file, of `framework/session.go` and of the plugins of [`configuration`]. This is the part of the
/// ClusterRole in its chart (`installer/helm/chart/volcano/templates/scheduler.yaml`) that the actions and
/// flags here use: no eviction, no leader election, no NumaTopology, no node shards, and no device sharing.
/// It writes no ResourceClaims, because the predicate of DynamicResourceAllocation is off by default.
pub(super) const RIGHTS: &[Right] = &[
    Right::read("", &["resourcequotas"]),
    Right::read("scheduling.k8s.io", &["priorityclasses"]),
    Right::read("scheduling.volcano.sh", &["podgroups", "queues"]),
    Right::read("topology.volcano.sh", &["hypernodes"]),
    // The condition of a pod that does not fit.
    Right::new("", &["pods/status"], &["update"]),
    Right::new("", &["events"], &["create", "patch"]),
    // The CRD has no status subresource.
    Right::new("scheduling.volcano.sh", &["podgroups"], &["update"]),
    // At its start it creates the queues `root` and `default` if they are missing, and exits if it may not.
    // (1.14 always creates them, and updates what `root` guarantees.)
    Right::new("scheduling.volcano.sh", &["queues"], &["create"]),
    Right::new("scheduling.volcano.sh", &["queues/status"], &["update"]),
];

/// Scheduler configuration without the plugins in `off`.
pub fn configuration(off: &[&str]) -> Value {
    let tiers = [
        vec![json!({"name": "priority"}), json!({"name": GANG})],
        vec![
            json!({"name": "predicates"}),
            json!({"name": "nodeorder"}),
            json!({"name": "binpack"}),
            json!({"name": NETWORK_TOPOLOGY, "arguments": {
                "weight": 10,
                "hypernode.binpack.resources": "nvidia.com/gpu",
                "hypernode.binpack.resources.nvidia.com/gpu": 5,
            }}),
        ],
    ];
    let tiers: Vec<_> = tiers
        .into_iter()
        .map(|mut plugins| {
            plugins.retain(|plugin| plugin["name"].as_str().is_none_or(|name| !off.contains(&name)));
            json!({"plugins": plugins})
        })
        .collect();
    json!({"actions": "enqueue, allocate, backfill", "tiers": tiers})
}

fn start(place: &ProcessHome, spec: &ClusterSpec) -> Result<Command, ProgramError> {
    let path = place.write("scheduler.conf", &configuration(&spec.off(SCHEDULER)))?;
    Ok(Command { args: args(place, &path), env: environment(place) })
}

/// Arguments of `vc-scheduler`. It exits if its configuration is invalid, instead of using a built-in one.
pub fn args(place: &ProcessHome, configuration: &Path) -> Vec<String> {
    let mut args = vec![format!("--kubeconfig={}", place.kubeconfig.display())];
    args.extend(flags(configuration, &format!("127.0.0.1:{}", place.health)));
    args
}

/// The flags on any kind of cluster. `health` is the address of the health endpoint.
pub fn flags(configuration: &Path, health: &str) -> Vec<String> {
    vec![
        format!("--scheduler-conf={}", configuration.display()),
        "--disable-default-scheduler-config=true".into(),
        "--leader-elect=false".into(),
        "--schedule-period=200ms".into(),
        "--kube-api-qps=500".into(),
        "--kube-api-burst=1000".into(),
        "--enable-healthz=true".into(),
        format!("--healthz-address={health}"),
        "--cache-dumper=false".into(),
        // This avoids one more CRD, NumaTopology.
        "--feature-gates=ResourceTopology=false".into(),
        "--v=2".into(),
    ]
}

/// The chart also contains the controllers and webhooks.
pub static PACKAGE: Package = Package {
    release: "volcano",
    namespace: "volcano-system",
    chart: "volcano",
    repository: Some("https://volcano-sh.github.io/helm-charts"),
    version: "1.15.1",
    values,
    deployed: Deployed::alone("volcano-system", &["volcano-scheduler"]),
};

/// The chart's values: only the scheduler, with those of [`flags`] that the chart supports. The chart cannot
/// make it reject an invalid configuration.
fn values() -> Value {
    json!({
        // The images may be loaded into the nodes. By default the chart always pulls them.
        "basic": {"image_pull_policy": "IfNotPresent"},
        "custom": {
            "admission_enable": false,
            "controller_enable": false,
            "leader_elect_enable": false,
            // A string; JSON is valid YAML.
            "scheduler_config_override": configuration(&[]).to_string(),
            "scheduler_feature_gates": "ResourceTopology=false",
            "scheduler_kube_api_qps": 500,
            "scheduler_kube_api_burst": 1000,
            "scheduler_log_level": 2,
            "scheduler_schedule_period": "200ms",
        },
    })
}

/// By default, all instances on a machine share the socket that changes the log level.
pub fn environment(place: &ProcessHome) -> Vec<(String, String)> {
    vec![("DEBUG_SOCKET_DIR".into(), place.folder.display().to_string())]
}

/// The queues that the scheduler would create itself, but Open.
fn objects() -> Vec<Value> {
    let queue = |name: &str, reclaimable: bool| {
        json!({
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {"reclaimable": reclaimable, "weight": 1},
            "status": {"state": "Open"},
        })
    };
    vec![queue("root", false), queue("default", true)]
}
