//! Shared test data: a PodCliqueSet that every rule admits, edits of it, and a configurable backend and
//! topology.

use std::sync::Arc;

use async_trait::async_trait;
use grove_api::{ClusterTopologyBinding, PodCliqueSet, PodGang};
use kube::ResourceExt;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{AdmissionState, LookupError, Minimums, ScaleTarget, TopologyBindings};
use crate::backend::{
    BackendError, FieldError, GangState, Membership, Registry, Release, SchedulerBackend, Synced,
    TopologyBackend, TopologyState, TopologyView, Validation,
};
use crate::observed_pod::Pod;

/// JSON pointers with values: null removes, `-` appends.
pub(crate) type Edits<'a> = &'a [(&'a str, Value)];

/// A standalone clique `a` and a scaling group `sg` of `b` and `c`, after `edits`.
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

/// Applies `edits` and creates missing parent objects.
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

/// Knows one topology, `topo`: zone, block, rack, host.
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
impl Minimums for Topo {
    async fn minimum(&self, _: ScaleTarget, _: &str, _: &str) -> Result<Option<i32>, kube::Error> {
        Ok(None)
    }

    async fn gangs(&self, _: ScaleTarget, _: &str, _: &str) -> Result<Vec<PodGang>, kube::Error> {
        Ok(Vec::new())
    }
}

pub(crate) struct FakeBackend {
    pub name: &'static str,
    pub readiness: Result<(), String>,
    pub rules: fn(&PodCliqueSet, Option<&PodCliqueSet>) -> Validation,
    /// Result of every topology sync; `None` if the backend has no topology resources.
    pub topology: Option<TopologyState>,
    /// Whether podgroups may be scaled to 0.
    pub lets_idle: bool,
}

impl FakeBackend {
    pub(crate) fn ready(name: &'static str) -> Self {
        Self {
            name,
            readiness: Ok(()),
            rules: |_, _| Validation::default(),
            topology: None,
            lets_idle: false,
        }
    }
}

/// Admission state with these backends, the first as the default, and [`Topo`].
pub(crate) fn cluster(backends: Vec<FakeBackend>) -> AdmissionState {
    let default = backends[0].name;
    let backends = backends.into_iter().map(|backend| Arc::new(backend) as Arc<dyn SchedulerBackend>);
    AdmissionState {
        registry: Registry::new(default, backends).unwrap(),
        bindings: Arc::new(Topo),
        minimums: Arc::new(Topo),
    }
}

#[async_trait]
impl SchedulerBackend for FakeBackend {
    fn name(&self) -> &str {
        self.name
    }

    async fn init(&self) -> Result<(), BackendError> {
        Ok(())
    }

    async fn readiness(&self) -> Result<(), String> {
        self.readiness.clone()
    }

    async fn validate_pod_clique_set(&self, pcs: &PodCliqueSet, old: Option<&PodCliqueSet>) -> Validation {
        (self.rules)(pcs, old)
    }

    fn prepare_pod(&self, _pod: &mut DynamicObject, _member: &Membership<'_>) -> Result<(), BackendError> {
        Ok(())
    }

    fn gang_resources(&self) -> Vec<ApiResource> {
        Vec::new()
    }

    async fn sync_pod_gang(
        &self,
        _gang: &GangState<'_>,
        _existing: &[Arc<DynamicObject>],
    ) -> Result<Synced, BackendError> {
        Ok(Synced::default())
    }

    async fn release_pod(&self, _pod: &Pod, _gang: &GangState<'_>) -> Result<Release, BackendError> {
        Ok(Release::Now(Vec::new()))
    }

    fn lets_idle(&self, _pod_gang: &PodGang) -> bool {
        self.lets_idle
    }

    fn topology(&self) -> Option<&dyn TopologyBackend> {
        self.topology.is_some().then_some(self as &dyn TopologyBackend)
    }
}

/// Topology resources have the kind `Topology`. One that a binding refers to is in sync if it exists.
#[async_trait]
impl TopologyBackend for FakeBackend {
    fn topology_resources(&self) -> Vec<ApiResource> {
        vec![ApiResource::from_gvk(&GroupVersionKind::gvk("fake", "v1", "Topology"))]
    }

    async fn sync_topology(
        &self,
        _binding: &ClusterTopologyBinding,
        _cluster: &TopologyView<'_>,
    ) -> Result<TopologyState, BackendError> {
        self.topology.clone().ok_or_else(|| BackendError::Waiting("for the test".to_owned()))
    }

    async fn compare_topology(
        &self,
        _binding: &ClusterTopologyBinding,
        reference: &str,
        cluster: &TopologyView<'_>,
    ) -> Result<TopologyState, BackendError> {
        let exists = cluster.existing.iter().any(|object| object.name_any() == reference);
        let missing = || TopologyState::NotFound(format!("Topology {reference:?} not found"));
        Ok(if exists { TopologyState::InSync } else { missing() })
    }
}
