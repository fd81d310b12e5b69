//! Koordinator's koord-scheduler: gangs by its Coscheduling plugin, topology by the ClusterNetworkTopology
//! `default`. It maintains the status of PodGroups itself, so it needs no manager. With
//! SchedulerPopFromBackoffQ, on by default, an idle scheduler retries a gang that does not fit continuously.

use std::path::Path;

use conformance_contract::scheduler::Scheduler;
use conformance_programs::components::{Component, Module, Purpose};
use conformance_programs::{ProgramError, module};
use serde_json::{Value, json};

use super::deployed::{Deployed, Deployment};
use super::install::{
    Command, Crds, Install, ModuleCrds, ProcessHome, ProgramSource, SchedulerProcess, StartSettings, recipe,
};
use super::package::Package;
use super::rbac::{self, Right};

pub const SCHEDULER: Scheduler = Scheduler::named("koord-scheduler");

pub(crate) static INSTALL: Install = Install {
    scheduler: SCHEDULER,
    processes: &[SchedulerProcess {
        rights: &[rbac::FRAMEWORK, RIGHTS],
        health: Some("/healthz"),
        deployment: Some(Deployment {
            // An empty kubeconfig selects the pod's service account.
            configuration: Some(|| configuration(Path::new(""), &[])),
            args: |file, health| flags(file, "0.0.0.0", health),
            env: &[],
        }),
        ..SchedulerProcess::new(PROGRAM.name, USER, start)
    }],
    programs: ProgramSource::Built(std::slice::from_ref(&PROGRAM)),
    recipe: recipe!("koord-scheduler"),
    user: USER,
    crds: Crds::Module(CRDS),
    webhooks: None,
    objects,
    deployed: Deployed::alone("koordinator-system", &[SCHEDULER.name()]),
    package: Some(&PACKAGE),
    // Its gang plugin is off unless a configuration enables it.
    configured_by: None,
    cycle_millis: None,
};

static MODULE: Module = module!(
    "koordinator",
    // The version of the embedded kube-scheduler determines the feature gates, without build metadata.
    "-s -w -X k8s.io/component-base/version.gitVersion=v1.35.2+koordinator.v1.8.0 \
     -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=35"
);

static PROGRAM: Component = Component {
    name: "koord-scheduler",
    version: "v1.8.0",
    package: "github.com/koordinator-sh/koordinator/cmd/koord-scheduler",
    module: &MODULE,
    purpose: Purpose::Scheduler(SCHEDULER),
};

pub const USER: &str = "system:koord-scheduler";
pub const COSCHEDULING: &str = "Coscheduling";
/// Argument of that plugin that makes gangs honour topology.
pub const NETWORK_TOPOLOGY: &str = "awareNetworkTopology";

/// Flag without which unschedulable pods are flushed at the age of kube-scheduler's default, five minutes.
pub const FLUSH: &str = "--pod-max-in-unschedulable-pods-duration";

pub(super) const CRDS: ModuleCrds = ModuleCrds {
    component: &PROGRAM,
    folder: "config/crd/bases",
    files: &[
        "scheduling.koordinator.sh_reservations.yaml",
        "scheduling.koordinator.sh_devices.yaml",
        "scheduling.sigs.k8s.io_podgroups.yaml",
        "scheduling.koordinator.sh_clusternetworktopologies.yaml",
    ],
};

