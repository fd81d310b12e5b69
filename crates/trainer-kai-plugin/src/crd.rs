//! The field `podGroupPolicy.kaiScheduler` in the trainer's CRDs: a JSON patch that suits both, and whether a CRD has it.

use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use serde_json::Value;

/// The CRDs of the two runtimes.
pub const CRDS: [&str; 2] =
    ["trainingruntimes.trainer.kubeflow.org", "clustertrainingruntimes.trainer.kubeflow.org"];

/// What `kubectl patch crd NAME --type=json` is given for each of them.
pub const PATCH: &str = include_str!("../../../manifests/trainer-kai-plugin/crd-patch.json");

/// Where the field is in the schema of a version.
const FIELD: &str =
    "/schema/openAPIV3Schema/properties/spec/properties/podGroupPolicy/properties/kaiScheduler";

/// Whether every version of a CRD that is served has the field; otherwise runtimes lose it on their way in.
pub fn has_field(crd: &Value) -> bool {
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
    let mut served = versions.into_iter().flatten().filter(|version| version["served"] == true).peekable();
    served.peek().is_some() && served.all(|version| version.pointer(FIELD).is_some())
}

/// The first of [`CRDS`] that lacks the field, as a sentence about it.
///
/// # Errors
/// That sentence, or why nothing can be known.
pub async fn have_field(client: &Client) -> Result<(), String> {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
    for name in CRDS {
        match api.get_opt(name).await {
            Ok(Some(crd)) if has_field(&crd.data) => {}
            Ok(Some(_)) => {
                return Err(format!(
                    "{name} has no podGroupPolicy.kaiScheduler, so that policies are dropped; add it: \
                     trainer-kai-plugin crd-patch > patch.json && kubectl patch crd {name} --type=json --patch-file=patch.json"
                ));
            }
            Ok(None) => return Err(format!("{name} is not installed: is the trainer?")),
            Err(error) => return Err(format!("cannot get {name}: {error}")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A version of a CRD with these policies.
    fn version(served: bool, policies: Value) -> Value {
        let policy = json!({"podGroupPolicy": {"properties": policies}});
        let spec = json!({"spec": {"properties": policy}});
        json!({"name": "v1alpha1", "served": served, "schema": {"openAPIV3Schema": {"properties": spec}}})
    }

    #[test]
    fn every_served_version_must_have_the_field() {
        let crd = |versions: Value| json!({"spec": {"versions": versions}});
        let [with, without] = [json!({"kaiScheduler": {}}), json!({"volcano": {}})];
        assert!(has_field(&crd(json!([version(true, with.clone())]))));
        assert!(has_field(&crd(json!([version(true, with.clone()), version(false, without.clone())]))));
        assert!(!has_field(&crd(json!([version(true, with), version(true, without.clone())]))));
        assert!(!has_field(&crd(json!([version(true, without)]))));
        assert!(!has_field(&crd(json!([]))));
        assert!(!has_field(&json!(null)));
    }

    /// The patch adds one object at the place that is looked at, and what it adds is what the proposal has: one optional
    /// string without a default, a pattern or a timeout beside it.
    #[test]
    fn the_patch_adds_the_field() {
        let patch: Value = serde_json::from_str(PATCH).unwrap();
        let [test, add] = patch.as_array().unwrap().as_slice() else { panic!("{patch}") };
        assert_eq!(
            (&test["op"], &test["path"], &test["value"]),
            (&json!("test"), &json!("/spec/versions/0/name"), &json!("v1alpha1"))
        );
        assert_eq!((&add["op"], &add["path"]), (&json!("add"), &json!(format!("/spec/versions/0{FIELD}"))));
        let mut schema = add["value"].clone();
        let queue = schema["properties"]["queue"].as_object_mut().unwrap();
        assert!(queue.remove("description").is_some());
        assert_eq!(schema["properties"], json!({"queue": {"type": "string"}}));
        assert_eq!((&schema["type"], schema.get("required")), (&json!("object"), None));
    }
}
