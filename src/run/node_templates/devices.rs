use std::collections::BTreeSet;

use conformance_history::text;
use serde_json::{Value, json};

use super::fields::{self, Wrong, wrong};

const API_VERSION: &str = "resource.k8s.io/v1";
const OF_METADATA: [&str; 10] = [
    "generateName",
    "labels",
    "annotations",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "ownerReferences",
    "finalizers",
];

/// Fields of a ResourceSlice whose devices belong to several nodes. No template includes such a slice.
pub(super) const OF_SEVERAL_NODES: [&str; 3] = ["nodeSelector", "allNodes", "perDeviceNodeSelection"];

fn check(object: &Value, kind: &str) -> Result<(), Wrong> {
    fields::mapping(object, "", &["apiVersion", "kind", "metadata", "spec"], &[])?;
    fields::mapping(&object["metadata"], "metadata", &["name"], &OF_METADATA)?;
    if object["apiVersion"] != API_VERSION {
        let reason =
            format!("{} is not a supported version of {kind}: write {API_VERSION}", object["apiVersion"]);
        return Err(wrong("apiVersion", reason));
    }
    Ok(())
}

/// Reads a ResourceSlice. Returns the name of its node, and the slice without that name.
pub(super) fn slice(object: &Value) -> Result<(String, Value), Wrong> {
    check(object, "ResourceSlice")?;
    let spec = &object["spec"];
    let used = ["driver", "nodeName", "pool", "devices", "sharedCounters"];
    fields::mapping(spec, "spec", &used, &OF_SEVERAL_NODES)?;
    if let Some(field) = OF_SEVERAL_NODES.iter().find(|field| !spec[**field].is_null()) {
        let reason = "only devices of one node are simulated: write spec.nodeName instead";
        return Err(wrong(format!("spec.{field}"), reason));
    }
    let node = text(&spec["nodeName"]);
    if node.is_empty() {
        return Err(wrong("spec.nodeName", "the field is missing: write the name of a Node of this file"));
    }
    if text(&spec["driver"]).is_empty() {
        return Err(wrong("spec.driver", "the field is missing: write the name of the driver"));
    }
    fields::mapping(&spec["pool"], "spec.pool", &["name", "generation", "resourceSliceCount"], &[])?;
    for (index, device) in fields::items(&spec["devices"], "spec.devices")?.iter().enumerate() {
        if text(&device["name"]).is_empty() {
            return Err(wrong(format!("spec.devices[{index}].name"), "the field is missing: write a name"));
        }
    }
    let mut kept = spec.clone();
    if let Some(fields) = kept.as_object_mut() {
        fields.remove("nodeName");
    }
    Ok((node.to_owned(), json!({"spec": kept})))
}

/// Removes what identifies one node's devices: UUIDs, attributes with a value in `identity`, and pool names.
pub(super) fn strip(slices: &mut [Value], identity: &BTreeSet<&str>) {
    let pool_of = |slice: &Value| {
        (slice["spec"]["driver"].to_string(), text(&slice["spec"]["pool"]["name"]).to_owned())
    };
    let mut pools: Vec<_> = Vec::new();
    for slice in slices {
        let pool = pool_of(slice);
        let number = pools.iter().position(|known| *known == pool).unwrap_or_else(|| {
            pools.push(pool);
            pools.len() - 1
        });
        slice["spec"]["pool"] = json!({"name": format!("pool-{number}")});
        let devices = slice["spec"].get_mut("devices").and_then(Value::as_array_mut);
        for device in devices.into_iter().flatten() {
            if let Some(attributes) = device.get_mut("attributes").and_then(Value::as_object_mut) {
                attributes.retain(|name, value| {
                    let short = name.rsplit('/').next().unwrap_or(name);
                    !short.eq_ignore_ascii_case("uuid") && !identity.contains(text(&value["string"]))
                });
            }
        }
    }
}

pub(super) fn class(object: &Value) -> Result<Value, Wrong> {
    check(object, "DeviceClass")?;
    let name = text(&object["metadata"]["name"]);
    if name.is_empty() {
        return Err(wrong("metadata.name", "the field is missing: write a name"));
    }
    Ok(json!({
        "apiVersion": API_VERSION, "kind": "DeviceClass", "metadata": {"name": name}, "spec": object["spec"],
    }))
}
