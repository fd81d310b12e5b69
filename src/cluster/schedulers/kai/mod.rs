//! KAI-Scheduler: scheduler and binder, and its podgrouper if present.
//!
//! It is not a pinned module: for local processes its programs and CRDs come from a folder that the user names
//! ([`super::folder`]) or from a checkout ([`super::source`]), for containers from its chart ([`PACKAGE`]). A local
//! cluster without either has only its API (`crds.yaml`, written for this suite: the fields that the controller writes),
//! and kube-scheduler binds its pods one by one, so that what the controller does for KAI can be judged, but not what KAI
//! does with it.
//!
//! Its only action is `allocate`. Consolidation, reclaim, preemption and the eviction of stale gangs would delete
//! pods of gangs that the current case is not about. A case that is about the last asks for it, on a control plane of
//! its own ([`ClusterSpec::stale_gangs_for`]).
//!
//! What its programs read is not known here: they are of whatever version the user has, and no source is pinned. So
//! their users may read everything, unlike those of the other schedulers, and write what an allocation needs.

use std::path::Path;

use serde_json::{Value, json};

use conformance_contract::scheduler::Scheduler;

use super::helm::Package;
use super::in_cluster::Deployed;
use super::install::{Command, Crds, Given, Install, ProcessHome, ProgramSource, SchedulerProcess, recipe};
use super::rbac::Right;
use crate::ClusterError;
use crate::cluster_spec::ClusterSpec;

/// Its `schedulerName`.
pub const SCHEDULER: Scheduler = Scheduler::named("kai-scheduler");

/// What it needs.
pub(crate) static INSTALL: Install = Install {
    scheduler: SCHEDULER,
    processes: &[
        SchedulerProcess {
            name: "kai-scheduler",
            user: SCHEDULER_USER,
            health: Some("/metrics"),
            optional: None,
            start: start_scheduler,
        },
        SchedulerProcess {
            name: "kai-binder",
            user: BINDER,
            health: Some("/metrics"),
            optional: None,
            start: |place, _| Ok(Command { args: binder_args(place), env: environment(place) }),
        },
        SchedulerProcess {
            name: "kai-podgrouper",
            user: POD_GROUPER,
            health: Some("/readyz"),
            optional: Some("KAI's podgrouper is not in the folder of --kai-dir"),
            start: |place, _| Ok(Command { args: pod_grouper_args(place), env: environment(place) }),
        },
    ],
    programs: ProgramSource::Given(Given {
        flag: "--kai-dir",
        prefix: "kai-",
        missing: "KAI binaries not found (--kai-dir or --kai-source): a stand-in binds the pods, one by one, and only \
                  what the API server shows is judged",
        missing_in_kind: "KAI comes into a kind cluster by its chart only: run it with --install helm",
    }),
    recipe: recipe!("kai-scheduler"),
    user: BINDER,
    users: &USERS,
    rights: &[RIGHTS],
    crds: Crds::Written(include_str!("crds.yaml")),
    objects,
    // Nowhere, if no chart has installed it.
    deployed: Deployed::alone("kai-scheduler", &[]),
    deployment: None,
    package: Some(&PACKAGE),
};

/// The scheduler's user.
const SCHEDULER_USER: &str = "system:kai-scheduler";
/// The binder's user, who posts `pods/binding`.
const BINDER: &str = "system:kai-binder";
/// The podgrouper's user.
const POD_GROUPER: &str = "system:kai-podgrouper";
/// Its users.
const USERS: [&str; 3] = [SCHEDULER_USER, BINDER, POD_GROUPER];
/// To have objects of one's own.
const WRITE: &[&str] = &["create", "update", "patch", "delete"];
/// What they may do. It has not been compared with a source.
pub(super) const RIGHTS: &[Right] = &[
    Right::read("*", &["*"]),
    Right::new("scheduling.run.ai", &["*"], WRITE),
    Right::new("kai.scheduler", &["*"], WRITE),
    Right::new("", &["pods", "pods/status", "pods/binding", "pods/finalizers", "configmaps"], WRITE),
    Right::new("", &["nodes", "persistentvolumes", "persistentvolumeclaims"], &["update", "patch"]),
    Right::new("", &["events"], WRITE),
    Right::new("events.k8s.io", &["events"], WRITE),
    Right::new("coordination.k8s.io", &["leases"], WRITE),
    Right::new(
        "resource.k8s.io",
        &["resourceclaims", "resourceclaims/status", "resourceclaims/binding"],
        WRITE,
    ),
];

/// Scheduler configuration: what KAI's operator writes for its default shard, of the plugins that allocate.
pub fn configuration(evicts_stale_gangs: bool) -> Value {
    let plugin = |name: &str| json!({"name": name});
    let mut plugins: Vec<_> = [
        "predicates",
        "proportion",
        "priority",
        "nodeavailability",
        "resourcetype",
        "podaffinity",
        "elastic",
        "subgrouporder",
        "taskorder",
        "nominatednode",
        "dynamicresources",
        "topology",
        "gpupack",
    ]
    .into_iter()
    .map(plugin)
    .collect();
    plugins.push(json!({"name": "nodeplacement", "arguments": {"cpu": "binpack", "gpu": "binpack"}}));
    plugins.push(plugin("gpusharingorder"));
    let actions = if evicts_stale_gangs { "allocate, stalegangeviction" } else { "allocate" };
    json!({"actions": actions, "tiers": [{"plugins": plugins}]})
}

