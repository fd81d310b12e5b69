//! Volcano's vc-scheduler, without its controllers and webhooks: plain pods and PodGroups need neither.
//!
//! The plugins for queue shares (`proportion`, `capacity`), preemption and reclaim are off, because they
//! affect gangs of other cases. Cases about them have their own control plane ([`StartSettings`]). The suite
//! creates the queues with the state Open, which the queue controller would set.

use std::path::Path;

use conformance_contract::scheduler::Scheduler;
use conformance_programs::components::{Amendment, Component, Module, Purpose};
use conformance_programs::{ProgramError, module};
use serde_json::{Value, json};

use super::deployed::{Deployed, Deployment};
use super::install::{
    Command, Crds, Install, ModuleCrds, ProcessHome, ProgramSource, SchedulerProcess, StartSettings, recipe,
};
use super::package::Package;
use super::rbac::{self, Right};

pub const SCHEDULER: Scheduler = Scheduler::named("volcano");

pub(crate) static INSTALL: Install = Install {
    scheduler: SCHEDULER,
    processes: &[SchedulerProcess {
        rights: &[rbac::FRAMEWORK, RIGHTS],
        local_rights: EVICTION_RIGHTS,
        health: Some("/healthz"),
        deployment: Some(Deployment {
            configuration: Some(|| configuration(&[], false)),
            args: |file, health| flags(file, &format!("0.0.0.0:{health}")),
            env: &[("DEBUG_SOCKET_DIR", "/tmp")],
        }),
        ..SchedulerProcess::new(PROGRAM.name, USER, start)
    }],
    programs: ProgramSource::Built(std::slice::from_ref(&PROGRAM)),
    recipe: recipe!("vc-scheduler"),
    user: USER,
    crds: Crds::Module(CRDS),
    webhooks: None,
    objects,
    deployed: Deployed::alone("volcano-system", &[SCHEDULER.name()]),
    package: Some(&PACKAGE),
    configured_by: Some(CONFIGURED_BY),
    cycle_millis: Some(CYCLE_MILLIS),
};

/// The period of the scheduler's cycles. Volcano's default is one second.
const CYCLE_MILLIS: u32 = 200;

/// Without the first flag, the scheduler uses its built-in configuration, unless the second forbids that.
const CONFIGURED_BY: &[&str] = &["--scheduler-conf=", "--disable-default-scheduler-config="];

static MODULE: Module =
    module!("volcano", "-s -w -X volcano.sh/volcano/pkg/version.Version=v1.15.1", Some(&APIS));

/// Volcano 1.15.1 builds against its own copy of volcano.sh/apis. The newest published one lacks a constant.
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
pub const GANG: &str = "gang";
pub const NETWORK_TOPOLOGY: &str = "network-topology-aware";

/// Plugin that enforces the capability of queues. The product's default configuration has it.
pub const PROPORTION: &str = "proportion";

pub(super) const CRDS: ModuleCrds = ModuleCrds {
    component: &PROGRAM,
    folder: "config/crd/volcano/bases",
    files: &[
        "scheduling.volcano.sh_podgroups.yaml",
        "scheduling.volcano.sh_queues.yaml",
        "topology.volcano.sh_hypernodes.yaml",
    ],
};

/// In addition to the framework ([`super::rbac::FRAMEWORK`]), from Volcano 1.15.1. Its informers are those of
/// `addEventHandler` in `pkg/scheduler/cache/cache.go`; its writes are those of that file, of
/// `framework/session.go` and of the plugins of [`configuration`]. It writes no ResourceClaims, because the
/// predicate of DynamicResourceAllocation is off by default. The ClusterRole in its chart
/// (`installer/helm/chart/volcano/templates/scheduler.yaml`) has more rights.
pub(super) const RIGHTS: &[Right] = &[
    Right::read("", &["resourcequotas"]),
    Right::read("scheduling.k8s.io", &["priorityclasses"]),
    Right::read("scheduling.volcano.sh", &["podgroups", "queues"]),
    Right::read("topology.volcano.sh", &["hypernodes"]),
    Right::new("", &["pods/status"], &["update"]),
    Right::new("", &["events"], &["create", "patch"]),
    // The CRD has no status subresource.
    Right::new("scheduling.volcano.sh", &["podgroups"], &["update"]),
    // When it starts, it creates the queues `root` and `default` if they are missing, and exits if it may
    // not. Volcano 1.14 always creates them and updates the guarantee of `root`.
    Right::new("scheduling.volcano.sh", &["queues"], &["create"]),
    Right::new("scheduling.volcano.sh", &["queues/status"], &["update"]),
];

/// For preemption, which only local cases enable (`defaultEvictor` in `pkg/scheduler/cache/cache.go`).
const EVICTION_RIGHTS: &[Right] = &[Right::new("", &["pods"], &["delete"])];

/// Omits the plugins in `off`. If `preempts` is true, the scheduler preempts whole gangs, as the product does
/// (`docs/design/gang-aware-eviction-design.md` of Volcano 1.15.1).
pub fn configuration(off: &[&str], preempts: bool) -> Value {
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
    let mut enabled = Vec::new();
    for mut plugins in tiers {
        plugins.retain(|plugin| plugin["name"].as_str().is_none_or(|name| !off.contains(&name)));
        enabled.push(json!({"plugins": plugins}));
    }
    let mut actions = "enqueue, allocate, backfill".to_owned();
    if preempts {
        actions.push_str(", gangpreempt");
    }
    json!({"actions": actions, "tiers": enabled})
}

