//! KAI-Scheduler: the scheduler, the binder, and the podgrouper if the user gave it.
//!
//! No pinned module contains KAI. Its programs and CRDs come from a folder ([`super::folder`]), a checkout
//! ([`super::source`]) or, in a kind cluster, its chart ([`PACKAGE`]). A local cluster without KAI has only
//! its API, from `crds.yaml`, which was written for this suite. There, kube-scheduler binds KAI's pods, so a
//! run checks only what the operator does for KAI.
//!
//! KAI's other programs affect no verdict: queue and PodGroup controllers write statuses that the scheduler
//! and the binder do not read, and admission is for fractions of GPUs.
//!
//! The only action is `allocate`, because evictions would delete pods of other cases. Cases about evictions
//! enable them on a control plane of their own ([`StartSettings`]).
//!
//! The rights are those that the source of 0.17.0 uses with these flags. The roles of its chart
//! (`deployments/kai-scheduler/templates/rbac`) show that no release since 0.12 reads other kinds.

use std::path::Path;

use conformance_contract::scheduler::Scheduler;
use conformance_programs::ProgramError;
use serde_json::{Value, json};

use super::deployed::{Deployed, Deployment};
use super::install::{
    Command, Crds, Given, Install, ProcessHome, ProgramSource, SchedulerProcess, StartSettings, recipe,
};
use super::package::Package;
use super::rbac::Right;

pub const SCHEDULER: Scheduler = Scheduler::named("kai-scheduler");

pub(crate) static INSTALL: Install = Install {
    scheduler: SCHEDULER,
    processes: &[
        SchedulerProcess {
            rights: &[VOLUMES_AND_DEVICES, SCHEDULER_RIGHTS],
            local_rights: EVICTION_RIGHTS,
            health: Some("/metrics"),
            deployment: Some(Deployment {
                configuration: Some(|| configuration(&[])),
                // The second port is reachable only inside the pod.
                args: |file, health| scheduler_flags(file, "0.0.0.0", health, health + 1),
                env: &[],
            }),
            ..SchedulerProcess::new("kai-scheduler", SCHEDULER_USER, start_scheduler)
        },
        SchedulerProcess {
            rights: &[VOLUMES_AND_DEVICES, BINDER_RIGHTS],
            health: Some("/metrics"),
            deployment: Some(Deployment {
                configuration: None,
                args: |_, health| binder_flags("0.0.0.0", health),
                env: &[],
            }),
            ..SchedulerProcess::new("kai-binder", BINDER, |home, _| {
                Ok(Command { args: binder_args(home), env: environment(home) })
            })
        },
        SchedulerProcess {
            rights: &[POD_GROUPER_RIGHTS],
            health: Some("/readyz"),
            optional: Some("KAI's podgrouper is not in the folder of --component kai-scheduler"),
            deployment: Some(Deployment {
                configuration: None,
                args: |_, health| pod_grouper_flags("0.0.0.0", health),
                env: &[],
            }),
            ..SchedulerProcess::new("kai-podgrouper", POD_GROUPER, |home, _| {
                Ok(Command { args: pod_grouper_args(home), env: environment(home) })
            })
        },
    ],
    programs: ProgramSource::Given(Given {
        flag: "--component kai-scheduler",
        prefix: "kai-",
        missing: "KAI binaries not found (--component kai-scheduler=DIR or src:DIR): a stand-in scheduler binds the pods one by one, and only \
                  clauses about API objects are tested",
        missing_in_kind: "KAI binaries not found (--component kai-scheduler=DIR, src:DIR or chart:REF)",
    }),
    recipe: recipe!("kai-scheduler"),
    user: BINDER,
    crds: Crds::Written(include_str!("crds.yaml")),
    webhooks: None,
    objects,
    deployed: Deployed::alone(NAMESPACE, &["kai-scheduler", "kai-binder", "kai-podgrouper"]),
    package: Some(&PACKAGE),
    configured_by: Some(CONFIGURED_BY),
    cycle_millis: Some(CYCLE_MILLIS),
};

/// The period of a scheduler's cycles. KAI's default is one second.
const CYCLE_MILLIS: u32 = 200;

const CONFIGURED_BY: &[&str] = &["--scheduler-conf="];

const SCHEDULER_USER: &str = "system:kai-scheduler";
/// The user of the binder, which posts `pods/binding`.
const BINDER: &str = "system:kai-binder";
const POD_GROUPER: &str = "system:kai-podgrouper";
const NAMESPACE: &str = "kai-scheduler";

