//! What is installed in a kind cluster, and when it is ready.

use std::path::Path;
use std::time::Duration;

use conformance_contract::scheduler::Scheduler;
use futures::future::{join_all, join3};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::runtime::wait::await_condition;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::{KindSpec, kubeconfig_in, not_ready};
use crate::polling::until_complete;
use crate::schedulers::helm::{Helm, Installed, Release};
use crate::schedulers::in_cluster::{Deployed, DeployedScheduler};
use crate::schedulers::installation;
use crate::{ClusterError, SchedulerFailure, deploy};

/// How long kubelets may take to join and to set up networking.
const NODES: Duration = Duration::from_secs(120);
/// How long containers of loaded images may take to become ready.
pub(super) const ROLLOUT: Duration = Duration::from_secs(90);
/// How long the objects of a chart may take to become ready after helm returns: a registry provides their
/// images.
pub(super) const OF_OPERATORS: Duration = Duration::from_secs(300);

const PLUGIN: [&str; 2] = [
    include_str!("../../../manifests/fake-gpu-plugin/rbac.yaml"),
    include_str!("../../../manifests/fake-gpu-plugin/daemonset.yaml"),
];
const PLUGIN_SYSTEM: &str = "grove-conformance-system";
const PLUGIN_NAME: &str = "fake-gpu-plugin";

/// Waits until `count` nodes are Ready. A timeout reports the status of the others.
pub(super) async fn nodes_ready(client: &Client, count: usize) -> Result<(), ClusterError> {
    let nodes: Api<Node> = Api::all(client.clone());
    until_complete(format!("a cluster of {count} nodes"), NODES, || async {
        let found = nodes.list(&ListParams::default()).await;
        let found = found.map_err(|source| ClusterError::api("list the nodes", source))?;
        let objects: Vec<Value> =
            found.iter().map(|node| serde_json::to_value(node).unwrap_or_default()).collect();
        let is_ready = |node: &&Value| {
            let mut conditions = node["status"]["conditions"].as_array().into_iter().flatten();
            conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
        };
        let (ready, others): (Vec<_>, Vec<_>) = objects.iter().partition(is_ready);
        let say = || others.into_iter().map(not_ready).collect::<Vec<_>>().join("\n");
        Ok((ready.len() < count).then(say))
    })
    .await
}

/// Copies the block and rack that the configuration gives a node to the labels that schedulers read. A
/// kubelet may not set those labels itself.
pub(super) async fn write_topology(client: &Client) -> Result<(), ClusterError> {
    let nodes: Api<Node> = Api::all(client.clone());
    let found = nodes.list(&ListParams::default()).await;
    for node in found.map_err(|source| ClusterError::api("list the nodes", source))? {
        let given = node.labels().iter().filter_map(|(key, value)| {
            let level =
                key.strip_prefix("conformance.grove.io/").filter(|key| ["block", "rack"].contains(key))?;
            Some((format!("topology.kubernetes.io/{level}"), Value::from(value.clone())))
        });
        let labels: serde_json::Map<_, _> = given.collect();
        if !labels.is_empty() {
            let patch = Patch::Merge(json!({"metadata": {"labels": labels}}));
            let patched = nodes.patch(&node.name_any(), &PatchParams::default(), &patch).await;
            patched.map_err(|source| ClusterError::api(format!("label node {}", node.name_any()), source))?;
        }
    }
    Ok(())
}

/// The state of the schedulers other than kube-scheduler.
#[derive(Debug)]
pub(super) struct Schedulers {
    pub failed: Vec<(Scheduler, SchedulerFailure)>,
    /// Schedulers that work and that helm installed.
    pub installed: Vec<Installed>,
}

impl Schedulers {
    /// Where a scheduler runs, whether helm or the manifests installed it.
    pub(super) fn deployed(&self, scheduler: Scheduler) -> Deployed {
        let by_chart = self.installed.iter().any(|installed| installed.scheduler == scheduler);
        let package = installation(scheduler).package.filter(|_| by_chart);
        package.map_or_else(|| installation(scheduler).deployed, |package| package.deployed)
    }
}

