//! `scheduling.k8s.io/v1alpha2` as far as it is written here: Workload and PodGroup of Kubernetes 1.36.
//!
//! Own types, because the API changes with every minor version and one build of the Kubernetes types knows
//! one minor only. Objects are read back as raw JSON and compared field by field with what is written.

use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde::Serialize;

/// API group of Workload and PodGroup.
pub(super) const GROUP: &str = "scheduling.k8s.io";
/// Version of Kubernetes 1.36.
pub(super) const VERSION: &str = "v1alpha2";
/// Most templates a Workload may have.
pub(super) const MAX_TEMPLATES: usize = 8;

/// The resource `workloads`.
pub(super) fn workloads() -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, VERSION, "Workload"), "workloads")
}

/// The resource `podgroups`.
pub(super) fn pod_groups() -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, VERSION, "PodGroup"), "podgroups")
}

/// Spec of a Workload.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkloadSpec {
    /// What the Workload was made for.
    pub controller_ref: TypedLocalObjectReference,
    /// Shapes of its PodGroups, at most [`MAX_TEMPLATES`]; immutable.
    pub pod_group_templates: Vec<PodGroupTemplate>,
}

/// An object of the same namespace.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TypedLocalObjectReference {
    /// Its API group.
    pub api_group: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// A shape of PodGroups in a Workload.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PodGroupTemplate {
    /// A DNS label.
    pub name: String,
    /// The shape.
    #[serde(flatten)]
    pub shape: PodGroupShape,
}

/// Spec of a PodGroup; immutable.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodGroupSpec {
    /// The template it was made from.
    pub pod_group_template_ref: PodGroupTemplateReference,
    /// The shape, copied from the template.
    #[serde(flatten)]
    pub shape: PodGroupShape,
}

/// What a template and its PodGroups share.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodGroupShape {
    /// How its pods are scheduled.
    pub scheduling_policy: SchedulingPolicy,
    /// Where; dropped by an API server whose gate TopologyAwareWorkloadScheduling is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_constraints: Option<SchedulingConstraints>,
    /// Priority of the whole; dropped by an API server whose gate WorkloadAwarePreemption is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
}

/// All or nothing.
#[derive(Clone, Debug, Serialize)]
pub(super) struct SchedulingPolicy {
    /// The gang.
    pub gang: Gang,
}

/// A gang.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Gang {
    /// How many pods are bound together, at least 1.
    pub min_count: i32,
}

/// Where the pods go.
#[derive(Clone, Debug, Serialize)]
pub(super) struct SchedulingConstraints {
    /// At most one.
    pub topology: Vec<TopologyKey>,
}

impl SchedulingConstraints {
    /// All pods in one domain of the node-label key.
    pub(super) fn one_domain_of(key: String) -> Self {
        Self { topology: vec![TopologyKey { key }] }
    }
}

/// A node-label key whose value all pods share.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TopologyKey {
    /// The key.
    pub key: String,
}

/// Reference to a template.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PodGroupTemplateReference {
    /// The Workload and the template in it.
    pub workload: WorkloadTemplateReference,
}

/// A template of a Workload.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkloadTemplateReference {
    /// Name of the Workload.
    pub workload_name: String,
    /// Name of the template.
    pub pod_group_template_name: String,
}

/// An object of `resource` with `spec`, without owner or labels.
pub(super) fn object(
    resource: &ApiResource,
    namespace: &str,
    name: &str,
    spec: &impl Serialize,
) -> Result<DynamicObject, serde_json::Error> {
    let spec = serde_json::to_value(spec)?;
    Ok(DynamicObject::new(name, resource).within(namespace).data(serde_json::json!({ "spec": spec })))
}