/// Both embed kube-scheduler's plugins `volumebinding` and `dynamicresources`, with their informers.
const VOLUMES_AND_DEVICES: &[Right] = &[
    Right::read("", &["nodes", "persistentvolumeclaims", "persistentvolumes", "pods"]),
    Right::read("resource.k8s.io", &["deviceclasses", "resourceclaims", "resourceslices"]),
    Right::read("storage.k8s.io", &["csidrivers", "csinodes", "csistoragecapacities", "storageclasses"]),
];

/// From `pkg/scheduler/cache`: the informers of `cluster_info/data_lister` and of the plugins, the writes of
/// `cache.go` and `status_updater`. It watches `noderesourcetopologies` only if their CRD exists.
const SCHEDULER_RIGHTS: &[Right] = &[
    Right::read("", &["configmaps", "namespaces"]),
    Right::read("scheduling.k8s.io", &["priorityclasses"]),
    Right::read("scheduling.run.ai", &["bindrequests", "podgroups", "queues"]),
    Right::read("kai.scheduler", &["topologies"]),
    // Deletes a BindRequest that has failed, or whose node no longer exists.
    Right::new("scheduling.run.ai", &["bindrequests"], &["create", "delete"]),
    Right::new("scheduling.run.ai", &["podgroups"], &["patch"]),
    Right::new("scheduling.run.ai", &["podgroups/status"], &["update"]),
    // The node pool label of a pod, and the condition of a pod that does not fit.
    Right::new("", &["pods", "pods/status"], &["patch"]),
    Right::new("", &["events"], &["create", "patch", "update"]),
];

/// Only local cases enable evictions.
const EVICTION_RIGHTS: &[Right] = &[Right::new("", &["pods"], &["delete"])];

/// From `pkg/binder`, without the rights that only fractions of GPUs need.
const BINDER_RIGHTS: &[Right] = &[
    // The pod controller has an informer for ConfigMaps, and starts no worker before it has synced.
    Right::read("", &["configmaps"]),
    Right::read("scheduling.run.ai", &["bindrequests"]),
    Right::new("scheduling.run.ai", &["bindrequests"], &["delete"]),
    Right::new("scheduling.run.ai", &["bindrequests/status"], &["patch"]),
    Right::new("", &["pods", "pods/status"], &["patch"]),
    Right::new("", &["pods/binding"], &["create"]),
    Right::new("", &["events"], &["create", "patch", "update"]),
    Right::new("", &["persistentvolumeclaims", "persistentvolumes"], &["update"]),
    // Since Kubernetes 1.36, the API server requires `binding` when a claim's allocation changes.
    Right::new("resource.k8s.io", &["resourceclaims/binding", "resourceclaims/status"], &["patch", "update"]),
    // For the claims that the binder creates for extended resources. Pods reference them in their status.
    Right::new("resource.k8s.io", &["resourceclaims"], &["create", "delete", "update"]),
    Right::new("", &["pods/status"], &["update"]),
];

/// From `pkg/podgrouper`. The podgrouper skips an owner that it has no right to read, and treats the owner
/// below as the workload. So it has the right to read every kind that owns a pod of this suite.
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

const PREEMPT: &str = "preempt";
const RECLAIM: &str = "reclaim";
const EVICT_STALE_GANGS: &str = "stalegangeviction";

/// The allocation plugins of KAI's default shard. Evictions need more of them: the last two propose victims.
pub fn configuration(evictions: &[&str]) -> Value {
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
    if evictions.contains(&PREEMPT) || evictions.contains(&RECLAIM) {
        plugins.extend(["minruntime", "sg-nodelocalgreedy", "sg-multinodegang"].map(plugin));
    }
    let mut actions = vec!["allocate"];
    actions.extend(evictions);
    json!({"actions": actions.join(", "), "tiers": [{"plugins": plugins}]})
}