/// Installs operator, plugin and schedulers, and waits until they are ready. `folder` is the cluster's.
pub(super) async fn install(
    client: &Client,
    spec: &KindSpec,
    folder: &Path,
) -> Result<Schedulers, ClusterError> {
    // Schedulers are installed first: an operator looks for their APIs only when it starts.
    let built = join_all(spec.schedulers.iter().map(|deployed| async move {
        let made = scheduler_up(client, deployed).await;
        made.err().map(|error| (deployed.scheduler, error.into()))
    }));
    let by_chart = join_all(spec.releases.iter().map(|release| async move {
        let made = release_up(client, release, folder).await;
        made.map_err(|error| (release.scheduler, error.into()))
    }));
    let plugin = async {
        let objects = plugin_objects(&spec.plugin_image.reference, &spec.plugin_faults)?;
        deploy::install(client, &objects).await?;
        daemon_set_ready(client, PLUGIN_SYSTEM, PLUGIN_NAME).await
    };
    let (built, by_chart, plugin) = join3(built, by_chart, plugin).await;
    plugin?;
    let (mut failed, mut installed) = (built.into_iter().flatten().collect::<Vec<_>>(), Vec::new());
    for made in by_chart {
        match made {
            Ok(one) => installed.push(one),
            Err(one) => failed.push(one),
        }
    }
    spec.operator.install(client, &spec.controller, folder).await?;
    Ok(Schedulers { failed, installed })
}

/// The objects of `manifests/fake-gpu-plugin` with this image and these faults.
fn plugin_objects(image: &str, faults: &[String]) -> Result<Vec<Value>, ClusterError> {
    let mut objects = Vec::new();
    for text in PLUGIN {
        let wrong = |source| ClusterError::Manifest { path: "manifests/fake-gpu-plugin".into(), source };
        objects.extend(grove_yaml::documents(text).map_err(wrong)?);
    }
    for object in objects.iter_mut().filter(|object| object["kind"] == "DaemonSet") {
        object["spec"]["template"]["spec"]["containers"][0]["image"] = image.into();
        add_faults(object, faults);
    }
    Ok(objects)
}

/// Adds faults to the arguments of a workload's container.
pub(super) fn add_faults(workload: &mut Value, faults: &[String]) {
    let args = &mut workload["spec"]["template"]["spec"]["containers"][0]["args"];
    if let Some(args) = args.as_array_mut() {
        args.extend(faults.iter().map(|fault| Value::from(format!("--fault={fault}"))));
    }
}

async fn scheduler_up(client: &Client, deployed: &DeployedScheduler) -> Result<(), ClusterError> {
    let install = installation(deployed.scheduler);
    let mut objects = install.crds(deployed.given.as_deref()).await?;
    objects.extend(deployed.objects());
    deploy::install(client, &objects).await?;
    for object in (install.objects)() {
        deploy::apply_when_served(client, &object).await?;
    }
    for name in deployed.deployments() {
        deployment_ready(client, deployed.namespace(), name).await?;
    }
    Ok(())
}

/// Installs a scheduler with helm, including its CRDs. The harness adds its own objects once the scheduler
/// works, because a user's chart may have webhooks.
async fn release_up(client: &Client, release: &Release, folder: &Path) -> Result<Installed, ClusterError> {
    let deployed = release.package.deployed;
    let made = Helm::on_path().install(release, &kubeconfig_in(folder), &folder.join("helm")).await;
    let installed = with_what_pods_say(made, client, deployed.namespace).await?;
    for name in deployed.deployments {
        deployment_ready_in(client, deployed.namespace, name, OF_OPERATORS).await?;
    }
    for object in (installation(release.scheduler).objects)() {
        deploy::apply_when_served(client, &object).await?;
    }
    Ok(installed)
}

