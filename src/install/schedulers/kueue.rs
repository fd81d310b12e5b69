//! Kueue admits gangs of plain pods: it removes the scheduling gates of a pod group as a whole, and
//! kube-scheduler binds the pods. PodCliqueSets have no backend for it.
//!
//! Its manager runs outside of a cluster (`docs/decisions/kueue-in-ai-conformance.md`):
//!
//! - Its certificate management cannot be turned off without a fixed path in `/etc`. It waits until it has
//!   written its own CA into two webhook configurations and five CRDs. So both configurations are installed
//!   without webhooks, and the webhooks are in others, with the CA of the cluster.
//! - For the same reason, the API server cannot call the conversion of the CRDs. Nothing needs it, because
//!   all objects are written and read in the stored version.
//!
//! Quota alone would make the negative case a test of arithmetic. So the flavor has a topology, with which
//! Kueue compares gangs with nodes, and the quota is larger than any case needs.
//!
//! One worker handles all pod groups, in the order of their pods. So Kueue tries a canary after the gang.

use conformance_contract::names;
use conformance_contract::scheduler::Scheduler;
use conformance_programs::components::{Component, Module, Purpose};
use conformance_programs::{ProgramError, module};
use serde_json::{Value, json};

use super::deployed::Deployed;
use super::install::{
    Command, Crds, Install, ModuleCrds, ProcessHome, ProgramSource, SchedulerProcess, StartSettings, recipe,
};
use super::kube_scheduler;
use super::rbac::Right;
use super::webhook_server::WebhookServer;

pub(crate) static INSTALL: Install = Install {
    scheduler: Scheduler::KUEUE,
    // Plain pods are tested on local control planes, or on a platform of the user.
    processes: &[SchedulerProcess {
        rights: &[RIGHTS],
        health: Some("/readyz"),
        ..SchedulerProcess::new(PROGRAM.name, USER, start)
    }],
    programs: ProgramSource::Built(std::slice::from_ref(&PROGRAM)),
    recipe: recipe!("kueue"),
    user: kube_scheduler::USER,
    crds: Crds::Module(CRDS),
    webhooks: Some(add_webhooks),
    objects,
    deployed: Deployed::alone(NAMESPACE, &["kueue-controller-manager"]),
    package: None,
    configured_by: None,
    cycle_millis: None,
};

static MODULE: Module = module!("kueue", "-s -w -X sigs.k8s.io/kueue/pkg/version.GitVersion=v0.17.0");

static PROGRAM: Component = Component {
    name: "kueue",
    version: "v0.17.0",
    package: "sigs.k8s.io/kueue/cmd/kueue",
    module: &MODULE,
    purpose: Purpose::Scheduler(Scheduler::KUEUE),
};

const USER: &str = "system:kueue";
/// Kueue's default, which is also in the name of its certificate.
const NAMESPACE: &str = "kueue-system";
/// The Topology, the ResourceFlavor, the ClusterQueue and the webhook configurations of the harness.
const NAME: &str = names::CLUSTER_QUEUE;

const CRDS: ModuleCrds = ModuleCrds {
    component: &PROGRAM,
    folder: "config/components/crd/bases",
    files: &[
        "kueue.x-k8s.io_admissionchecks.yaml",
        "kueue.x-k8s.io_clusterqueues.yaml",
        "kueue.x-k8s.io_cohorts.yaml",
        "kueue.x-k8s.io_localqueues.yaml",
        "kueue.x-k8s.io_multikueueclusters.yaml",
        "kueue.x-k8s.io_multikueueconfigs.yaml",
        "kueue.x-k8s.io_provisioningrequestconfigs.yaml",
        "kueue.x-k8s.io_resourceflavors.yaml",
        "kueue.x-k8s.io_topologies.yaml",
        "kueue.x-k8s.io_workloadpriorityclasses.yaml",
        "kueue.x-k8s.io_workloads.yaml",
    ],
};

/// The CRDs whose conversion the certificate management writes (`pkg/util/cert` of Kueue 0.17.0).
const CONVERTED: [&str; 5] = ["clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads"];

