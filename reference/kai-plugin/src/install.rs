//! The files of `manifests/trainer-kai-plugin`, in the order to apply them.

use grove_yaml::{YamlError, documents};
use serde_json::Value;
use webhook_server::certificates::CertificateObjects;

pub const NAMESPACE: &str = "trainer-kai-plugin";
pub(crate) const CERTIFICATE_OBJECTS: CertificateObjects = CertificateObjects {
    secret: "trainer-kai-plugin-webhook",
    mutating: &["trainer-kai-plugin"],
    validating: &["trainer-kai-plugin"],
};

const FILES: [&str; 4] = [
    include_str!("../../../manifests/trainer-kai-plugin/rbac.yaml"),
    include_str!("../../../manifests/trainer-kai-plugin/service.yaml"),
    include_str!("../../../manifests/trainer-kai-plugin/deployment.yaml"),
    include_str!("../../../manifests/trainer-kai-plugin/webhooks.yaml"),
];

pub fn objects(image: Option<&str>) -> Result<Vec<Value>, YamlError> {
    let mut objects = Vec::new();
    for file in FILES {
        objects.extend(documents(file)?);
    }
    if let Some(image) = image {
        for deployment in objects.iter_mut().filter(|object| object["kind"] == "Deployment") {
            deployment["spec"]["template"]["spec"]["containers"][0]["image"] = image.into();
        }
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::admission::{PATCH_TRAIN_JOB_PATH, VALIDATE_RUNTIME_PATH, VALIDATE_TRAIN_JOB_PATH};
    use crate::crd;

    fn of_kind(kind: &str) -> Vec<Value> {
        let all = objects(Some("registry/plugin:1")).unwrap();
        all.into_iter().filter(|object| object["kind"] == kind).collect()
    }

    #[test]
    fn every_path_is_registered_and_every_webhook_is_served() {
        let configurations: Vec<_> = ["Mutating", "Validating"]
            .iter()
            .flat_map(|kind| of_kind(&format!("{kind}WebhookConfiguration")))
            .collect();
        let names: Vec<_> =
            configurations.iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect();
        assert_eq!(names, [CERTIFICATE_OBJECTS.mutating[0], CERTIFICATE_OBJECTS.validating[0]]);
        let webhooks = configurations.iter().flat_map(|object| object["webhooks"].as_array().unwrap());
        let paths: BTreeSet<_> =
            webhooks.map(|webhook| webhook["clientConfig"]["service"]["path"].as_str().unwrap()).collect();
        assert_eq!(
            paths,
            BTreeSet::from([PATCH_TRAIN_JOB_PATH, VALIDATE_RUNTIME_PATH, VALIDATE_TRAIN_JOB_PATH])
        );
    }

    #[test]
    fn permissions_are_limited_to_runtimes_and_the_certificate() {
        let roles = [of_kind("ClusterRole"), of_kind("Role")].concat();
        let rules: Vec<_> = roles.iter().flat_map(|role| role["rules"].as_array().unwrap()).collect();
        let granted = |resource: &str| {
            let is_for = |rule: &&&Value| rule["resources"].as_array().unwrap().contains(&json!(resource));
            let grant = |rule: &&Value| (rule["verbs"].clone(), rule["resourceNames"].clone());
            rules.iter().filter(is_for).map(grant).collect::<Vec<_>>()
        };
        for runtimes in ["trainingruntimes", "clustertrainingruntimes"] {
            assert_eq!(granted(runtimes), [(json!(["get"]), Value::Null)]);
        }
        assert_eq!(granted("customresourcedefinitions"), [(json!(["get"]), json!(crd::CRDS))]);
        assert_eq!(
            granted("mutatingwebhookconfigurations"),
            [(json!(["get", "patch"]), json!(CERTIFICATE_OBJECTS.mutating))]
        );
        assert_eq!(
            granted("secrets"),
            [
                (json!(["create"]), Value::Null),
                (json!(["get", "list", "watch", "update"]), json!([CERTIFICATE_OBJECTS.secret])),
            ]
        );
        let all = rules.iter().flat_map(|rule| rule["resources"].as_array().unwrap());
        let resources: BTreeSet<_> = all.map(|resource| resource.as_str().unwrap()).collect();
        assert_eq!(resources.len(), 6, "{resources:?}");
    }

    #[test]
    fn the_image_option_replaces_the_image() {
        let deployment = &of_kind("Deployment")[0];
        assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], "registry/plugin:1");
        assert_eq!(deployment["metadata"]["namespace"], NAMESPACE);
    }
}