/// Adds queue shares, and the action with which the product reclaims by gangs. The first tier that allows
/// victims decides, so the plugin must be in the tier of `gang`, which allows all.
fn add_reclaim(configuration: &mut Value) {
    let actions = format!("{}, gangreclaim", configuration["actions"].as_str().unwrap_or_default());
    configuration["actions"] = actions.into();
    if let Some(first) = configuration["tiers"][0]["plugins"].as_array_mut() {
        first.push(json!({"name": "capacity"}));
    }
}

fn add_plugins(configuration: &mut Value, further: &[&str]) {
    if let Some(plugins) = configuration["tiers"][1]["plugins"].as_array_mut() {
        plugins.extend(further.iter().map(|name| json!({"name": name})));
    }
}

fn start(home: &ProcessHome, settings: &StartSettings<'_>) -> Result<Command, ProgramError> {
    let mut configuration = configuration(&settings.plugins_off, settings.preempts);
    add_plugins(&mut configuration, &settings.further_plugins);
    if settings.reclaims {
        add_reclaim(&mut configuration);
    }
    let path = home.configure("scheduler.conf", &configuration, settings)?;
    let args = settings.without_suites(args(home, &path), CONFIGURED_BY);
    Ok(Command { args, env: environment(home) })
}

pub fn args(home: &ProcessHome, configuration: &Path) -> Vec<String> {
    let mut args = vec![format!("--kubeconfig={}", home.kubeconfig.display())];
    args.extend(flags(configuration, &format!("127.0.0.1:{}", home.health)));
    args
}

/// With these flags, an invalid configuration makes the scheduler exit instead of using a built-in one.
pub fn flags(configuration: &Path, health: &str) -> Vec<String> {
    vec![
        format!("--scheduler-conf={}", configuration.display()),
        "--disable-default-scheduler-config=true".into(),
        "--leader-elect=false".into(),
        format!("--schedule-period={CYCLE_MILLIS}ms"),
        "--kube-api-qps=500".into(),
        "--kube-api-burst=1000".into(),
        "--enable-healthz=true".into(),
        format!("--healthz-address={health}"),
        "--cache-dumper=false".into(),
        // With this gate on, the scheduler would need one more CRD, NumaTopology.
        "--feature-gates=ResourceTopology=false".into(),
        "--v=2".into(),
    ]
}

pub static PACKAGE: Package = Package {
    release: "volcano",
    namespace: "volcano-system",
    chart: "volcano",
    repository: Some("https://volcano-sh.github.io/helm-charts"),
    version: "1.15.1",
    values,
    deployed: Deployed::alone("volcano-system", &["volcano-scheduler"]),
};

fn values() -> Value {
    json!({
        // By default the chart always pulls the images, which may be loaded into the nodes.
        "basic": {"image_pull_policy": "IfNotPresent"},
        "custom": {
            "admission_enable": false,
            "controller_enable": false,
            "leader_elect_enable": false,
            // The chart expects YAML in a string, and JSON is valid YAML.
            "scheduler_config_override": configuration(&[], false).to_string(),
            "scheduler_feature_gates": "ResourceTopology=false",
            "scheduler_kube_api_qps": 500,
            "scheduler_kube_api_burst": 1000,
            "scheduler_log_level": 2,
            "scheduler_schedule_period": format!("{CYCLE_MILLIS}ms"),
        },
    })
}

/// By default, all instances on a machine would share one socket for changes of the log level.
pub fn environment(home: &ProcessHome) -> Vec<(String, String)> {
    vec![("DEBUG_SOCKET_DIR".into(), home.folder.display().to_string())]
}

/// Returns the queues with the state Open, because no queue controller runs that would set the state.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::tests::home;

    #[test]
    fn configuration_argv_and_objects() {
        let home = home("vc-scheduler");
        insta::assert_yaml_snapshot!((
            args(&home, Path::new("DIR/vc-scheduler/scheduler.conf")),
            environment(&home),
            configuration(&[], false),
            (INSTALL.objects)(),
        ));
    }

    #[rstest::rstest]
    #[case(GANG)]
    #[case(NETWORK_TOPOLOGY)]
    fn a_plugin_can_be_left_out(#[case] off: &str) {
        let all = configuration(&[], false).to_string();
        let without = configuration(&[off], false).to_string();
        assert!(all.contains(off) && !without.contains(off), "{without}");
        assert!(without.contains("predicates"), "{without}");
    }

    #[test]
    fn reclaim_adds_an_action_and_a_plugin_of_the_first_tier() {
        let mut reclaiming = configuration(&[], false);
        add_reclaim(&mut reclaiming);
        assert_eq!(reclaiming["actions"], "enqueue, allocate, backfill, gangreclaim");
        let first = [json!({"name": "priority"}), json!({"name": GANG}), json!({"name": "capacity"})];
        assert_eq!(reclaiming["tiers"][0]["plugins"], json!(first));
    }

    #[test]
    fn a_plugin_can_be_added() {
        let (all, mut more) = (configuration(&[], false), configuration(&[], false));
        add_plugins(&mut more, &[PROPORTION]);
        let count = |found: &Value| found["tiers"][1]["plugins"].as_array().map_or(0, Vec::len);
        assert_eq!(count(&more), count(&all) + 1);
        assert!(more.to_string().contains(PROPORTION) && !all.to_string().contains(PROPORTION));
    }

    #[test]
    fn preemption_adds_one_action() {
        let [mut preempting, other] = [true, false].map(|preempts| configuration(&[], preempts));
        assert_eq!(preempting["actions"], "enqueue, allocate, backfill, gangpreempt");
        preempting["actions"] = other["actions"].clone();
        assert_eq!(preempting, other);
    }
}
