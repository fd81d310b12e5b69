//! The objects that the controller needs in a cluster, in the order to apply them. Use server-side apply: the
//! CRDs embed the whole PodSpec, and the annotation of client-side apply comes near its size limit.

use grove_yaml as yaml;
use grove_yaml::YamlError;
use k8s_openapi::ByteString;
use serde_json::{Value, json};

pub const NAMESPACE: &str = "grove-system";
pub const SERVICE_ACCOUNT: &str = "grove-backend-controller";
pub(super) const SECRET: &str = "grove-backend-controller-webhook";
pub const MUTATING_CONFIGURATIONS: [&str; 1] = ["podcliqueset-defaulting-webhook"];
pub const VALIDATING_CONFIGURATIONS: [&str; 3] =
    ["podcliqueset-validating-webhook", "clustertopology-validating-webhook", "scale-validating-webhook"];
const RBAC: &str = include_str!("../../../../manifests/controller/rbac.yaml");
pub const CRDS: &str = include_str!("../../../../manifests/controller/crds.yaml");
const WEBHOOKS: &str = include_str!("../../../../manifests/controller/webhooks.yaml");

const SERVICE: &str = include_str!("../../../../manifests/controller/service.yaml");
const DEPLOYMENT: &str = include_str!("../../../../manifests/controller/deployment.yaml");
const DISRUPTION: &str = include_str!("../../../../manifests/controller/pdb.yaml");
const CONFIGURATION: &str = "grove-backend-controller-configuration";

#[derive(Clone, Debug)]
pub enum WebhookTarget {
    /// Base URL of a process outside the cluster, such as `https://127.0.0.1:9443`.
    Url(String),
    Service {
        name: String,
        /// Port of the Service, not of its pods.
        port: i32,
    },
}

#[derive(Clone, Debug)]
pub struct InstallOptions {
    pub webhooks: WebhookTarget,
    /// The certificate authority of the webhooks, PEM.
    pub ca_bundle: Vec<u8>,
}

pub fn objects(options: &InstallOptions) -> Result<Vec<Value>, InstallError> {
    let mut objects = yaml::documents(RBAC)?;
    objects.extend(yaml::documents(CRDS)?);
    for mut configuration in yaml::documents(WEBHOOKS)? {
        options.set_target(&mut configuration);
        objects.push(configuration);
    }
    Ok(objects)
}

pub fn in_cluster(image: &str, configuration: &Value) -> Result<Vec<Value>, InstallError> {
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
        deployment["spec"]["template"]["spec"]["containers"][0]["image"] = image.into();
    }
    Ok(objects)
}

#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("manifest: {0}")]
    Manifest(#[from] YamlError),
    #[error("object: {0}")]
    Object(#[from] serde_json::Error),
}

impl InstallOptions {
    fn set_target(&self, configuration: &mut Value) {
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