fn start_scheduler(home: &ProcessHome, settings: &StartSettings<'_>) -> Result<Command, ProgramError> {
    let grace = settings.stale_gangs_for;
    let mut evictions = Vec::new();
    evictions.extend(settings.reclaims.then_some(RECLAIM));
    evictions.extend(settings.preempts.then_some(PREEMPT));
    evictions.extend(grace.map(|_| EVICT_STALE_GANGS));
    let path = home.configure("scheduler.yaml", &configuration(&evictions), settings)?;
    let mut args = settings.without_suites(scheduler_args(home, &path), CONFIGURED_BY);
    args.extend(grace.map(|grace| format!("--default-staleness-grace-period={}ms", grace.as_millis())));
    // By default, a pod is deleted without a condition about the cause, which looks like a user's deletion.
    let names_cause = settings.preempts || settings.reclaims;
    args.extend(names_cause.then(|| "--update-pod-eviction-condition=true".to_owned()));
    Ok(Command { args, env: environment(home) })
}

pub fn scheduler_args(home: &ProcessHome, configuration: &Path) -> Vec<String> {
    scheduler_flags(configuration, "127.0.0.1", home.health, home.other)
}

/// Metrics are on `address` and `health`, the state is on the loopback port `other`.
fn scheduler_flags(configuration: &Path, address: &str, health: u16, other: u16) -> Vec<String> {
    vec![
        format!("--scheduler-conf={}", configuration.display()),
        format!("--scheduler-name={}", SCHEDULER.name()),
        format!("--namespace={NAMESPACE}"),
        "--nodepool-label-key=kai.scheduler/node-pool".into(),
        "--partition-label-value=".into(),
        "--queue-label-key=kai.scheduler/queue".into(),
        "--resource-reservation-app-label=kai-resource-reservation".into(),
        format!("--schedule-period={CYCLE_MILLIS}ms"),
        "--qps=500".into(),
        "--burst=1000".into(),
        format!("--listen-address={address}:{health}"),
        format!("--plugin-server-port={other}"),
        "--log-json".into(),
        "--v=2".into(),
    ]
}

pub fn binder_args(home: &ProcessHome) -> Vec<String> {
    binder_flags("127.0.0.1", home.health)
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

pub fn pod_grouper_args(home: &ProcessHome) -> Vec<String> {
    pod_grouper_flags("127.0.0.1", home.health)
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

/// The environment of KAI's programs. Not all of them have a kubeconfig flag.
pub fn environment(home: &ProcessHome) -> Vec<(String, String)> {
    vec![("KUBECONFIG".into(), home.kubeconfig.display().to_string())]
}

/// The chart creates only the operator's Deployment. The operator creates the others.
pub static PACKAGE: Package = Package {
    release: "kai-scheduler",
    namespace: NAMESPACE,
    chart: "oci://ghcr.io/kai-scheduler/kai-scheduler/kai-scheduler",
    repository: None,
    version: "v0.17.0",
    values,
    deployed: Deployed::alone(NAMESPACE, &["kai-operator", "kai-scheduler-default", "binder", "pod-grouper"]),
};

/// The values of the chart: the same programs as in a folder, only `allocate`, and the queues of [`objects`].
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
            // Flags of the shard's scheduler. All values must be strings.
            "args": {"schedule-period": format!("{CYCLE_MILLIS}ms"), "qps": "500", "burst": "1000", "v": "2"},
        },
    })
}

pub const PARENT_QUEUE: &str = "default-parent-queue";

fn objects() -> Vec<Value> {
    vec![queue(PARENT_QUEUE, None), queue("default-queue", Some(PARENT_QUEUE))]
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::tests::home;

    #[test]
    fn configuration_argv_and_objects() {
        let home = home("kai-scheduler");
        insta::assert_yaml_snapshot!((
            scheduler_args(&home, Path::new("DIR/kai-scheduler/scheduler.yaml")),
            binder_args(&home),
            pod_grouper_args(&home),
            environment(&home),
            configuration(&[]),
            (INSTALL.objects)(),
        ));
    }

    #[test]
    fn evictions_are_further_actions() {
        let both = configuration(&[PREEMPT, EVICT_STALE_GANGS]);
        assert_eq!(both["actions"], "allocate, preempt, stalegangeviction");
        assert!(both.to_string().contains("sg-multinodegang"), "{both}");
        let reclaiming = configuration(&[RECLAIM]);
        assert_eq!(reclaiming["actions"], "allocate, reclaim");
        assert_eq!(reclaiming["tiers"], both["tiers"]);
        let stale = configuration(&[EVICT_STALE_GANGS]);
        assert_eq!(stale["actions"], "allocate, stalegangeviction");
        assert_eq!(stale["tiers"], configuration(&[])["tiers"]);
    }
}
