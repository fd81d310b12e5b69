//! Changes a pod before its creation. The pod stays JSON, so that no user field is lost.

use grove_api::PodGang;
use kube::api::DynamicObject;
use serde_json::{Map, Value, json};

use super::{BackendError, Membership, affinity, domain};

pub(super) fn set_scheduler_name<'a>(
    scheduler: &str,
    pod: &'a mut DynamicObject,
    member: &Membership<'_>,
) -> Result<&'a mut Map<String, Value>, BackendError> {
    let Some(spec) = pod.data.get_mut("spec").and_then(Value::as_object_mut) else {
        return Err(BackendError::Refused(format!("a pod of {} has no spec", member.pod_clique)));
    };
    spec.insert("schedulerName".to_owned(), json!(scheduler));
    Ok(spec)
}

/// Some schedulers order gangs by the priority of their pods (GANG-13).
pub(super) fn inherit_priority(spec: &mut Map<String, Value>, pod_gang: &PodGang) {
    let named = spec.get("priorityClassName").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    if let (false, Some(class)) = (named, &pod_gang.spec.priority_class_name) {
        spec.insert("priorityClassName".to_owned(), json!(class));
    }
}

/// Nodes without the label of a required level are in no domain of that level (TOPO-11).
pub(super) fn require_levels(
    spec: &mut Map<String, Value>,
    member: &Membership<'_>,
) -> Result<(), BackendError> {
    for key in domain::required_keys(member.pod_gang, member.pod_clique) {
        affinity::require(spec, &affinity::exists(key)).map_err(|error| {
            BackendError::Refused(format!("affinity of the pods of {}: {error}", member.pod_clique))
        })?;
    }
    Ok(())
}
