//! Installs the reference operator from its own manifests, or another operator from its Helm chart.

use std::path::Path;
use std::sync::Arc;

use conformance_contract::names;
use conformance_install::cluster_spec::ControllerSpec;
use conformance_install::operator::{Operator, OperatorChart, OperatorImages};
use conformance_install::schedulers::helm::{Chart, Helm, ReleaseOf};
use conformance_programs::images::Image;
use conformance_programs::own_program::{CONTROLLER, CONTROLLER_NAMESPACE, OwnProgram};
use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use super::config::kubeconfig_in;
use super::rollout::{CHART_ROLLOUT, ROLLOUT, deployment_ready, with_status_of_pods};
use crate::polling::until_complete;
use crate::{ClusterError, deploy};

#[derive(Debug, Clone)]
pub enum UnderTest {
    Reference {
        program: OwnProgram,
        image: Image,
        /// The image of init containers that wait for other cliques.
        init: Image,
    },
    ByChart {
        operator: Arc<Operator>,
        chart: Box<OperatorChart>,
        images: OperatorImages,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorPlace {
    pub namespace: String,
    pub deployment: String,
    pub lease: String,
}

impl UnderTest {
    pub fn place(&self) -> OperatorPlace {
        let (namespace, deployment, lease) = match self {
            Self::Reference { .. } => (CONTROLLER_NAMESPACE, CONTROLLER, names::CONTROLLER_LEASE),
            Self::ByChart { operator, chart, .. } => {
                (&*operator.description.namespace, &*chart.deployment, &*chart.lease)
            }
        };
        let [namespace, deployment, lease] = [namespace, deployment, lease].map(str::to_owned);
        OperatorPlace { namespace, deployment, lease }
    }

    pub fn images(&self) -> impl Iterator<Item = &Image> {
        let (own, init) = match self {
            Self::Reference { image, init, .. } => (image, Some(init)),
            Self::ByChart { images, .. } => (&images.operator, images.init.as_ref()),
        };
        std::iter::once(own).chain(init)
    }

    /// Installs the operator and waits until it is ready. Errors include Helm's output and the pods' status.
    pub(super) async fn install(
        &self,
        client: &Client,
        spec: &ControllerSpec,
        folder: &Path,
    ) -> Result<(), ClusterError> {
        let place = self.place();
        let limit = match self {
            Self::Reference { program, image, init } => {
                let mut settings = spec.configuration.clone();
                settings["initContainer"] = json!({"image": init.reference});
                let configuration = folder.join("operator-configuration.yaml");
                conformance_programs::home::write(&configuration, settings.to_string())?;
                let flags =
                    [format!("--image={}", image.reference), format!("--config={}", configuration.display())];
                let mut objects = program.manifests(flags).await?;
                for deployment in objects.iter_mut().filter(|object| object["kind"] == "Deployment") {
                    add_faults(deployment, &spec.faults);
                }
                deploy::install(client, &objects).await?;
                ROLLOUT
            }
            Self::ByChart { operator, chart, images } => {
                deploy::install(client, &operator.crds()?).await?;
                let values = operator.chart_values(chart, images, spec)?;
                let reference = operator.chart_folder(chart).display().to_string();
                let source = Chart { reference, repository: None, version: None };
                let release = ReleaseOf { name: &chart.release, namespace: &place.namespace, chart: &source };
                let (kubeconfig, folder) = (kubeconfig_in(folder), folder.join("helm"));
                let installed = Helm::on_path().install_chart(release, &values, &kubeconfig, &folder).await;
                with_status_of_pods(installed, client, &place.namespace).await?;
                CHART_ROLLOUT
            }
        };
        deployment_ready(client, &place.namespace, &place.deployment, limit).await?;
        webhooks_answer(client).await
    }
}

/// Waits for the webhooks: kube-proxy updates its rules a moment after the pods are ready.
async fn webhooks_answer(client: &Client) -> Result<(), ClusterError> {
    let kind = GroupVersionKind::gvk("grove.io", "v1alpha1", "ClusterTopologyBinding");
    let resource = ApiResource::from_gvk(&kind);
    let bindings: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let probe = DynamicObject::new("probe", &resource)
        .data(json!({"spec": {"levels": [{"domain": "host", "key": "kubernetes.io/hostname"}]}}));
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    until_complete("the operator's webhook", ROLLOUT, || async {
        Ok(bindings.create(&dry_run, &probe).await.err().map(|error| error.to_string()))
    })
    .await
}

pub(super) fn add_faults(workload: &mut Value, faults: &[String]) {
    let args = &mut workload["spec"]["template"]["spec"]["containers"][0]["args"];
    if let Some(args) = args.as_array_mut() {
        args.extend(faults.iter().map(|fault| Value::from(format!("--fault={fault}"))));
    }
}