fn start_scheduler(place: &ProcessHome, spec: &ClusterSpec) -> Result<Command, ClusterError> {
    let grace = spec.stale_gangs_for;
    let path = place.write("scheduler.yaml", &configuration(grace.is_some()))?;
    let mut args = scheduler_args(place, &path);
    args.extend(grace.map(|grace| format!("--default-staleness-grace-period={}ms", grace.as_millis())));
    Ok(Command { args, env: environment(place) })
}

/// Arguments of the scheduler.
pub fn scheduler_args(place: &ProcessHome, configuration: &Path) -> Vec<String> {
    vec![
        format!("--scheduler-conf={}", configuration.display()),
        format!("--scheduler-name={}", SCHEDULER.name()),
        "--namespace=kai-scheduler".into(),
        "--nodepool-label-key=kai.scheduler/node-pool".into(),
        "--partition-label-value=".into(),
        "--queue-label-key=kai.scheduler/queue".into(),
        "--resource-reservation-app-label=kai-resource-reservation".into(),
        "--schedule-period=200ms".into(),
        "--qps=500".into(),
        "--burst=1000".into(),
        format!("--listen-address=127.0.0.1:{}", place.health),
        format!("--plugin-server-port={}", place.other),
        "--log-json".into(),
        "--v=2".into(),
    ]
}

/// Arguments of the binder, which answers only about its metrics.
pub fn binder_args(place: &ProcessHome) -> Vec<String> {
    vec![
        format!("--scheduler-name={}", SCHEDULER.name()),
        format!("--metrics-bind-address=127.0.0.1:{}", place.health),
        "--health-probe-bind-address=0".into(),
        "--qps=500".into(),
        "--burst=1000".into(),
        "--max-concurrent-reconciles=50".into(),
    ]
}

/// Arguments of the podgrouper.
pub fn pod_grouper_args(place: &ProcessHome) -> Vec<String> {
    vec![
        format!("--scheduler-name={}", SCHEDULER.name()),
        "--queue-label-key=kai.scheduler/queue".into(),
        "--nodepool-label-key=kai.scheduler/node-pool".into(),
        "--metrics-bind-address=0".into(),
        format!("--health-probe-bind-address=127.0.0.1:{}", place.health),
    ]
}

/// Their environment: not all of them take the path of a kubeconfig as an argument.
pub fn environment(place: &ProcessHome) -> Vec<(String, String)> {
    vec![("KUBECONFIG".into(), place.kubeconfig.display().to_string())]
}

/// Its chart. Of its Deployments the chart makes the operator's, which makes the others: a scheduler for the shard
/// `default`, the binder and the podgrouper.
pub static PACKAGE: Package = Package {
    release: "kai-scheduler",
    namespace: "kai-scheduler",
    chart: "oci://ghcr.io/kai-scheduler/kai-scheduler/kai-scheduler",
    repository: None,
    version: "v0.17.0",
    values,
    deployed: Deployed::alone(
        "kai-scheduler",
        &["kai-operator", "kai-scheduler-default", "binder", "pod-grouper"],
    ),
};

/// Its chart's values: the programs that a folder has, the action `allocate` alone, and no queues, which are
/// [`objects`]. Plugins are the chart's; the binder's rates are not to be set.
fn values() -> Value {
    let off = || json!({"enabled": false});
    json!({
        "podgroupcontroller": off(),
        "queuecontroller": off(),
        "admission": off(),
        "topologyMigration": off(),
        "defaultQueue": {"createDefaultQueue": false},
        "scheduler": {
            "actions": {
                "consolidation": off(),
                "reclaim": off(),
                "preempt": off(),
                "stalegangeviction": off(),
            },
            // Flags of the shard's scheduler, all of them texts.
            "args": {"schedule-period": "200ms", "qps": "500", "burst": "1000", "v": "2"},
        },
    })
}

/// The queue that every other is below.
pub const PARENT_QUEUE: &str = "default-parent-queue";

/// A queue for PodGroups, below one that has no limits either.
fn objects() -> Vec<Value> {
    vec![queue(PARENT_QUEUE, None), queue("default-queue", Some(PARENT_QUEUE))]
}

/// A queue without limits.
pub fn queue(name: &str, parent: Option<&str>) -> Value {
    let unlimited = json!({"quota": -1, "limit": -1, "overQuotaWeight": 1});
    let mut spec = json!({"resources": {"cpu": unlimited, "gpu": unlimited, "memory": unlimited}});
    if let Some(parent) = parent {
        spec["parentQueue"] = json!(parent);
    }
    json!({
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    })
}