/// In addition to the framework ([`super::rbac::FRAMEWORK`]), from Koordinator 1.8.0. Informers start for
/// every profile (`pkg/util/transformer`: Devices; `frameworkext/indexer`: Reservations;
/// `frameworkext/networktopology`: ClusterNetworkTopologies) and for its plugins, here Coscheduling and
/// DefaultPreBind. The role of its own manifests (`config/rbac/scheduler_role.yaml`) has wildcards.
pub(super) const RIGHTS: &[Right] = &[
    Right::read("scheduling.koordinator.sh", &["clusternetworktopologies", "devices", "reservations"]),
    Right::read("scheduling.sigs.k8s.io", &["podgroups"]),
    // DefaultPreBind writes the annotations of the other plugins to pods and Reservations.
    Right::new("", &["pods"], &["patch"]),
    Right::new("scheduling.koordinator.sh", &["reservations"], &["patch"]),
    Right::new("", &["pods/status"], &["patch"]),
    Right::new("scheduling.koordinator.sh", &["reservations/status"], &["update"]),
    Right::new("events.k8s.io", &["events"], &["create", "patch"]),
    // For the default plugin DynamicResources. Since 1.36, a change of a claim's allocation needs `binding`.
    Right::new("resource.k8s.io", &["resourceclaims"], &["update"]),
    Right::new("resource.k8s.io", &["resourceclaims/binding", "resourceclaims/status"], &["patch", "update"]),
    // The network topology manager counts the nodes of each domain.
    Right::new("scheduling.koordinator.sh", &["clusternetworktopologies/status"], &["update"]),
    // For the PodGroup controller that Coscheduling starts. The CRD has no status subresource.
    Right::new("scheduling.sigs.k8s.io", &["podgroups"], &["patch"]),
];

/// Preemption of single pods is off, because it would break gangs, and so are the plugins in `off`.
pub fn configuration(kubeconfig: &Path, off: &[&str]) -> Value {
    let gangs = !off.contains(&COSCHEDULING);
    let if_gangs = |plugin: Value| if gangs { vec![plugin] } else { Vec::new() };
    let coscheduling = || if_gangs(json!({"name": COSCHEDULING}));
    let enabled = || json!({"enabled": coscheduling()});
    let mut pre_bind = coscheduling();
    pre_bind.push(json!({"name": "DefaultPreBind"}));
    let arguments = json!([{"name": COSCHEDULING, "args": {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "CoschedulingArgs",
        "defaultTimeout": "60s",
        (NETWORK_TOPOLOGY): !off.contains(&NETWORK_TOPOLOGY),
    }}]);
    json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": false},
        "clientConnection": {"kubeconfig": kubeconfig, "qps": 500, "burst": 1000},
        "profiles": [{
            "schedulerName": SCHEDULER.name(),
            "plugins": {
                "preEnqueue": enabled(),
                "preFilter": enabled(),
                "postFilter": {"disabled": [{"name": "*"}], "enabled": coscheduling()},
                "preScore": enabled(),
                "score": {"enabled": if_gangs(json!({"name": COSCHEDULING, "weight": 1}))},
                "reserve": enabled(),
                "permit": enabled(),
                "preBind": {"enabled": pre_bind},
                "postBind": enabled(),
            },
            "pluginConfig": if gangs { arguments } else { json!([]) },
        }],
    })
}

fn start(home: &ProcessHome, settings: &StartSettings<'_>) -> Result<Command, ProgramError> {
    let path =
        home.configure("scheduler.yaml", &configuration(&home.kubeconfig, &settings.plugins_off), settings)?;
    let mut args = args(home, &path);
    args.retain(|arg| !settings.plugins_off.contains(&FLUSH) || !arg.starts_with(FLUSH));
    Ok(Command { args, env: Vec::new() })
}

pub fn args(home: &ProcessHome, configuration: &Path) -> Vec<String> {
    flags(configuration, "127.0.0.1", home.health)
}

/// No event retries a gang whose representative pod failed because of another pod. The flush does: every
/// 30 s, it returns pods of this age to the queue. It skips pods that PreEnqueue of Coscheduling rejected.
pub fn flags(configuration: &Path, address: &str, port: u16) -> Vec<String> {
    vec![
        format!("--config={}", configuration.display()),
        format!("--address={address}"),
        format!("--port={port}"),
        "--secure-port=0".into(),
        "--enable-network-topology-manager=true".into(),
        format!("{FLUSH}=5s"),
        "-v=2".into(),
    ]
}