/// Adds the status of the namespace's pods to a failure of Helm. Helm itself reports only that it timed out.
pub(super) async fn with_what_pods_say<T>(
    made: Result<T, ClusterError>,
    client: &Client,
    namespace: &str,
) -> Result<T, ClusterError> {
    match made {
        Err(ClusterError::Command { command, reason }) => {
            let reason = format!("{reason}\n{}", pods_say(client, namespace).await);
            Err(ClusterError::Command { command, reason })
        }
        made => made,
    }
}

/// Waits until every replica of a Deployment's current template is available. A timeout reports the status of
/// its pods.
pub(super) async fn deployment_ready(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<(), ClusterError> {
    deployment_ready_in(client, namespace, name, ROLLOUT).await
}

/// Like [`deployment_ready`], with another limit.
pub(super) async fn deployment_ready_in(
    client: &Client,
    namespace: &str,
    name: &str,
    limit: Duration,
) -> Result<(), ClusterError> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    let ready = |found: Option<&Deployment>| {
        found.is_some_and(|found| {
            let wanted = found.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
            found.status.as_ref().is_some_and(|status| {
                status.observed_generation >= found.metadata.generation
                    && status.updated_replicas == Some(wanted)
                    && status.replicas == Some(wanted)
                    && status.available_replicas == Some(wanted)
            })
        })
    };
    let wait = tokio::time::timeout(limit, await_condition(deployments, name, ready)).await;
    match wait {
        Ok(Ok(_)) => Ok(()),
        _ => Err(not_rolled_out(client, namespace, format!("Deployment {name}"), limit).await),
    }
}

async fn daemon_set_ready(client: &Client, namespace: &str, name: &str) -> Result<(), ClusterError> {
    let daemon_sets: Api<DaemonSet> = Api::namespaced(client.clone(), namespace);
    let ready = |found: Option<&DaemonSet>| {
        found.and_then(|found| found.status.as_ref()).is_some_and(|status| {
            status.desired_number_scheduled > 0 && status.number_ready == status.desired_number_scheduled
        })
    };
    let wait = tokio::time::timeout(ROLLOUT, await_condition(daemon_sets, name, ready)).await;
    match wait {
        Ok(Ok(_)) => Ok(()),
        _ => Err(not_rolled_out(client, namespace, format!("DaemonSet {name}"), ROLLOUT).await),
    }
}

async fn not_rolled_out(client: &Client, namespace: &str, what: String, limit: Duration) -> ClusterError {
    let last = pods_say(client, namespace).await;
    ClusterError::NotReady { what, seconds: limit.as_secs(), last }
}

/// The status of a namespace's pods that do not run, and the end of each pod's log.
async fn pods_say(client: &Client, namespace: &str) -> String {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let mut said = Vec::new();
    if let Ok(found) = pods.list(&ListParams::default()).await {
        for pod in &found {
            let object = serde_json::to_value(pod).unwrap_or_default();
            let logs = kube::api::LogParams { tail_lines: Some(10), ..Default::default() };
            let log = pods.logs(&pod.name_any(), &logs).await.unwrap_or_default();
            if !log.is_empty() || object["status"]["phase"] != "Running" {
                said.push(format!("{}\n{log}", not_ready(&object)));
            }
        }
    }
    said.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_has_the_faults_that_are_asked_for() {
        let args = |faults: &[String]| {
            let objects = plugin_objects("image:tag", faults).expect("the manifests can be read");
            let found = objects.into_iter().find(|object| object["kind"] == "DaemonSet");
            let container = found.expect("a DaemonSet")["spec"]["template"]["spec"]["containers"][0].clone();
            assert_eq!(container["image"], "image:tag");
            container["args"].clone()
        };
        assert_eq!(args(&[]), json!(["--resource=nvidia.com/gpu"]));
        assert_eq!(args(&["deaf".to_owned()]), json!(["--resource=nvidia.com/gpu", "--fault=deaf"]));
    }
}
