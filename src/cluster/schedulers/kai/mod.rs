//! KAI-Scheduler: scheduler and binder, and its podgrouper if present.
//!
//! It is not a pinned module: its programs and CRDs come from a folder that the user names ([`super::folder`]) or from a
//! checkout ([`super::source`]); in containers also from its chart ([`PACKAGE`]). A local cluster without either has only its
//! API (`crds.yaml`, written for this suite: the fields that the controller writes), and kube-scheduler binds its pods one
//! by one, so that what the controller does for KAI can be judged, but not what KAI does with it.
//!
//! Of its other programs none changes a verdict: the controllers of queues and PodGroups write statuses that scheduler and
//! binder do not read, admission serves fractions of GPUs, and its operator makes Deployments, as the suite does.
//!
//! Its only action is `allocate`. Consolidation, reclaim, preemption and the eviction of stale gangs would delete
//! pods of gangs that the current case is not about. A case that is about the last asks for it, on a control plane of
//! its own ([`ClusterSpec::stale_gangs_for`]).
//!
//! Their rights are those that the source of 0.17.0 uses, with the flags and the configuration given here. The roles of its
//! chart (`deployments/kai-scheduler/templates/rbac`) show that no release from 0.12 on reads a kind that is not among them.

use std::path::Path;

use serde_json::{Value, json};

use conformance_contract::scheduler::Scheduler;

use super::helm::Package;
use super::in_cluster::{Deployed, Deployment};
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
            rights: &[VOLUMES_AND_DEVICES, SCHEDULER_RIGHTS],
            local_rights: EVICTION_RIGHTS,
            health: Some("/metrics"),
            optional: None,
            start: start_scheduler,
            deployment: Some(Deployment {
                configuration: Some(|| configuration(false)),
                // The second port is open to the pod alone.
                args: |file, health| scheduler_flags(file, "0.0.0.0", health, health + 1),
                env: &[],
            }),
        },
        SchedulerProcess {
            name: "kai-binder",
            user: BINDER,
            rights: &[VOLUMES_AND_DEVICES, BINDER_RIGHTS],
            local_rights: &[],
            health: Some("/metrics"),
            optional: None,
            start: |place, _| Ok(Command { args: binder_args(place), env: environment(place) }),
            deployment: Some(Deployment {
                configuration: None,
                args: |_, health| binder_flags("0.0.0.0", health),
                env: &[],
            }),
        },
        SchedulerProcess {
            name: "kai-podgrouper",
            user: POD_GROUPER,
            rights: &[POD_GROUPER_RIGHTS],
            local_rights: &[],
            health: Some("/readyz"),
            optional: Some("KAI's podgrouper is not in the folder of --kai-dir"),
            start: |place, _| Ok(Command { args: pod_grouper_args(place), env: environment(place) }),
            deployment: Some(Deployment {
                configuration: None,
                args: |_, health| pod_grouper_flags("0.0.0.0", health),
                env: &[],
            }),
        },
    ],
    programs: ProgramSource::Given(Given {
        flag: "--kai-dir",
        prefix: "kai-",
        missing: "KAI binaries not found (--kai-dir or --kai-source): a stand-in binds the pods, one by one, and only \
                  what the API server shows is judged",
        missing_in_kind: "KAI binaries not found (--kai-dir or --kai-source), and no chart installs KAI (--install helm)",
    }),
    recipe: recipe!("kai-scheduler"),
    user: BINDER,
    crds: Crds::Written(include_str!("crds.yaml")),
    objects,
    deployed: Deployed::alone(NAMESPACE, &["kai-scheduler", "kai-binder", "kai-podgrouper"]),
    package: Some(&PACKAGE),
};

/// The scheduler's user.
const SCHEDULER_USER: &str = "system:kai-scheduler";
/// The binder's user, who posts `pods/binding`.
const BINDER: &str = "system:kai-binder";
/// The podgrouper's user.
const POD_GROUPER: &str = "system:kai-podgrouper";
/// Where its pods are.
const NAMESPACE: &str = "kai-scheduler";

/// What scheduler and binder read in common: the informers of what `volumebinding` and `dynamicresources` of
/// kube-scheduler ask for, of which both have their own.
const VOLUMES_AND_DEVICES: &[Right] = &[
    Right::read("", &["nodes", "persistentvolumeclaims", "persistentvolumes", "pods"]),
    Right::read("resource.k8s.io", &["deviceclasses", "resourceclaims", "resourceslices"]),
    Right::read("storage.k8s.io", &["csidrivers", "csinodes", "csistoragecapacities", "storageclasses"]),
];

/// The scheduler's, from `pkg/scheduler/cache`: its informers are those of `cluster_info/data_lister` and of the plugins, its
/// writes those of `cache.go` and `status_updater`.
///
/// It needs no `leases` (no leader election), and no `noderesourcetopologies`, which it watches only where their CRD is.
const SCHEDULER_RIGHTS: &[Right] = &[
    Right::read("", &["configmaps", "namespaces"]),
    Right::read("scheduling.k8s.io", &["priorityclasses"]),
    Right::read("scheduling.run.ai", &["bindrequests", "podgroups", "queues"]),
    Right::read("kai.scheduler", &["topologies"]),
    // It deletes a BindRequest that has failed, or whose node is gone.
    Right::new("scheduling.run.ai", &["bindrequests"], &["create", "delete"]),
    // Annotations of a gang, and its conditions.
    Right::new("scheduling.run.ai", &["podgroups"], &["patch"]),
    Right::new("scheduling.run.ai", &["podgroups/status"], &["update"]),
    // The label of a node pool, and the condition of a pod that does not fit.
    Right::new("", &["pods", "pods/status"], &["patch"]),
    Right::new("", &["events"], &["create", "patch", "update"]),
];

