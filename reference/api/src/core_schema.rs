//! The published schemas of Kubernetes types omit defaults, list keys and most limits, which upstream Grove's
//! CRDs contain. Descriptions are removed: a CRD must stay small enough for `kubectl apply`.

use serde_json::{Map, Value, json};

/// Lists that are maps: type (without `io.k8s.api.`), property, keys. All other lists are atomic.
const MAP_LISTS: &[(&str, &str, &[&str])] = &[
    ("core.v1.PodSpec", "containers", &["name"]),
    ("core.v1.PodSpec", "ephemeralContainers", &["name"]),
    ("core.v1.PodSpec", "hostAliases", &["ip"]),
    ("core.v1.PodSpec", "imagePullSecrets", &["name"]),
    ("core.v1.PodSpec", "initContainers", &["name"]),
    ("core.v1.PodSpec", "resourceClaims", &["name"]),
    ("core.v1.PodSpec", "schedulingGates", &["name"]),
    ("core.v1.PodSpec", "topologySpreadConstraints", &["topologyKey", "whenUnsatisfiable"]),
    ("core.v1.PodSpec", "volumes", &["name"]),
    ("core.v1.Container", "env", &["name"]),
    ("core.v1.Container", "ports", &["containerPort", "protocol"]),
    ("core.v1.Container", "volumeDevices", &["devicePath"]),
    ("core.v1.Container", "volumeMounts", &["mountPath"]),
    ("core.v1.EphemeralContainer", "env", &["name"]),
    ("core.v1.EphemeralContainer", "ports", &["containerPort", "protocol"]),
    ("core.v1.EphemeralContainer", "volumeDevices", &["devicePath"]),
    ("core.v1.EphemeralContainer", "volumeMounts", &["mountPath"]),
    ("core.v1.ResourceRequirements", "claims", &["name"]),
];

/// Defaults: type (without `io.k8s.api.`), property, value.
fn defaults() -> [(&'static str, &'static str, Value); 20] {
    [
        ("core.v1.ContainerPort", "protocol", "TCP".into()),
        ("core.v1.ConfigMapEnvSource", "name", "".into()),
        ("core.v1.ConfigMapKeySelector", "name", "".into()),
        ("core.v1.ConfigMapProjection", "name", "".into()),
        ("core.v1.ConfigMapVolumeSource", "name", "".into()),
        ("core.v1.LocalObjectReference", "name", "".into()),
        ("core.v1.SecretEnvSource", "name", "".into()),
        ("core.v1.SecretKeySelector", "name", "".into()),
        ("core.v1.SecretProjection", "name", "".into()),
        ("core.v1.GRPCAction", "service", "".into()),
        ("core.v1.FileKeySelector", "optional", false.into()),
        ("core.v1.AzureDiskVolumeSource", "fsType", "ext4".into()),
        ("core.v1.AzureDiskVolumeSource", "readOnly", false.into()),
        ("core.v1.ISCSIVolumeSource", "iscsiInterface", "default".into()),
        ("core.v1.RBDVolumeSource", "keyring", "/etc/ceph/keyring".into()),
        ("core.v1.RBDVolumeSource", "pool", "rbd".into()),
        ("core.v1.RBDVolumeSource", "user", "admin".into()),
        ("core.v1.ScaleIOVolumeSource", "fsType", "xfs".into()),
        ("core.v1.ScaleIOVolumeSource", "storageMode", "ThinProvisioned".into()),
        ("resource.v1.DeviceToleration", "operator", "Equal".into()),
    ]
}

/// Adds defaults, list keys and limits to the schemas of Kubernetes types, and removes their descriptions.
pub(super) fn annotate(types: &mut Map<String, Value>) {
    for (name, schema) in types.iter_mut().filter(|(name, _)| name.starts_with("io.k8s.")) {
        drop_descriptions(schema);
        match name.as_str() {
            "io.k8s.apimachinery.pkg.api.resource.Quantity" => {
                *schema = int_or_string();
                schema["pattern"] = json!(
                    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
                );
            }
            "io.k8s.apimachinery.pkg.util.intstr.IntOrString" => *schema = int_or_string(),
            // Accept any metadata of an embedded template, and any driver parameters.
            "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
            | "io.k8s.apimachinery.pkg.runtime.RawExtension" => {
                *schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
            }
            "io.k8s.apimachinery.pkg.apis.meta.v1.Condition" => limit_condition(schema),
            _ => {}
        }
    }
    for (name, property, keys) in MAP_LISTS {
        if let Some(list) = property_of(types, name, property) {
            list["x-kubernetes-list-type"] = json!("map");
            list["x-kubernetes-list-map-keys"] = json!(keys);
        }
    }
    for (name, property, default) in defaults() {
        if let Some(schema) = property_of(types, name, property) {
            schema["default"] = default;
        }
    }
    if let Some(codes) = property_of(types, "core.v1.ContainerRestartRuleOnExitCodes", "values") {
        codes["x-kubernetes-list-type"] = json!("set");
    }
}

fn property_of<'a>(types: &'a mut Map<String, Value>, name: &str, property: &str) -> Option<&'a mut Value> {
    types.get_mut(&format!("io.k8s.api.{name}"))?.get_mut("properties")?.get_mut(property)
}

fn int_or_string() -> Value {
    json!({ "anyOf": [{ "type": "integer" }, { "type": "string" }], "x-kubernetes-int-or-string": true })
}

fn limit_condition(condition: &mut Value) {
    let limits = json!({
        "message": { "maxLength": 32768 },
        "observedGeneration": { "minimum": 0 },
        "reason": { "minLength": 1, "maxLength": 1024, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" },
        "status": { "enum": ["True", "False", "Unknown"] },
        "type": {
            "maxLength": 316,
            "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        },
    });
    let Some(Value::Object(properties)) = condition.get_mut("properties") else {
        return;
    };
    for (name, property) in properties {
        if let (Some(Value::Object(limit)), Value::Object(property)) = (limits.get(name), property) {
            property.extend(limit.clone());
        }
    }
}

/// Removes the descriptions from a schema. A property whose name is `description` stays.
fn drop_descriptions(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    schema.remove("description");
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(drop_descriptions);
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(keyword) {
            drop_descriptions(inner);
        }
    }
}