/// The part of Kueue's role (`config/components/rbac/role.yaml` of 0.17.0) for pods, topologies and the
/// certificate management. Upstream limits the right to Secrets to Kueue's namespace.
const RIGHTS: &[Right] = &[
    Right::read("", &["limitranges", "namespaces", "nodes", "pods", "podtemplates", "secrets"]),
    Right::read("apps", &["deployments", "replicasets", "statefulsets"]),
    Right::read("batch", &["jobs"]),
    Right::read("node.k8s.io", &["runtimeclasses"]),
    Right::read("resource.k8s.io", &["deviceclasses", "resourceclaims", "resourceclaimtemplates"]),
    Right::read("scheduling.k8s.io", &["priorityclasses"]),
    Right::read("admissionregistration.k8s.io", CONFIGURATIONS),
    Right::read("apiextensions.k8s.io", &["customresourcedefinitions"]),
    Right::read(
        GROUP,
        &[
            "admissionchecks",
            "clusterqueues",
            "cohorts",
            "localqueues",
            "multikueueclusters",
            "multikueueconfigs",
            "provisioningrequestconfigs",
            "resourceflavors",
            "topologies",
            "workloadpriorityclasses",
            "workloads",
        ],
    ),
    Right::new("", &["events"], &["create", "patch", "update", "watch"]),
    Right::new("", &["pods"], &["delete", "patch", "update"]),
    Right::new("", &["pods/finalizers", "pods/status", "secrets"], &["patch", "update", "get"]),
    Right::new("admissionregistration.k8s.io", CONFIGURATIONS, &["update"]),
    Right::new("apiextensions.k8s.io", &["customresourcedefinitions"], &["update"]),
    Right::new(
        GROUP,
        &["admissionchecks", "clusterqueues", "cohorts", "localqueues", "workloads"],
        &["create", "delete", "patch", "update"],
    ),
    Right::new(GROUP, &["resourceflavors"], &["delete", "update"]),
    Right::new(GROUP, &["topologies"], &["update"]),
    Right::new(
        GROUP,
        &[
            "admissionchecks/finalizers",
            "clusterqueues/finalizers",
            "localqueues/finalizers",
            "resourceflavors/finalizers",
            "topologies/finalizers",
            "workloads/finalizers",
        ],
        &["update"],
    ),
    Right::new(
        GROUP,
        &[
            "admissionchecks/status",
            "clusterqueues/status",
            "cohorts/status",
            "localqueues/status",
            "multikueueclusters/status",
            "workloads/status",
        ],
        &["patch", "update", "get"],
    ),
];

const GROUP: &str = "kueue.x-k8s.io";
const CONFIGURATIONS: &[&str] = &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];

/// Turns off the visibility server, which authenticates through the API aggregator.
fn configuration(home: &ProcessHome) -> Value {
    json!({
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": NAMESPACE,
        "leaderElection": {"leaderElect": false},
        "health": {"healthProbeBindAddress": format!("127.0.0.1:{}", home.health)},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": home.other, "certDir": home.certificate_folder()},
        "clientConnection": {"qps": 500, "burst": 1000},
        "integrations": {"frameworks": ["pod"]},
        "featureGates": {"VisibilityOnDemand": false},
    })
}

fn start(home: &ProcessHome, settings: &StartSettings<'_>) -> Result<Command, ProgramError> {
    let path = home.configure("config.yaml", &configuration(home), settings)?;
    let args =
        vec![format!("--kubeconfig={}", home.kubeconfig.display()), format!("--config={}", path.display())];
    Ok(Command { args, env: Vec::new() })
}

/// The objects that the certificate management needs, and the webhooks of pods and Workloads. The selector
/// keeps the webhooks of pods away from pods of other schedulers. The webhooks of ClusterQueues and
/// ResourceFlavors are left out, because the harness creates both before Kueue starts.
fn add_webhooks(objects: &mut Vec<Value>, server: WebhookServer<'_>) {
    let is_converted = |crd: &Value| {
        CONVERTED.iter().any(|plural| crd["metadata"]["name"] == format!("{plural}.{GROUP}").as_str())
    };
    for crd in objects.iter_mut().filter(|object| is_converted(object)) {
        let webhook =
            json!({"clientConfig": {"url": server.url("/convert")}, "conversionReviewVersions": ["v1"]});
        crd["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": webhook});
    }
    objects.push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}));
    objects.push(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "kueue-webhook-server-cert", "namespace": NAMESPACE},
    }));
    for (kind, verb) in [("Mutating", "mutate"), ("Validating", "validate")] {
        let configuration = |name: &str| {
            json!({
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": format!("{kind}WebhookConfiguration"),
                "metadata": {"name": name},
            })
        };
        objects.push(configuration(&format!("kueue-{}-webhook-configuration", kind.to_lowercase())));
        let mut filled = configuration(NAME);
        filled["webhooks"] = json!([
            webhook(server, verb, ["", "v1", "pods"], "-v1-pod"),
            webhook(server, verb, [GROUP, "v1beta2", "workloads"], "kueue-x-k8s-io-v1beta2-workload"),
        ]);
        filled["webhooks"][0]["objectSelector"] =
            json!({"matchExpressions": [{"key": "kueue.x-k8s.io/queue-name", "operator": "Exists"}]});
        objects.push(filled);
    }
}

