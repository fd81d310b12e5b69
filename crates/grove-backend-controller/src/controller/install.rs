//! Everything the controller needs in a cluster, in the order to apply it.
//!
//! Namespace, service account with its permissions, CustomResourceDefinitions, webhook configurations. Their fixed
//! parts are in the files of `manifests/controller`, which `kubectl apply -k` uses unchanged; this module reads the
//! same files and points the webhooks elsewhere. The CustomResourceDefinitions embed the whole PodSpec: use
//! server-side apply, because the annotation of client-side apply comes near its size limit.

use grove_yaml as yaml;
use grove_yaml::YamlError;
use k8s_openapi::ByteString;
use serde_json::{Value, json};

/// The controller's namespace.
pub const NAMESPACE: &str = "grove-system";
/// The controller's service account.
pub const SERVICE_ACCOUNT: &str = "grove-backend-controller";
/// The Secret of the webhooks' certificate.
pub(super) const SECRET: &str = "grove-backend-controller-webhook";
/// The controller's MutatingWebhookConfigurations.
pub const MUTATING_CONFIGURATIONS: [&str; 1] = ["podcliqueset-defaulting-webhook"];
/// The controller's ValidatingWebhookConfigurations.
pub const VALIDATING_CONFIGURATIONS: [&str; 3] =
    ["podcliqueset-validating-webhook", "clustertopology-validating-webhook", "scale-validating-webhook"];
/// Namespace, service account, roles and their bindings.
const RBAC: &str = include_str!("../../../../manifests/controller/rbac.yaml");
/// The CustomResourceDefinitions, made from the types of `grove-api` by `cargo run -p generate`.
pub const CRDS: &str = include_str!("../../../../manifests/controller/crds.yaml");
/// The webhook configurations, for the Service of the Deployment.
const WEBHOOKS: &str = include_str!("../../../../manifests/controller/webhooks.yaml");

/// The Services.
const SERVICE: &str = include_str!("../../../../manifests/controller/service.yaml");
/// The Deployment.
const DEPLOYMENT: &str = include_str!("../../../../manifests/controller/deployment.yaml");
/// Its PodDisruptionBudget.
const DISRUPTION: &str = include_str!("../../../../manifests/controller/pdb.yaml");
/// The ConfigMap that the Deployment reads.
const CONFIGURATION: &str = "grove-backend-controller-configuration";

/// Where the API server finds the webhooks.
#[derive(Clone, Debug)]
pub enum WebhookTarget {
    /// Base URL of a process outside the cluster, such as `https://127.0.0.1:9443`.
    Url(String),
    /// A Service in [`NAMESPACE`].
    Service {
        /// Its name.
        name: String,
        /// Its port.
        port: i32,
    },
}

/// What to install.
#[derive(Clone, Debug)]
pub struct InstallOptions {
    /// Where the webhooks are.
    pub webhooks: WebhookTarget,
    /// The certificate authority of their certificate, PEM.
    pub ca_bundle: Vec<u8>,
}

/// All objects, in the order to apply them.
///
/// # Errors
/// A manifest or an object could not be turned into JSON.
pub fn objects(options: &InstallOptions) -> Result<Vec<Value>, InstallError> {
    let mut objects = yaml::documents(RBAC)?;
    objects.extend(yaml::documents(CRDS)?);
    for mut configuration in yaml::documents(WEBHOOKS)? {
        options.aim(&mut configuration);
        objects.push(configuration);
    }
    Ok(objects)
}

/// Everything of `manifests/controller`, in the order to apply it, with this image and this configuration; and with these
/// faults, of which there are none but in mutants.
///
/// # Errors
/// A manifest or an object could not be turned into JSON.
pub fn in_cluster(image: &str, configuration: &Value, faults: &[String]) -> Result<Vec<Value>, InstallError> {
    let mut objects = yaml::documents(RBAC)?;
    objects.extend(yaml::documents(CRDS)?);
    objects.push(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIGURATION, "namespace": NAMESPACE},
        "data": {"configuration.yaml": yaml::write(configuration)?},
    }));
    for text in [SERVICE, DEPLOYMENT, DISRUPTION, WEBHOOKS] {
        objects.extend(yaml::documents(text)?);
    }
    for deployment in objects.iter_mut().filter(|object| object["kind"] == "Deployment") {
        let container = &mut deployment["spec"]["template"]["spec"]["containers"][0];
        container["image"] = image.into();
        if let Some(args) = container["args"].as_array_mut() {
            args.extend(faults.iter().map(|fault| Value::from(format!("--fault={fault}"))));
        }
    }
    Ok(objects)
}

/// An object could not be made.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// A manifest of this program is no good.
    #[error("manifest: {0}")]
    Manifest(#[from] YamlError),
    /// An object is no good.
    #[error("object: {0}")]
    Object(#[from] serde_json::Error),
}

impl InstallOptions {
    /// Points the webhooks of a configuration at the target; their paths stay.
    fn aim(&self, configuration: &mut Value) {
        for webhook in configuration["webhooks"].as_array_mut().into_iter().flatten() {
            let client = &mut webhook["clientConfig"];
            let path = client["service"]["path"].as_str().unwrap_or_default().to_owned();
            *client = self.client_config(&path);
        }
    }

    fn client_config(&self, path: &str) -> Value {
        let bundle = ByteString(self.ca_bundle.clone());
        match &self.webhooks {
            WebhookTarget::Url(base) => {
                json!({"url": format!("{}{path}", base.trim_end_matches('/')), "caBundle": bundle})
            }
            WebhookTarget::Service { name, port } => {
                let service = json!({"namespace": NAMESPACE, "name": name, "path": path, "port": port});
                json!({"service": service, "caBundle": bundle})
            }
        }
    }
}

#[cfg(test)]
#[path = "install_tests.rs"]
mod tests;
