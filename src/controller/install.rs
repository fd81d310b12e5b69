//! Everything the controller needs in a cluster, in the order to apply it.
//!
//! Namespace, CustomResourceDefinitions, service account with its permissions, webhook configurations. The
//! permissions are what `manifests/controller/rbac.yaml` says and no more. The CustomResourceDefinitions
//! embed the whole PodSpec: apply on the server's side, or the annotation of client-side apply overflows.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ServiceReference, ValidatingWebhook,
    ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::Serialize;
use serde_json::Value;

use super::admission::{
    DEFAULT_POD_CLIQUE_SET_PATH, VALIDATE_CLUSTER_TOPOLOGY_PATH, VALIDATE_POD_CLIQUE_SET_PATH,
};
use crate::api::crds;
use crate::api::names::GROVE_GROUP;
use crate::yaml::{self, YamlError};

/// The controller's namespace.
pub const NAMESPACE: &str = "grove-system";
/// The controller's service account.
pub const SERVICE_ACCOUNT: &str = "grove-backend-controller";
/// Namespace, service account, roles and their bindings.
const RBAC: &str = include_str!("../../manifests/controller/rbac.yaml");

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
    let mut objects = Vec::new();
    objects.extend(yaml::documents(RBAC)?);
    for crd in crds() {
        objects.push(serde_json::to_value(crd)?);
    }
    objects.push(typed(&options.defaulting())?);
    objects.push(typed(&options.validating(
        "podcliqueset-validating-webhook",
        "pcs.validating.webhooks.grove.io",
        POD_CLIQUE_SETS,
    ))?);
    let topology = ("clustertopology-validating-webhook", "clustertopology.validating.webhooks.grove.io");
    objects.push(typed(&options.validating(topology.0, topology.1, CLUSTER_TOPOLOGIES))?);
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

/// What a webhook is called for, and where.
#[derive(Clone, Copy)]
struct Webhook {
    resource: &'static str,
    path: &'static str,
}

const POD_CLIQUE_SETS: Webhook = Webhook { resource: "podcliquesets", path: VALIDATE_POD_CLIQUE_SET_PATH };
const CLUSTER_TOPOLOGIES: Webhook =
    Webhook { resource: "clustertopologybindings", path: VALIDATE_CLUSTER_TOPOLOGY_PATH };

impl InstallOptions {
    fn defaulting(&self) -> MutatingWebhookConfiguration {
        MutatingWebhookConfiguration {
            metadata: named("podcliqueset-defaulting-webhook"),
            webhooks: Some(vec![MutatingWebhook {
                name: "pcs.defaulting.webhooks.grove.io".to_owned(),
                admission_review_versions: vec!["v1".to_owned()],
                client_config: self.client_config(DEFAULT_POD_CLIQUE_SET_PATH),
                rules: Some(vec![rule(POD_CLIQUE_SETS.resource)]),
                failure_policy: Some("Fail".to_owned()),
                match_policy: Some("Exact".to_owned()),
                side_effects: "None".to_owned(),
                timeout_seconds: Some(10),
                ..MutatingWebhook::default()
            }]),
        }
    }

    fn validating(
        &self,
        configuration: &str,
        name: &str,
        webhook: Webhook,
    ) -> ValidatingWebhookConfiguration {
        ValidatingWebhookConfiguration {
            metadata: named(configuration),
            webhooks: Some(vec![ValidatingWebhook {
                name: name.to_owned(),
                admission_review_versions: vec!["v1".to_owned()],
                client_config: self.client_config(webhook.path),
                rules: Some(vec![rule(webhook.resource)]),
                failure_policy: Some("Fail".to_owned()),
                match_policy: Some("Exact".to_owned()),
                side_effects: "None".to_owned(),
                timeout_seconds: Some(10),
                ..ValidatingWebhook::default()
            }]),
        }
    }

