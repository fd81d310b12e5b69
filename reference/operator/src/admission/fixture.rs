use std::sync::Arc;

use async_trait::async_trait;
use grove_api::{ClusterTopologyBinding, PodCliqueSet, PodGang};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use webhook_server::Request;

use super::{AdmissionState, LookupError, ScaleTarget, ScaledObjects, TopologyBindings};
use crate::backend::fake_backend::FakeBackend;
use crate::backend::{FieldError, Registry, SchedulerBackend};

/// JSON pointers and their new values. Null removes a field. A final `-` appends to a list.
pub(crate) type Edits<'a> = &'a [(&'a str, Value)];

pub(crate) fn json(edits: Edits<'_>) -> Value {
    let clique = |name: &str, replicas: i32| {
        let pod_spec = json!({ "containers": [{ "name": "main", "image": "pause" }] });
        let spec = json!({ "roleName": name, "replicas": replicas, "minAvailable": 1, "podSpec": pod_spec });
        json!({ "name": name, "spec": spec })
    };
    let group = json!({ "name": "sg", "cliqueNames": ["b", "c"], "replicas": 2, "minAvailable": 1 });
    let mut pcs = json!({
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": { "name": "demo", "namespace": "default" },
        "spec": { "replicas": 1, "template": {
            "cliques": [clique("a", 2), clique("b", 1), clique("c", 3)],
            "podCliqueScalingGroups": [group],
        } },
    });
    edit(&mut pcs, edits);
    pcs
}

pub(crate) fn pcs(edits: Edits<'_>) -> PodCliqueSet {
    typed(json(edits))
}

pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

pub(crate) fn edit(object: &mut Value, edits: Edits<'_>) {
    for (pointer, value) in edits {
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        if object.pointer(parent).is_none() {
            edit(object, &[(parent, json!({}))]);
        }
        let field = field.replace("~1", "/");
        match object.pointer_mut(parent).unwrap() {
            Value::Array(items) => match field.parse::<usize>() {
                Ok(index) if value.is_null() => drop(items.remove(index)),
                Ok(index) => items[index] = value.clone(),
                Err(_) => items.push(value.clone()),
            },
            fields if value.is_null() => drop(fields.as_object_mut().unwrap().remove(&field)),
            fields => fields[&field] = value.clone(),
        }
    }
}

pub(crate) fn lines(errors: &[FieldError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

pub(crate) struct Topo;

#[async_trait]
impl TopologyBindings for Topo {
    async fn binding(&self, name: &str) -> Result<Option<ClusterTopologyBinding>, LookupError> {
        let level = |domain: &str| json!({ "domain": domain, "key": format!("example.com/{domain}") });
        let levels = ["zone", "block", "rack", "host"].map(level);
        let binding = json!({ "metadata": { "name": name }, "spec": { "levels": levels } });
        Ok((name == "topo").then(|| typed(binding)))
    }
}

#[async_trait]
impl ScaledObjects for Topo {
    async fn minimum(&self, _: ScaleTarget, _: &Request) -> Result<Option<i32>, kube::Error> {
        Ok(None)
    }

    async fn gangs(&self, _: ScaleTarget, _: &Request) -> Result<Vec<PodGang>, kube::Error> {
        Ok(Vec::new())
    }
}

pub(crate) fn cluster(backends: Vec<FakeBackend>) -> AdmissionState {
    let default = backends[0].name;
    let backends = backends.into_iter().map(|backend| Arc::new(backend) as Arc<dyn SchedulerBackend>);
    AdmissionState {
        registry: Registry::new(default, backends).unwrap(),
        bindings: Arc::new(Topo),
        scaled_objects: Arc::new(Topo),
    }
}
