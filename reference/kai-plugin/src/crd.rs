use anyhow::Context;
use kube::api::{ApiResource, GroupVersionKind, NotUsed, Object};
use kube::{Api, Client};
use serde::Deserialize;
use serde::de::IgnoredAny;

pub const CRDS: [&str; 2] =
    ["trainingruntimes.trainer.kubeflow.org", "clustertrainingruntimes.trainer.kubeflow.org"];

/// A patch that adds the field `kaiScheduler`, for `kubectl patch crd NAME --type=json`.
pub const PATCH: &str = include_str!("../../../manifests/trainer-kai-plugin/crd-patch.json");

/// Only the fields that this program needs. A runtime's whole schema contains the pod schema ten times.
#[derive(Clone, Debug, Deserialize)]
struct Crd {
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Clone, Debug, Deserialize)]
struct Version {
    served: bool,
    #[serde(default)]
    schema: Validation,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Validation {
    #[serde(default, rename = "openAPIV3Schema")]
    root: Schema<Root>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Schema<P: Default> {
    #[serde(default)]
    properties: P,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Root {
    #[serde(default)]
    spec: Schema<Spec>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    #[serde(default)]
    pod_group_policy: Schema<Policies>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Policies {
    kai_scheduler: Option<IgnoredAny>,
}

impl Crd {
    /// Whether every served version has the field. Otherwise the API server drops the field from runtimes.
    fn has_field(&self) -> bool {
        let mut served = self.versions.iter().filter(|version| version.served).peekable();
        let has = |version: &Version| {
            let spec = &version.schema.root.properties.spec;
            spec.properties.pod_group_policy.properties.kai_scheduler.is_some()
        };
        served.peek().is_some() && served.all(has)
    }
}

pub async fn have_field(client: &Client) -> anyhow::Result<()> {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let api: Api<Object<Crd, NotUsed>> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    for name in CRDS {
        let crd = api.get_opt(name).await.with_context(|| format!("cannot get {name}"))?;
        let crd = crd.with_context(|| format!("{name} is not installed: install the Kubeflow trainer"))?;
        anyhow::ensure!(
            crd.spec.has_field(),
            "{name} has no podGroupPolicy.kaiScheduler, so that policies are dropped; add it: \
             trainer-kai-plugin crd-patch > patch.json && kubectl patch crd {name} --type=json --patch-file=patch.json"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn has_field(spec: Value) -> bool {
        serde_json::from_value::<Crd>(spec).unwrap().has_field()
    }

    fn version(served: bool, policies: Value) -> Value {
        let policy = json!({"podGroupPolicy": {"properties": policies}});
        let spec = json!({"spec": {"properties": policy}});
        json!({"name": "v1alpha1", "served": served, "schema": {"openAPIV3Schema": {"properties": spec}}})
    }

    #[test]
    fn every_served_version_must_have_the_field() {
        let crd = |versions: Value| json!({"versions": versions});
        let [with, without] = [json!({"kaiScheduler": {}}), json!({"volcano": {}})];
        assert!(has_field(crd(json!([version(true, with.clone())]))));
        assert!(has_field(crd(json!([version(true, with.clone()), version(false, without.clone())]))));
        assert!(!has_field(crd(json!([version(true, with), version(true, without.clone())]))));
        assert!(!has_field(crd(json!([version(true, without)]))));
        assert!(!has_field(crd(json!([]))));
        assert!(!has_field(json!({})));
        assert!(!has_field(crd(json!([{"name": "v1alpha1", "served": true}]))));
    }

    /// The proposal has one optional string, without default, pattern or timeout.
    #[test]
    fn the_patch_adds_the_field() {
        let patch: Value = serde_json::from_str(PATCH).unwrap();
        let [test, add] = patch.as_array().unwrap().as_slice() else { panic!("{patch}") };
        assert_eq!(
            (&test["op"], &test["path"], &test["value"]),
            (&json!("test"), &json!("/spec/versions/0/name"), &json!("v1alpha1"))
        );
        let path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/podGroupPolicy/properties/kaiScheduler";
        assert_eq!((&add["op"], &add["path"]), (&json!("add"), &json!(path)));
        let mut schema = add["value"].clone();
        let queue = schema["properties"]["queue"].as_object_mut().unwrap();
        assert!(queue.remove("description").is_some());
        assert_eq!(schema["properties"], json!({"queue": {"type": "string"}}));
        assert_eq!((&schema["type"], schema.get("required")), (&json!("object"), None));
    }
}
