//! Everything that a kind cluster needs, built or found: kind itself, the node image, and an image for each program
//! that runs in it.

use std::collections::BTreeSet;

use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;

use super::{KindSpec, config, host, node_image};
use crate::ClusterError;
use crate::catalogue::{components_for_kind, components_of_node_image};
use crate::components::{Overrides, Progress, Toolbox};
use crate::docker::Engine;
use crate::images::{self, NOBODY};
use crate::local::ControllerSpec;
use crate::own_program::{CONTROLLER, ControllerProgram, INIT, PLUGIN};
use crate::preflight::{self, Check};
use crate::schedulers::helm::{Helm, Release};
use crate::schedulers::in_cluster;

/// What the cluster is to be made of.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    /// The version of Kubernetes in the nodes' image.
    pub kubernetes: Kubernetes,
    /// The schedulers. One that is not built can be installed by its chart only.
    pub schedulers: &'a BTreeSet<Scheduler>,
    /// Charts of those that helm installs. The others are built.
    pub releases: &'a [Release],
    /// How the controller is configured.
    pub controller: &'a ControllerSpec,
    /// Faults of the fake GPU plugin.
    pub plugin_faults: &'a [String],
    /// kind's configuration, YAML.
    pub config: &'a str,
    /// The nodes' image, if it is not to be found or built.
    pub node_image: Option<&'a str>,
    /// Components that the user gives.
    pub overrides: &'a Overrides,
    /// The controller.
    pub controller_program: &'a ControllerProgram,
}

/// Builds what is missing. Everything that the host lacks is reported first, before minutes are spent on builds.
///
/// # Errors
/// [`ClusterError::Preflight`]; [`host::check_node_image`]; what cannot be built.
pub async fn prepare(
    wanted: Wanted<'_>,
    progress: &dyn Progress,
) -> Result<(KindSpec, Toolbox), ClusterError> {
    let by_chart: BTreeSet<_> = wanted.releases.iter().map(|release| release.scheduler).collect();
    let built: BTreeSet<_> = wanted.schedulers.difference(&by_chart).copied().collect();
    let engine = host_for(&wanted, &built).await?;
    let config = config::for_host(wanted.config, &engine.cgroup_version)?;
    let toolbox = Toolbox::prepare_only(components_for_kind(&built), wanted.overrides, progress).await?;
    let node_image = match wanted.node_image {
        Some(image) => image.to_owned(),
        None => node_image::any(wanted.kubernetes, wanted.overrides, progress).await?,
    };
    host::check_node_image(&node_image).await?;
    let controller = images::statically(CONTROLLER, wanted.controller_program.own_path()).await?;
    let plugin = images::statically(PLUGIN, None).await?;
    let init = images::statically(INIT, None).await?;
    let mut scheduler_images = Vec::new();
    for (scheduler, program) in in_cluster::programs() {
        if built.contains(&scheduler) {
            let path = &toolbox.get(program)?.path;
            scheduler_images.push((scheduler, images::of_program(program, path, Some(NOBODY)).await?));
        }
    }
    let spec = KindSpec {
        kind: toolbox.get("kind")?.path.clone(),
        node_image,
        config,
        controller_image: images::of_program(CONTROLLER, &controller, Some(NOBODY)).await?,
        // The folder of the kubelet's plugins is root's.
        plugin_image: images::of_program(PLUGIN, &plugin, None).await?,
        init_image: images::of_program(INIT, &init, Some(NOBODY)).await?,
        scheduler_images,
        releases: wanted.releases.to_vec(),
        controller_program: wanted.controller_program.clone(),
        controller: wanted.controller.clone(),
        plugin_faults: wanted.plugin_faults.to_vec(),
    };
    Ok((spec, toolbox))
}

/// What the host must have: helm for charts, an engine, cargo, and what the builds of components need.
async fn host_for(wanted: &Wanted<'_>, built: &BTreeSet<Scheduler>) -> Result<Engine, ClusterError> {
    let mut components: Vec<_> = components_for_kind(built).collect();
    if wanted.node_image.is_none() && !node_image::is_there(wanted.kubernetes).await {
        components.extend(components_of_node_image(wanted.kubernetes));
    }
    let ours = components.into_iter().filter(|component| !wanted.overrides.contains_key(component.name));
    let mut checks = preflight::checks(&Toolbox::to_build(ours).await).await;
    // The plugin is always linked here, and so is pause for an image of ours.
    checks.push(Check::new("cargo", images::can_link().await));
    if !wanted.releases.is_empty() {
        checks.push(Check::new("helm", Helm::on_path().version().await));
    }
    let engine = host::check().await;
    checks.push(Check::new("containers", engine.as_ref().map(|engine| engine.version.clone())));
    preflight::require(checks)?;
    engine
}