/// The chart creates the namespace of its pods, and fails if the namespace exists. Helm creates the namespace
/// of the release before that. So the release has another namespace, as in Koordinator's instructions.
pub static PACKAGE: Package = Package {
    release: "koordinator",
    namespace: "default",
    chart: "koordinator",
    repository: Some("https://koordinator-sh.github.io/charts"),
    version: "1.8.0",
    values,
    deployed: Deployed::alone("koordinator-system", &[SCHEDULER.name()]),
};

/// Only the scheduler, with one replica. The chart has no values for its configuration and most flags:
/// preemption and other plugins run that [`configuration`] omits, and the flush takes five minutes.
fn values() -> Value {
    // The node agents cannot be turned off and tolerate every taint, so they select a label that no node has.
    let nowhere = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{
            "matchExpressions": [{"key": "conformance.grove.io/koordinator", "operator": "Exists"}],
        }],
    }}});
    let webhooks =
        ["PodMutatingWebhook", "PodValidatingWebhook", "ElasticMutatingWebhook", "ElasticValidatingWebhook"];
    json!({
        // The chart omits the configuration of a webhook whose gate is off.
        "featureGates": webhooks.map(|gate| format!("{gate}=false")).join(","),
        "scheduler": {
            "replicas": 1,
            "log": {"level": "2"},
            "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}},
        },
        "manager": {"replicas": 0},
        "descheduler": {"replicas": 0},
        "koordlet": {"nodeAffinity": nowhere},
        "deviceDaemon": {"nodeAffinity": nowhere},
    })
}

/// The only ClusterNetworkTopology that the scheduler reads: a layer per topology key of Grove, widest first.
fn objects() -> Vec<Value> {
    let layer = |layer: &str, label: &str| json!({"topologyLayer": layer, "labelKey": [label]});
    let below = |parent: &str, mut layer: Value| {
        layer["parentTopologyLayer"] = json!(parent);
        layer
    };
    vec![json!({
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": "default"},
        "spec": {"networkTopologySpec": [
            layer("blockLayer", "topology.kubernetes.io/block"),
            below("blockLayer", layer("rackLayer", "topology.kubernetes.io/rack")),
            below("rackLayer", layer("hostLayer", "kubernetes.io/hostname")),
            below("hostLayer", json!({"topologyLayer": "NodeTopologyLayer"})),
        ]},
    })]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster_spec::ClusterSpec;
    use crate::part::Part;
    use crate::schedulers::tests::home;

    #[test]
    fn configuration_argv_and_objects() {
        let home = home("koord-scheduler");
        insta::assert_yaml_snapshot!((
            args(&home, Path::new("DIR/koord-scheduler/scheduler.yaml")),
            configuration(&home.kubeconfig, &[]),
            (INSTALL.objects)(),
        ));
    }

    #[test]
    fn the_flush_has_its_own_interval_if_the_flag_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let home = ProcessHome { folder: folder.path().to_owned(), ..home("koord-scheduler") };
        let part = Part::all().find(|part| part.scheduler() == Some(SCHEDULER)).unwrap();
        let has_flag = |off: &[&str]| {
            let plugins_off = off.iter().map(|flag| (SCHEDULER, (*flag).to_owned())).collect();
            let spec = ClusterSpec { plugins_off, ..ClusterSpec::default() };
            let args = start(&home, &spec.start_settings(part)).unwrap().args;
            args.iter().any(|arg| arg.starts_with(FLUSH))
        };
        assert!(has_flag(&[]));
        assert!(!has_flag(&[FLUSH]));
    }

    #[test]
    fn gangs_and_topology_can_be_left_out() {
        let without = |off| configuration(Path::new("K"), &[off]);
        let no_gangs = without(COSCHEDULING).to_string();
        assert!(!no_gangs.contains("Coscheduling") && no_gangs.contains("DefaultPreBind"), "{no_gangs}");
        let no_topology = without(NETWORK_TOPOLOGY);
        let arguments = &no_topology["profiles"][0]["pluginConfig"][0]["args"];
        assert_eq!(arguments["awareNetworkTopology"], false, "{arguments}");
    }
}
