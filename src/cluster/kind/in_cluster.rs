use std::path::Path;
use std::time::Duration;

use conformance_contract::scheduler::Scheduler;
use conformance_install::schedulers::helm::{Helm, Installed, Release};
use conformance_install::schedulers::in_cluster::{Deployed, DeployedScheduler};
use conformance_install::schedulers::installation;
use conformance_programs::ProgramError;
use futures::future::{join_all, join3};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::config::kubeconfig_in;
use super::operator::add_faults;
use super::rollout::{
    CHART_ROLLOUT, ROLLOUT, daemon_set_ready, deployment_ready, not_ready, with_status_of_pods,
};
use super::spec::KindSpec;
use crate::polling::until_complete;
use crate::{ClusterError, SchedulerFailure, deploy};

/// How long nodes may take to become Ready, including the setup of networking.
const NODES: Duration = Duration::from_secs(120);

const PLUGIN: [&str; 2] = [
    include_str!("../../../manifests/fake-gpu-plugin/rbac.yaml"),
    include_str!("../../../manifests/fake-gpu-plugin/daemonset.yaml"),
];
const PLUGIN_SYSTEM: &str = "grove-conformance-system";
const PLUGIN_NAME: &str = "fake-gpu-plugin";

/// Waits until `count` nodes are Ready. A timeout reports the status of the other nodes.
pub(super) async fn nodes_ready(client: &Client, count: usize) -> Result<(), ClusterError> {
    let nodes: Api<Node> = Api::all(client.clone());
    until_complete(format!("a cluster of {count} nodes"), NODES, || async {
        let found =
            nodes.list(&ListParams::default()).await.map_err(ClusterError::during("list the nodes"))?;
        let objects: Vec<Value> =
            found.iter().map(|node| serde_json::to_value(node).unwrap_or_default()).collect();
        let is_ready = |node: &&Value| {
            let mut conditions = node["status"]["conditions"].as_array().into_iter().flatten();
            conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
        };
        let (ready, others): (Vec<_>, Vec<_>) = objects.iter().partition(is_ready);
        let status = || others.into_iter().map(not_ready).collect::<Vec<_>>().join("\n");
        Ok((ready.len() < count).then(status))
    })
    .await
}

/// Copies block and rack to the topology labels, which a kubelet may not set itself.
pub(super) async fn write_topology(client: &Client) -> Result<(), ClusterError> {
    let nodes: Api<Node> = Api::all(client.clone());
    let found = nodes.list(&ListParams::default()).await;
    for node in found.map_err(ClusterError::during("list the nodes"))? {
        let mut labels = serde_json::Map::new();
        for (key, value) in node.labels() {
            if let Some(level @ ("block" | "rack")) = key.strip_prefix("conformance.grove.io/") {
                labels.insert(format!("topology.kubernetes.io/{level}"), value.clone().into());
            }
        }
        if !labels.is_empty() {
            let patch = Patch::Merge(json!({"metadata": {"labels": labels}}));
            let patched = nodes.patch(&node.name_any(), &PatchParams::default(), &patch).await;
            patched.map_err(ClusterError::during(format!("label node {}", node.name_any())))?;
        }
    }
    Ok(())
}

#[derive(Debug)]
pub(super) struct Schedulers {
    pub failed: Vec<(Scheduler, SchedulerFailure)>,
    pub installed: Vec<Installed>,
}

impl Schedulers {
    pub(super) fn deployed(&self, scheduler: Scheduler) -> Deployed {
        let by_chart = self.installed.iter().any(|installed| installed.scheduler == scheduler);
        let package = installation(scheduler).package.filter(|_| by_chart);
        package.map_or_else(|| installation(scheduler).deployed, |package| package.deployed)
    }
}

/// Installs the operator, the schedulers and the GPU plugin, and waits until all are ready.
pub(super) async fn install(
    client: &Client,
    spec: &KindSpec,
    folder: &Path,
) -> Result<Schedulers, ClusterError> {
    // Install the schedulers first, because an operator looks for their APIs only at its start.
    let built = join_all(spec.schedulers.iter().map(|deployed| async move {
        let installed = install_scheduler(client, deployed).await;
        installed.err().map(|error| (deployed.scheduler, error.into()))
    }));
    let by_chart = join_all(spec.releases.iter().map(|release| async move {
        install_release(client, release, folder).await.map_err(|error| (release.scheduler, error.into()))
    }));
    let plugin = async {
        let objects = plugin_objects(&spec.plugin_image.reference, &spec.plugin_faults)?;
        deploy::install(client, &objects).await?;
        daemon_set_ready(client, PLUGIN_SYSTEM, PLUGIN_NAME).await
    };
    let (built, by_chart, plugin) = join3(built, by_chart, plugin).await;
    plugin?;
    let (mut failed, mut installed) = (built.into_iter().flatten().collect::<Vec<_>>(), Vec::new());
    for result in by_chart {
        match result {
            Ok(release) => installed.push(release),
            Err(failure) => failed.push(failure),
        }
    }
    spec.operator.install(client, &spec.controller, folder).await?;
    Ok(Schedulers { failed, installed })
}

fn plugin_objects(image: &str, faults: &[String]) -> Result<Vec<Value>, ClusterError> {
    let mut objects = Vec::new();
    for text in PLUGIN {
        let wrong = |source| ProgramError::Manifest { path: "manifests/fake-gpu-plugin".into(), source };
        objects.extend(grove_yaml::documents(text).map_err(wrong)?);
    }
    for object in objects.iter_mut().filter(|object| object["kind"] == "DaemonSet") {
        object["spec"]["template"]["spec"]["containers"][0]["image"] = image.into();
        add_faults(object, faults);
    }
    Ok(objects)
}

async fn install_scheduler(client: &Client, deployed: &DeployedScheduler) -> Result<(), ClusterError> {
    let install = installation(deployed.scheduler);
    let mut objects = install.crds(deployed.given.as_deref()).await?;
    objects.extend(deployed.objects());
    deploy::install(client, &objects).await?;
    for object in (install.objects)() {
        deploy::apply_when_served(client, &object).await?;
    }
    for name in deployed.deployments() {
        deployment_ready(client, deployed.namespace(), name, ROLLOUT).await?;
    }
    Ok(())
}

/// Installs a scheduler's chart, and then its custom resources, because the chart may have webhooks for them.
async fn install_release(
    client: &Client,
    release: &Release,
    folder: &Path,
) -> Result<Installed, ClusterError> {
    let deployed = release.package.deployed;
    let installed = Helm::on_path().install(release, &kubeconfig_in(folder), &folder.join("helm")).await;
    let installed = with_status_of_pods(installed, client, deployed.namespace).await?;
    for name in deployed.deployments {
        deployment_ready(client, deployed.namespace, name, CHART_ROLLOUT).await?;
    }
    for object in (installation(release.scheduler).objects)() {
        deploy::apply_when_served(client, &object).await?;
    }
    Ok(installed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_starts_with_the_requested_faults() {
        let args = |faults: &[String]| {
            let objects = plugin_objects("image:tag", faults).expect("the manifests can be read");
            let found = objects.into_iter().find(|object| object["kind"] == "DaemonSet");
            let container = found.expect("a DaemonSet")["spec"]["template"]["spec"]["containers"][0].clone();
            assert_eq!(container["image"], "image:tag");
            container["args"].clone()
        };
        assert_eq!(args(&[]), json!(["--resource=nvidia.com/gpu"]));
        assert_eq!(
            args(&["ignore-unhealthy".to_owned()]),
            json!(["--resource=nvidia.com/gpu", "--fault=ignore-unhealthy"])
        );
    }
}
