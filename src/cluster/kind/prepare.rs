use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;
use conformance_install::catalogue::{components_for_kind, components_of_node_image};
use conformance_install::cluster_spec::ControllerSpec;
use conformance_install::operator::{Operator, OperatorChart, OperatorImages};
use conformance_install::schedulers::helm::{Helm, Release};
use conformance_install::schedulers::in_cluster::{self, DeployedScheduler};
use conformance_install::schedulers::{GivenScheduler, installation};
use conformance_programs::components::{Component, Overrides, Progress, Toolbox, to_build_for};
use conformance_programs::docker::Engine;
use conformance_programs::images::{self, NOBODY, REPOSITORY};
use conformance_programs::own_program::{CONTROLLER, INIT, OwnProgram, PLUGIN};
use conformance_programs::preflight::{self, Check};

use super::{KindSpec, UnderTest, config, host, node_image};
use crate::ClusterError;

#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    pub kubernetes: Kubernetes,
    /// The schedulers to install. A scheduler without a chart is built, or is one that the user gave.
    pub schedulers: &'a BTreeSet<Scheduler>,
    pub given: &'a BTreeMap<Scheduler, Arc<GivenScheduler>>,
    pub releases: &'a [Release],
    pub controller: &'a ControllerSpec,
    pub plugin_faults: &'a [String],
    pub config: &'a str,
    pub node_image: Option<&'a str>,
    pub overrides: &'a Overrides,
    pub controller_program: &'a OwnProgram,
    pub operator: Option<OperatorByChart<'a>>,
}

#[derive(Debug, Clone, Copy)]
pub struct OperatorByChart<'a> {
    pub operator: &'a Arc<Operator>,
    pub chart: &'a OperatorChart,
    pub init: Option<&'a Path>,
}

/// Builds everything that a kind cluster needs. First checks the whole host, because builds take minutes.
pub async fn prepare(
    wanted: Wanted<'_>,
    progress: &dyn Progress,
) -> Result<(KindSpec, Toolbox), ClusterError> {
    let by_chart: BTreeSet<_> = wanted.releases.iter().map(|release| release.scheduler).collect();
    let built: BTreeSet<_> = wanted.schedulers.difference(&by_chart).copied().collect();
    let engine = check_host(&wanted, &built).await?;
    let config = config::for_host(wanted.config, &engine.cgroup_version)?;
    let toolbox = Toolbox::prepare_only(wanted.components(&built), wanted.overrides, progress).await?;
    let node_image = match wanted.node_image {
        Some(image) => image.to_owned(),
        None => node_image::published_or_built(wanted.kubernetes, wanted.overrides, progress).await?,
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
        // This image has no user, because only root may write to the kubelet's plugin folder.
        plugin_image: images::of_reference(PLUGIN, None, None).await?,
        schedulers,
        releases: wanted.releases.to_vec(),
        controller: wanted.controller.clone(),
        plugin_faults: wanted.plugin_faults.to_vec(),
    };
    Ok((spec, toolbox))
}

impl Wanted<'_> {
    fn components(&self, built: &BTreeSet<Scheduler>) -> impl Iterator<Item = &'static Component> {
        let pinned: BTreeSet<_> =
            built.iter().filter(|scheduler| !self.given.contains_key(scheduler)).copied().collect();
        components_for_kind(&pinned).collect::<Vec<_>>().into_iter()
    }
}

/// Returns `None` if the scheduler does not run as Deployments.
async fn deployed(
    scheduler: Scheduler,
    given: Option<&Arc<GivenScheduler>>,
    toolbox: &Toolbox,
) -> Result<Option<DeployedScheduler>, ClusterError> {
    let mut images = Vec::new();
    for name in in_cluster::programs(installation(scheduler)) {
        let path = match given {
            Some(given) => given.program(name).map(|program| &program.path),
            None => Some(&toolbox.get(name)?.path),
        };
        // The user may have left out an optional program.
        if let Some(path) = path {
            images.push(images::of_program(name, path, Some(NOBODY)).await?);
        }
    }
    let deployed = DeployedScheduler { scheduler, images, given: given.cloned() };
    Ok((!deployed.images.is_empty()).then_some(deployed))
}

pub async fn can_install_charts() -> Result<(), ClusterError> {
    let engine = host::check().await;
    preflight::require(vec![
        Check::new("helm", Helm::on_path().version().await),
        Check::new("containers", engine.map(|engine| engine.version)),
    ])?;
    Ok(())
}

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

async fn check_host(wanted: &Wanted<'_>, built: &BTreeSet<Scheduler>) -> Result<Engine, ClusterError> {
    let mut components: Vec<_> = wanted.components(built).collect();
    if wanted.node_image.is_none() && !node_image::is_pulled(wanted.kubernetes).await {
        components.extend(components_of_node_image(wanted.kubernetes));
    }
    let not_given = components.into_iter().filter_map(|component| to_build_for(component, wanted.overrides));
    let mut checks = preflight::checks(&Toolbox::to_build(not_given).await).await;
    // Cargo always links the GPU plugin and, for a new node image, also the pause program.
    checks.push(Check::new("cargo", images::can_link().await));
    if !wanted.releases.is_empty() || wanted.operator.is_some() {
        checks.push(Check::new("helm", Helm::on_path().version().await));
    }
    let engine = host::check().await;
    checks.push(Check::new("containers", engine.as_ref().map(|engine| engine.version.clone())));
    preflight::require(checks)?;
    engine
}
