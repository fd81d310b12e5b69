//! Compares an object in the API server with a plan, and writes the differences. A plan contains only the
//! fields that Grove decides. All other fields belong to the scheduler or the user and are kept.

use std::collections::BTreeMap;
use std::fmt;

use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
    Preconditions,
};
use kube::{Client, ResourceExt};
use serde_json::{Map, Value, json};

use super::BackendError;

/// The planned value of a label or annotation that must be absent. For other fields, the value is `null`.
pub(super) const ABSENT: &str = "grove.io/absent";

pub(super) type Pairs = BTreeMap<String, String>;

pub(super) fn kind(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

pub(super) fn is_kind(resource: &ApiResource, object: &DynamicObject) -> bool {
    let types = object.types.as_ref();
    types.is_some_and(|types| types.kind == resource.kind && types.api_version == resource.api_version)
}

/// Returns a merge patch. In `wanted`, `null` marks a field that must be absent, and [`ABSENT`] a label or
/// annotation that must be absent. Empty lists and objects count as absent, because Go clients omit them. A
/// list is replaced as a whole.
pub(super) fn repair(wanted: &DynamicObject, found: &DynamicObject) -> Map<String, Value> {
    let mut patch = match change(&wanted.data, &found.data) {
        Some(Value::Object(patch)) => patch,
        _ => Map::new(),
    };
    let mut metadata = Map::new();
    if let Some(labels) = change(&planned(wanted.labels()), &json!(found.labels())) {
        metadata.insert("labels".to_owned(), labels);
    }
    if let Some(annotations) = change(&planned(wanted.annotations()), &json!(found.annotations())) {
        metadata.insert("annotations".to_owned(), annotations);
    }
    if !metadata.is_empty() {
        patch.insert("metadata".to_owned(), Value::Object(metadata));
    }
    patch
}

pub(super) fn condition_message(conditions: &Value, matches: impl Fn(&Value) -> bool) -> Option<String> {
    for condition in conditions.as_array().into_iter().flatten() {
        let message = condition["message"].as_str().unwrap_or_default();
        if matches(condition) && !message.is_empty() {
            return Some(message.to_owned());
        }
    }
    None
}

fn planned(pairs: &Pairs) -> Value {
    let planned = pairs.iter().map(|(key, value)| {
        let value = if value == ABSENT { Value::Null } else { json!(value) };
        (key.clone(), value)
    });
    Value::Object(planned.collect())
}

pub(super) fn change(wanted: &Value, found: &Value) -> Option<Value> {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => {
            let changes = wanted.iter().filter_map(|(key, value)| {
                let change = match (value, found.get(key)) {
                    (Value::Null, None | Some(Value::Null)) => None,
                    (Value::Null, Some(_)) => Some(Value::Null),
                    (value, Some(found)) => change(value, found),
                    (value, None) => Some(without_nulls(value)).filter(|value| !is_empty(value)),
                };
                Some((key.clone(), change?))
            });
            let changes: Map<_, _> = changes.collect();
            (!changes.is_empty()).then_some(Value::Object(changes))
        }
        (Value::Array(wanted), Value::Array(found))
            if wanted.len() == found.len()
                && wanted.iter().zip(found).all(|(wanted, found)| change(wanted, found).is_none()) =>
        {
            None
        }
        _ => (wanted != found).then(|| without_nulls(wanted)),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(entries) => entries.is_empty(),
        _ => false,
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), without_nulls(value))).collect())
        }
        Value::Array(entries) => Value::Array(entries.iter().map(without_nulls).collect()),
        other => other.clone(),
    }
}

pub(super) struct Target {
    api: Api<DynamicObject>,
    kind: String,
    path: String,
    name: String,
}

pub(super) enum Created {
    New,
    /// An object with this name exists: the cache lags, or another owner created it.
    Taken,
}

impl Target {
    pub(super) fn new(client: &Client, resource: &ApiResource, object: &DynamicObject) -> Self {
        let name = object.name_any();
        let (api, path) = match object.namespace() {
            Some(namespace) => {
                (Api::namespaced_with(client.clone(), &namespace, resource), format!("{namespace}/{name}"))
            }
            None => (Api::all_with(client.clone(), resource), name.clone()),
        };
        Self { api, kind: resource.kind.clone(), path, name }
    }

    pub(super) async fn create(&self, wanted: &DynamicObject) -> Result<Created, BackendError> {
        let mut body = wanted.clone();
        body.data = without_nulls(&wanted.data);
        for pairs in [&mut body.metadata.labels, &mut body.metadata.annotations].into_iter().flatten() {
            pairs.retain(|_, value| value != ABSENT);
        }
        match self.api.create(&PostParams::default(), &body).await {
            Ok(_) => Ok(Created::New),
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(Created::Taken),
            Err(source) => Err(self.failed("create", source)),
        }
    }

    pub(super) async fn get_opt(&self) -> Result<Option<DynamicObject>, BackendError> {
        self.api.get_opt(&self.name).await.map_err(|source| self.failed("get", source))
    }

    pub(super) async fn get(&self) -> Result<DynamicObject, BackendError> {
        self.api.get(&self.name).await.map_err(|source| self.failed("get", source))
    }

    pub(super) async fn patch(&self, patch: Map<String, Value>) -> Result<(), BackendError> {
        let patch = Patch::Merge(Value::Object(patch));
        let patched = self.api.patch(&self.name, &PatchParams::default(), &patch).await;
        patched.map(drop).map_err(|source| self.failed("patch", source))
    }

    /// Requires the UID of `found`. Succeeds if the object is already deleted.
    pub(super) async fn delete(&self, found: &DynamicObject) -> Result<(), BackendError> {
        let precondition = Preconditions { uid: found.uid(), resource_version: None };
        match self.api.delete(&self.name, &DeleteParams::background().preconditions(precondition)).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
            Err(source) => Err(self.failed("delete", source)),
        }
    }

    fn failed(&self, verb: &str, source: kube::Error) -> BackendError {
        BackendError::Api { action: format!("{verb} {self}"), source }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_counts_as_absent() {
        assert_eq!(change(&json!({"spec": {"a": [], "b": {"c": null}}}), &json!({"spec": {}})), None);
        let emptied = change(&json!({"spec": {"a": []}}), &json!({"spec": {"a": [1]}}));
        assert_eq!(emptied, Some(json!({"spec": {"a": []}})));
    }

    #[test]
    fn unplanned_fields_are_no_difference() {
        let found =
            json!({"spec": {"a": 1, "b": 2, "list": [{"name": "x", "defaulted": true}]}, "status": {}});
        assert_eq!(change(&json!({"spec": {"a": 1, "list": [{"name": "x"}]}}), &found), None);
        let entry = change(&json!({"spec": {"list": [{"name": "x", "defaulted": null}]}}), &found);
        assert_eq!(entry, Some(json!({"spec": {"list": [{"name": "x"}]}})));
    }
}
