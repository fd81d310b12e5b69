//! Everything that a kind cluster needs, built or found: kind itself, the node image, and an image for each program
//! that runs in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;

use super::{KindSpec, UnderTest, config, host, node_image};
use crate::ClusterError;
use crate::catalogue::{components_for_kind, components_of_node_image};
use crate::components::{Component, Overrides, Progress, Toolbox};
use crate::docker::Engine;
use crate::images::{self, NOBODY, REPOSITORY};
use crate::local::ControllerSpec;
use crate::operator::{Operator, OperatorChart, OperatorImages};
use crate::own_program::{CONTROLLER, INIT, OwnProgram, PLUGIN};
use crate::preflight::{self, Check};
use crate::schedulers::helm::{Helm, Release};
use crate::schedulers::in_cluster::{self, DeployedScheduler};
use crate::schedulers::{GivenScheduler, installation};

/// What the cluster is to be made of.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    /// The version of Kubernetes in the nodes' image.
    pub kubernetes: Kubernetes,
    /// The schedulers. One that is neither built nor given can be installed by its chart only.
    pub schedulers: &'a BTreeSet<Scheduler>,
    /// Those of them that the user gave.
    pub given: &'a BTreeMap<Scheduler, Arc<GivenScheduler>>,
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
    /// The reference controller.
    pub controller_program: &'a OwnProgram,
    /// Another operator, instead of it.
    pub operator: Option<OperatorByChart<'a>>,
}

/// An operator that is installed from its chart.
#[derive(Debug, Clone, Copy)]
pub struct OperatorByChart<'a> {
    /// The operator.
    pub operator: &'a Arc<Operator>,
    /// Its chart.
    pub chart: &'a OperatorChart,
    /// The program of its init containers.
    pub init: Option<&'a Path>,
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
    let toolbox = Toolbox::prepare_only(wanted.components(&built), wanted.overrides, progress).await?;
    let node_image = match wanted.node_image {
        Some(image) => image.to_owned(),
        None => node_image::any(wanted.kubernetes, wanted.overrides, progress).await?,
    };
    host::check_node_image(&node_image).await?;
    let operator = match wanted.operator {
        Some(by_chart) => by_chart.under_test().await?,
        None => reference(wanted.controller_program).await?,
    };
    let mut schedulers = Vec::new();
    for scheduler in built {
        schedulers.extend(deployed(scheduler, wanted.given.get(&scheduler), &toolbox).await?);
    }
    let spec = KindSpec {
        kind: toolbox.get("kind")?.path.clone(),
        node_image,
        config,
        operator,
        // The folder of the kubelet's plugins is root's.
        plugin_image: images::of_reference(PLUGIN, None, None).await?,
        schedulers,
        releases: wanted.releases.to_vec(),
        controller: wanted.controller.clone(),
        plugin_faults: wanted.plugin_faults.to_vec(),
    };
    Ok((spec, toolbox))
}

impl Wanted<'_> {
    /// The components that are needed with these schedulers built: none for those that the user gave.
    fn components(&self, built: &BTreeSet<Scheduler>) -> impl Iterator<Item = &'static Component> {
        let pinned: BTreeSet<_> =
            built.iter().filter(|scheduler| !self.given.contains_key(scheduler)).copied().collect();
        components_for_kind(&pinned).collect::<Vec<_>>().into_iter()
    }
}

/// A scheduler with images of its programs; nothing for one that does not become Deployments.
async fn deployed(
    scheduler: Scheduler,
    given: Option<&Arc<GivenScheduler>>,
    toolbox: &Toolbox,
) -> Result<Option<DeployedScheduler>, ClusterError> {
    let mut made = Vec::new();
    for name in in_cluster::programs(installation(scheduler)) {
        let path = match given {
            Some(given) => given.program(name).map(|program| &program.path),
            None => Some(&toolbox.get(name)?.path),
        };
        // A program that the scheduler does without may not have been given.
        if let Some(path) = path {
            made.push(images::of_program(name, path, Some(NOBODY)).await?);
        }
    }
    let deployed = DeployedScheduler { scheduler, images: made, given: given.cloned() };
    Ok((!deployed.images.is_empty()).then_some(deployed))
}

/// Whether this machine can install a chart in a cluster of containers; asked before an operator is built for one.
///
/// # Errors
/// [`ClusterError::Preflight`].
pub async fn can_install_charts() -> Result<(), ClusterError> {
    let engine = host::check().await;
    preflight::require(vec![
        Check::new("helm", Helm::on_path().version().await),
        Check::new("containers", engine.map(|engine| engine.version)),
    ])
}

/// The reference controller with images of its programs.
async fn reference(program: &OwnProgram) -> Result<UnderTest, ClusterError> {
    Ok(UnderTest::Reference {
        program: program.clone(),
        image: images::of_reference(CONTROLLER, program.own_path(), Some(NOBODY)).await?,
        init: images::of_reference(INIT, None, Some(NOBODY)).await?,
    })
}

impl OperatorByChart<'_> {
    async fn under_test(self) -> Result<UnderTest, ClusterError> {
        let name = &self.operator.description.name;
        let init = match self.chart.init.as_ref().zip(self.init) {
            Some((init, path)) => {
                let reference = format!("{REPOSITORY}/{}:{}", init.name, self.operator.init_tag(init)?);
                Some(images::named(&init.name, path, Some(NOBODY), &reference).await?)
            }
            None => None,
        };
        let operator = images::of_program(name, self.operator.program(), Some(NOBODY)).await?;
        Ok(UnderTest::ByChart {
            operator: self.operator.clone(),
            chart: Box::new(self.chart.clone()),
            images: OperatorImages { operator, init },
        })
    }
}

/// What the host must have: helm for charts, an engine, cargo, and what the builds of components need.
async fn host_for(wanted: &Wanted<'_>, built: &BTreeSet<Scheduler>) -> Result<Engine, ClusterError> {
    let mut components: Vec<_> = wanted.components(built).collect();
    if wanted.node_image.is_none() && !node_image::is_there(wanted.kubernetes).await {
        components.extend(components_of_node_image(wanted.kubernetes));
    }
    let ours = components.into_iter().filter(|component| !wanted.overrides.contains_key(component.name));
    let mut checks = preflight::checks(&Toolbox::to_build(ours).await).await;
    // The plugin is always linked here, and so is pause for an image of ours.
    checks.push(Check::new("cargo", images::can_link().await));
    if !wanted.releases.is_empty() || wanted.operator.is_some() {
        checks.push(Check::new("helm", Helm::on_path().version().await));
    }
    let engine = host::check().await;
    checks.push(Check::new("containers", engine.as_ref().map(|engine| engine.version.clone())));
    preflight::require(checks)?;
    engine
}