    fn client_config(&self, path: &str) -> WebhookClientConfig {
        let ca_bundle = Some(ByteString(self.ca_bundle.clone()));
        match &self.webhooks {
            WebhookTarget::Url(base) => WebhookClientConfig {
                ca_bundle,
                url: Some(format!("{}{path}", base.trim_end_matches('/'))),
                service: None,
            },
            WebhookTarget::Service { name, port } => {
                let service = ServiceReference {
                    namespace: NAMESPACE.to_owned(),
                    name: name.clone(),
                    path: Some(path.to_owned()),
                    port: Some(*port),
                };
                WebhookClientConfig { ca_bundle, url: None, service: Some(service) }
            }
        }
    }
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

fn rule(resource: &str) -> RuleWithOperations {
    let one = |text: &str| Some(vec![text.to_owned()]);
    RuleWithOperations {
        api_groups: one(GROVE_GROUP),
        api_versions: one("v1alpha1"),
        operations: Some(vec!["CREATE".to_owned(), "UPDATE".to_owned()]),
        resources: one(resource),
        scope: None,
    }
}

fn typed<K: Resource<DynamicType = ()> + Serialize>(object: &K) -> serde_json::Result<Value> {
    serde_json::to_value(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> InstallOptions {
        InstallOptions {
            webhooks: WebhookTarget::Url("https://127.0.0.1:9443/".into()),
            ca_bundle: b"PEM".to_vec(),
        }
    }

    #[test]
    fn what_is_installed_in_which_order() {
        let objects = objects(&options()).unwrap();
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let lines = objects
            .iter()
            .map(|object| format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"])));
        insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r"
        Namespace grove-system
        ServiceAccount grove-backend-controller
        ClusterRole grove-backend-controller
        ClusterRoleBinding grove-backend-controller
        Role grove-backend-controller
        RoleBinding grove-backend-controller
        CustomResourceDefinition podcliquesets.grove.io
        CustomResourceDefinition podcliques.grove.io
        CustomResourceDefinition podcliquescalinggroups.grove.io
        CustomResourceDefinition clustertopologybindings.grove.io
        CustomResourceDefinition podgangs.scheduler.grove.io
        MutatingWebhookConfiguration podcliqueset-defaulting-webhook
        ValidatingWebhookConfiguration podcliqueset-validating-webhook
        ValidatingWebhookConfiguration clustertopology-validating-webhook
        ");
    }

    #[test]
    fn webhooks_fail_closed() {
        let objects = objects(&options()).unwrap();
        let configurations = objects.iter().filter(|object| object["webhooks"].is_array());
        for webhook in configurations.map(|object| &object["webhooks"][0]) {
            assert_eq!(webhook["failurePolicy"], "Fail");
            assert_eq!(webhook["clientConfig"]["caBundle"], "UEVN");
            let url = webhook["clientConfig"]["url"].as_str().unwrap();
            assert!(url.starts_with("https://127.0.0.1:9443/webhooks/"), "{url}");
        }
    }

    /// Least privilege: no wildcard, no secrets, and nothing but create on gang resources (KUBE-04).
    #[test]
    fn permissions_are_few() {
        let rules =
            objects(&options()).unwrap().into_iter().filter_map(|object| object["rules"].as_array().cloned());
        for rule in rules.flatten() {
            let list = |field: &str| -> Vec<String> {
                serde_json::from_value(rule[field].clone()).unwrap_or_default()
            };
            let (resources, verbs) = (list("resources"), list("verbs"));
            for field in ["apiGroups", "resources", "verbs"] {
                assert!(!list(field).contains(&"*".to_owned()), "wildcard in {rule}");
            }
            assert!(!resources.contains(&"secrets".to_owned()), "{rule}");
            if list("apiGroups").contains(&"scheduling.k8s.io".to_owned()) {
                assert_eq!(verbs, ["get", "list", "watch", "create"], "{rule}");
            }
        }
    }
}