/// To evict stale gangs, which is an action of local cases alone ([`ClusterSpec::stale_gangs_for`]).
const EVICTION_RIGHTS: &[Right] = &[Right::new("", &["pods"], &["delete"])];

/// The binder's, from `pkg/binder`. What only fractions of GPUs need is left out: pods that reserve a GPU, and to write
/// ConfigMaps.
const BINDER_RIGHTS: &[Right] = &[
    // Its controller of pods has an informer on ConfigMaps, and starts no worker before that has synced.
    Right::read("", &["configmaps"]),
    Right::read("scheduling.run.ai", &["bindrequests"]),
    Right::new("scheduling.run.ai", &["bindrequests"], &["delete"]),
    Right::new("scheduling.run.ai", &["bindrequests/status"], &["patch"]),
    // What it was allocated, its node, and the condition PodBound.
    Right::new("", &["pods", "pods/status"], &["patch"]),
    Right::new("", &["pods/binding"], &["create"]),
    Right::new("", &["events"], &["create", "patch", "update"]),
    Right::new("", &["persistentvolumeclaims", "persistentvolumes"], &["update"]),
    // From Kubernetes 1.36 on the API server asks for `binding` when a claim's allocation changes.
    Right::new("resource.k8s.io", &["resourceclaims/binding", "resourceclaims/status"], &["patch", "update"]),
    // Claims that it makes for extended resources, which pods then name in their status.
    Right::new("resource.k8s.io", &["resourceclaims"], &["create", "delete", "update"]),
    Right::new("", &["pods/status"], &["update"]),
];

/// The podgrouper's, from `pkg/podgrouper`. An owner that it may not read is to it no owner: it then takes the one below for
/// the workload. So it reads every kind that owns a pod of this suite, and no other.
const POD_GROUPER_RIGHTS: &[Right] = &[
    Right::read("", &["pods"]),
    Right::read("scheduling.k8s.io", &["priorityclasses"]),
    Right::read("scheduling.run.ai", &["podgroups"]),
    Right::read("grove.io", &["podcliques", "podcliquescalinggroups", "podcliquesets"]),
    Right::read("scheduler.grove.io", &["podgangs"]),
    Right::read("batch", &["jobs"]),
    Right::read("jobset.x-k8s.io", &["jobsets"]),
    Right::read("trainer.kubeflow.org", &["trainjobs"]),
    Right::new("scheduling.run.ai", &["podgroups"], &["create", "update"]),
    Right::new("", &["pods"], &["patch"]),
    Right::new("", &["events"], &["create", "patch", "update"]),
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
    scheduler_flags(configuration, "127.0.0.1", place.health, place.other)
}

/// The same wherever it runs; on `address` and `health` it serves its metrics, on the loopback's port `other` its state.
fn scheduler_flags(configuration: &Path, address: &str, health: u16, other: u16) -> Vec<String> {
    vec![
        format!("--scheduler-conf={}", configuration.display()),
        format!("--scheduler-name={}", SCHEDULER.name()),
        format!("--namespace={NAMESPACE}"),
        "--nodepool-label-key=kai.scheduler/node-pool".into(),
        "--partition-label-value=".into(),
        "--queue-label-key=kai.scheduler/queue".into(),
        "--resource-reservation-app-label=kai-resource-reservation".into(),
        "--schedule-period=200ms".into(),
        "--qps=500".into(),
        "--burst=1000".into(),
        format!("--listen-address={address}:{health}"),
        format!("--plugin-server-port={other}"),
        "--log-json".into(),
        "--v=2".into(),
    ]
}

/// Arguments of the binder, which answers only about its metrics.
pub fn binder_args(place: &ProcessHome) -> Vec<String> {
    binder_flags("127.0.0.1", place.health)
}

fn binder_flags(address: &str, health: u16) -> Vec<String> {
    vec![
        format!("--scheduler-name={}", SCHEDULER.name()),
        format!("--metrics-bind-address={address}:{health}"),
        "--health-probe-bind-address=0".into(),
        "--qps=500".into(),
        "--burst=1000".into(),
        "--max-concurrent-reconciles=50".into(),
    ]
}

/// Arguments of the podgrouper.
pub fn pod_grouper_args(place: &ProcessHome) -> Vec<String> {
    pod_grouper_flags("127.0.0.1", place.health)
}

fn pod_grouper_flags(address: &str, health: u16) -> Vec<String> {
    vec![
        format!("--scheduler-name={}", SCHEDULER.name()),
        "--queue-label-key=kai.scheduler/queue".into(),
        "--nodepool-label-key=kai.scheduler/node-pool".into(),
        "--metrics-bind-address=0".into(),
        format!("--health-probe-bind-address={address}:{health}"),
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
    namespace: NAMESPACE,
    chart: "oci://ghcr.io/kai-scheduler/kai-scheduler/kai-scheduler",
    repository: None,
    version: "v0.17.0",
    values,
    deployed: Deployed::alone(NAMESPACE, &["kai-operator", "kai-scheduler-default", "binder", "pod-grouper"]),
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
