//! Removes from the user's objects what belongs to the cluster from which they were exported.

use conformance_history::text;
use serde_json::Value;

/// Metadata of an exported object. The garbage collector would delete an object whose owner does not exist.
const OF_CLUSTER: [&str; 9] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
    "ownerReferences",
];
/// The annotation of a claim whose `volumeName` Kubernetes has set, or of a volume whose `claimRef` it has set.
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
/// With `bind-completed`, a new claim without its volume would be lost.
const OF_BINDING: [&str; 3] =
    [BOUND_BY_CONTROLLER, "pv.kubernetes.io/bind-completed", "volume.kubernetes.io/selected-node"];

/// Removes what the API server, its controllers and the operator have set in the cluster of the object.
pub(crate) fn as_before_creation(mut object: Value) -> Value {
    let is_exported = object["metadata"]["uid"].is_string();
    let is_bound = !object["metadata"]["annotations"][BOUND_BY_CONTROLLER].is_null();
    let has_address = object["kind"] == "Service" && object["spec"]["clusterIP"] != "None";
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        if is_bound {
            spec.remove("volumeName");
        }
        if is_exported && has_address {
            spec.remove("clusterIP");
            spec.remove("clusterIPs");
        }
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        OF_CLUSTER.iter().for_each(|field| drop(metadata.remove(*field)));
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            OF_BINDING.iter().for_each(|annotation| drop(annotations.remove(*annotation)));
        }
        if let Some(finalizers) = metadata.get_mut("finalizers").and_then(Value::as_array_mut) {
            finalizers.retain(|finalizer| !is_of_controller(text(finalizer)));
        }
    }
    object
}

/// Whether a controller of Kubernetes or Grove adds the finalizer, such as `kubernetes.io/pvc-protection`.
fn is_of_controller(finalizer: &str) -> bool {
    let domain = finalizer.split('/').next().unwrap_or_default();
    domain == "grove.io" || domain == "kubernetes.io" || domain.ends_with(".kubernetes.io")
}
