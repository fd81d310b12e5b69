use std::path::PathBuf;

use conformance_contract::scheduler::Scheduler;
use conformance_install::cluster_spec::ControllerSpec;
use conformance_install::schedulers::helm::Release;
use conformance_install::schedulers::in_cluster::DeployedScheduler;
use conformance_programs::images::Image;
use serde_json::Value;

use super::operator::UnderTest;

#[derive(Debug, Clone)]
pub struct KindSpec {
    pub kind: PathBuf,
    pub node_image: String,
    /// kind's configuration, as [`super::config::for_host`] returns it.
    pub config: Value,
    pub operator: UnderTest,
    pub plugin_image: Image,
    /// The schedulers that run as Deployments of images built here. kube-scheduler is part of the node image.
    pub schedulers: Vec<DeployedScheduler>,
    pub releases: Vec<Release>,
    pub controller: ControllerSpec,
    pub plugin_faults: Vec<String>,
}

impl KindSpec {
    pub fn own_images(&self) -> impl Iterator<Item = &Image> {
        let of_schedulers = self.schedulers.iter().flat_map(|deployed| &deployed.images);
        self.operator.images().chain([&self.plugin_image]).chain(of_schedulers)
    }

    pub(super) fn images_of_nodes(&self) -> impl Iterator<Item = &str> {
        self.operator.images().chain([&self.plugin_image]).map(|image| image.reference.as_str())
    }

    pub(super) fn images_of_schedulers(&self) -> impl Iterator<Item = &str> {
        self.schedulers.iter().flat_map(|deployed| &deployed.images).map(|image| image.reference.as_str())
    }

    pub fn release(&self, scheduler: Scheduler) -> Option<&Release> {
        self.releases.iter().find(|release| release.scheduler == scheduler)
    }
}