fn webhook(server: WebhookServer<'_>, verb: &str, [group, version, plural]: [&str; 3], path: &str) -> Value {
    let operations = if verb == "mutate" { json!(["CREATE"]) } else { json!(["CREATE", "UPDATE"]) };
    let rule = json!({
        "apiGroups": [group], "apiVersions": [version], "resources": [plural], "operations": operations,
    });
    json!({
        "name": format!("{plural}.kueue.x-k8s.io"),
        "clientConfig": server.client_config(&format!("/{verb}-{path}")),
        "rules": [rule],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    })
}

/// A ClusterQueue with only this flavor uses the topology for every Workload, without a request by the pods.
/// BestEffortFIFO lets a canary pass a gang that does not fit.
fn objects() -> Vec<Value> {
    let object = |kind: &str, spec: Value| {
        json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": kind,
            "metadata": {"name": NAME},
            "spec": spec,
        })
    };
    let resources = ["cpu", "memory", names::GPU];
    let quota = resources.map(|name| json!({"name": name, "nominalQuota": "1T"}));
    let group = json!({"coveredResources": resources, "flavors": [{"name": NAME, "resources": quota}]});
    vec![
        object("Topology", json!({"levels": [{"nodeLabel": names::HOST}]})),
        object("ResourceFlavor", json!({"nodeLabels": {names::SIMULATED: "true"}, "topologyName": NAME})),
        object(
            "ClusterQueue",
            json!({
                "queueingStrategy": "BestEffortFIFO", "namespaceSelector": {}, "resourceGroups": [group],
            }),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::tests::home;

    #[test]
    fn the_process_listens_on_its_ports_and_has_its_certificate() {
        let configuration = configuration(&home("kueue"));
        let folder = "DIR/kueue/k8s-webhook-server/serving-certs";
        assert_eq!(configuration["webhook"], json!({"host": "127.0.0.1", "port": 1002, "certDir": folder}));
        assert_eq!(configuration["health"]["healthProbeBindAddress"], "127.0.0.1:1001");
        assert_eq!(configuration["leaderElection"], json!({"leaderElect": false}));
    }

    #[test]
    fn kueue_writes_its_ca_only_where_no_webhook_uses_it() {
        let crd = |name: &str| json!({"kind": "CustomResourceDefinition", "metadata": {"name": name}});
        let mut all = vec![crd("workloads.kueue.x-k8s.io"), crd("topologies.kueue.x-k8s.io")];
        add_webhooks(&mut all, WebhookServer { port: 4711, ca_bundle: "PEM" });
        let client = &all[0]["spec"]["conversion"]["webhook"]["clientConfig"];
        assert_eq!(*client, json!({"url": "https://127.0.0.1:4711/convert"}));
        assert!(all[1]["spec"].is_null(), "{}", all[1]);
        for kind in ["Mutating", "Validating"] {
            let of_kind: Vec<_> = all
                .iter()
                .filter(|object| object["kind"] == format!("{kind}WebhookConfiguration").as_str())
                .collect();
            let [of_kueue, of_harness] = of_kind[..] else { panic!("{of_kind:?}") };
            let name = format!("kueue-{}-webhook-configuration", kind.to_lowercase());
            assert_eq!(of_kueue["metadata"]["name"], name.as_str());
            assert!(of_kueue["webhooks"].is_null());
            let webhooks = of_harness["webhooks"].as_array().unwrap();
            assert!(webhooks.iter().all(|webhook| webhook["clientConfig"]["caBundle"] == "UEVN"));
            assert!(webhooks[0]["objectSelector"].is_object(), "pods of other schedulers are left alone");
        }
        assert_eq!(all.iter().filter(|object| object["kind"] == "Secret").count(), 1);
    }

    /// Without the topology, Kueue would compare a gang only with the quota, which no case uses up.
    #[test]
    fn the_flavor_of_the_queue_has_a_topology_of_hosts() {
        let objects = objects();
        let [topology, flavor, queue] = &objects[..] else { panic!("{objects:?}") };
        assert_eq!(topology["spec"]["levels"], json!([{"nodeLabel": "kubernetes.io/hostname"}]));
        assert_eq!(flavor["spec"]["topologyName"], topology["metadata"]["name"]);
        assert_eq!(queue["spec"]["resourceGroups"][0]["flavors"][0]["name"], flavor["metadata"]["name"]);
    }
}
