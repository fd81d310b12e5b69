//! Reads one Node as a template. Fields that identify the node or describe its state are ignored.

use std::collections::{BTreeMap, BTreeSet};

use conformance_cluster::nodes::PODS;
use conformance_contract::names::{BLOCK, HOST, RACK};
use conformance_facts::quantity::{ONE, amount};
use conformance_history::{list, text};
use serde_json::{Map, Value, json};

use super::fields::{self, Wrong, wrong};
use super::{REPLICAS, Template};

const OF_METADATA: [&str; 9] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "ownerReferences",
    "finalizers",
];
const OF_SPEC: [&str; 6] =
    ["unschedulable", "providerID", "podCIDR", "podCIDRs", "externalID", "configSource"];
const OF_STATUS: [&str; 12] = [
    "phase",
    "conditions",
    "addresses",
    "daemonEndpoints",
    "nodeInfo",
    "images",
    "volumesInUse",
    "volumesAttached",
    "config",
    "runtimeHandlers",
    "features",
    "declaredFeatures",
];

const OURS: &str = "conformance.grove.io/";
const OF_STATE: [&str; 2] = ["node.kubernetes.io/", "node.cloudprovider.kubernetes.io/"];
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Leaves room for the case's namespace, which the suite prepends.
const MAX_DOMAIN: usize = 40;

pub(super) fn read(node: &Value) -> Result<Template, Wrong> {
    fields::mapping(node, "", &["apiVersion", "kind", "metadata", "spec", "status"], &[])?;
    if node["apiVersion"] != "v1" {
        return Err(wrong(
            "apiVersion",
            format!("{} is not a version of Node: write v1", node["apiVersion"]),
        ));
    }
    let (metadata, spec, status) = (&node["metadata"], &node["spec"], &node["status"]);
    fields::mapping(metadata, "metadata", &["name", "labels", "annotations"], &OF_METADATA)?;
    fields::mapping(spec, "spec", &["taints"], &OF_SPEC)?;
    fields::mapping(status, "status", &["allocatable", "capacity"], &OF_STATUS)?;
    let identity = identity(node);
    let mut labels = fields::labels(&metadata["labels"], "metadata.labels")?;
    let rack = domain(&mut labels, RACK)?;
    let block = domain(&mut labels, BLOCK)?;
    labels.retain(|key, value| key != HOST && !key.starts_with(OURS) && !identity.contains(value.as_str()));
    let (allocatable, pods) = allocatable(status)?;
    Ok(Template {
        name: text(&metadata["name"]).to_owned(),
        source: String::new(),
        count: count(metadata)?,
        labels,
        rack,
        block,
        taints: taints(spec)?,
        allocatable,
        pods,
        slices: Vec::new(),
    })
}

pub(super) fn identity(node: &Value) -> BTreeSet<&str> {
    let (metadata, provider) = (&node["metadata"], text(&node["spec"]["providerID"]));
    let mut found = BTreeSet::from([text(&metadata["uid"]), text(&metadata["labels"][HOST]), provider]);
    found.extend(provider.rsplit('/').next());
    for address in list(&node["status"]["addresses"]) {
        let value = text(&address["address"]);
        found.insert(value);
        if !text(&address["type"]).ends_with("IP") {
            found.extend(value.split('.').next());
        }
    }
    found.remove("");
    found
}

fn domain(labels: &mut BTreeMap<String, String>, key: &str) -> Result<Option<String>, Wrong> {
    let name = labels.remove(key);
    match &name {
        Some(name) if name.len() > MAX_DOMAIN => Err(wrong(
            format!("metadata.labels[{key:?}]"),
            format!("{name:?} is too long: use at most {MAX_DOMAIN} characters"),
        )),
        _ => Ok(name),
    }
}

fn count(metadata: &Value) -> Result<u32, Wrong> {
    let annotations = &metadata["annotations"];
    let value = match annotations {
        Value::Null | Value::Object(_) => &annotations[REPLICAS],
        other => {
            return Err(wrong(
                "metadata.annotations",
                format!("{other} is not a mapping: write KEY: VALUE lines"),
            ));
        }
    };
    let count = match value {
        Value::Null => Some(1),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    count.filter(|count| *count > 0).ok_or_else(|| {
        let reason = format!("{value} is not a number of nodes: write a number in quotes, such as \"8\"");
        wrong(format!("metadata.annotations[{REPLICAS:?}]"), reason)
    })
}

fn taints(spec: &Value) -> Result<Vec<Value>, Wrong> {
    let mut taints = Vec::new();
    for (index, taint) in fields::items(&spec["taints"], "spec.taints")?.iter().enumerate() {
        let path = format!("spec.taints[{index}]");
        fields::mapping(taint, &path, &["key", "value", "effect"], &["timeAdded"])?;
        let key = text(&taint["key"]);
        if !fields::is_key(key) {
            return Err(wrong(
                format!("{path}.key"),
                format!("{} is not a key of a taint: use NAME or DOMAIN/NAME", taint["key"]),
            ));
        }
        let effect = &taint["effect"];
        if !EFFECTS.iter().any(|known| effect == known) {
            let reason = format!("{effect} is not an effect: write {}", EFFECTS.join(", "));
            return Err(wrong(format!("{path}.effect"), reason));
        }
        let mut kept = json!({"key": key, "effect": effect});
        match &taint["value"] {
            Value::Null => {}
            Value::String(value) => kept["value"] = value.as_str().into(),
            other => {
                let reason = format!("{other} is not a string: write \"{other}\" in quotes");
                return Err(wrong(format!("{path}.value"), reason));
            }
        }
        if !OF_STATE.iter().any(|prefix| key.starts_with(prefix)) {
            taints.push(kept);
        }
    }
    Ok(taints)
}

/// Uses `capacity` if the Node has no `allocatable`.
fn allocatable(status: &Value) -> Result<(BTreeMap<String, String>, u32), Wrong> {
    let field = if status["allocatable"].is_null() { "capacity" } else { "allocatable" };
    let (path, none) = (format!("status.{field}"), Map::new());
    let resources = match &status[field] {
        Value::Null => &none,
        Value::Object(resources) => resources,
        other => return Err(wrong(path, format!("{other} is not a mapping: write RESOURCE: AMOUNT lines"))),
    };
    let mut quantities = fields::quantities(resources, &path)?;
    quantities.remove("pods");
    let pods = match resources.get("pods") {
        None => PODS,
        Some(pods) => {
            let number = amount(pods).and_then(|pods| u32::try_from(pods / ONE).ok());
            number.ok_or_else(|| {
                wrong(format!("{path}[\"pods\"]"), format!("{pods} is too many pods: write a smaller number"))
            })?
        }
    };
    Ok((quantities, pods))
}
