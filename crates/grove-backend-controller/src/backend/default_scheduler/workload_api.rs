//! The parts of `scheduling.k8s.io` that are written here: Workload and PodGroup of Kubernetes 1.36 (`v1alpha2`)
//! and 1.37 (`v1beta1`), and CompositePodGroup of 1.37 (`v1alpha3`).
//!
//! Own types, because the API changes with every minor version and one build of the Kubernetes types knows only
//! one; differences between versions are behind [`Version`]. Objects are read back as raw JSON and compared field
//! by field with what is written.

use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde::Serialize;

/// API group of Workload and PodGroup.
pub(super) const GROUP: &str = "scheduling.k8s.io";
/// Version of CompositePodGroup, which comes beside [`Version::V1Beta1`].
pub(super) const COMPOSITE_VERSION: &str = "v1alpha3";
/// Most entries a list of templates may have.
pub(super) const MAX_TEMPLATES: usize = 8;

/// A version of Workload and PodGroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// Kubernetes 1.36.
    V1Alpha2,
    /// Kubernetes 1.37.
    V1Beta1,
}

impl Version {
    /// All of them, newest first.
    pub(super) const ALL: [Self; 2] = [Self::V1Beta1, Self::V1Alpha2];

    /// Its name in the API.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::V1Alpha2 => "v1alpha2",
            Self::V1Beta1 => "v1beta1",
        }
    }

    /// `GROUP/VERSION`.
    pub(super) fn api_version(self) -> String {
        format!("{GROUP}/{}", self.as_str())
    }

    /// The resource `workloads`.
    pub(super) fn workloads(self) -> ApiResource {
        resource(self.as_str(), "Workload", "workloads")
    }

    /// The resource `podgroups`.
    pub(super) fn pod_groups(self) -> ApiResource {
        resource(self.as_str(), "PodGroup", "podgroups")
    }

    /// A PodGroup's reference to its template.
    pub(super) fn template_reference(self, workload: &str, template: &str) -> TemplateReference {
        match self {
            Self::V1Alpha2 => TemplateReference::PodGroupTemplateRef {
                workload: WorkloadTemplateReference {
                    workload_name: workload.to_owned(),
                    pod_group_template_name: template.to_owned(),
                },
            },
            Self::V1Beta1 => TemplateReference::WorkloadRef(WorkloadReference {
                workload_name: workload.to_owned(),
                template_name: template.to_owned(),
            }),
        }
    }
}

/// The resource `compositepodgroups`.
pub(super) fn composite_pod_groups() -> ApiResource {
    resource(COMPOSITE_VERSION, "CompositePodGroup", "compositepodgroups")
}

fn resource(version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, version, kind), plural)
}

/// Spec of a Workload; one of the two lists is empty.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkloadSpec {
    /// What the Workload was made for.
    pub controller_ref: TypedLocalObjectReference,
    /// Shapes of its PodGroups, at most [`MAX_TEMPLATES`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pod_group_templates: Vec<PodGroupTemplate>,
    /// Shape of its tree: the root.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub composite_pod_group_templates: Vec<CompositePodGroupTemplate>,
}

/// A shape of CompositePodGroups in a Workload, with those below it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompositePodGroupTemplate {
    /// A DNS label, unique in the Workload.
    pub name: String,
    /// The shape.
    #[serde(flatten)]
    pub shape: CompositeShape,
    /// PodGroups below it, at most [`MAX_TEMPLATES`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pod_group_templates: Vec<PodGroupTemplate>,
    /// CompositePodGroups below it, at most [`MAX_TEMPLATES`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub composite_pod_group_templates: Vec<CompositePodGroupTemplate>,
}

/// Spec of a CompositePodGroup; immutable.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompositePodGroupSpec {
    /// The one above it; none for the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_composite_pod_group_name: Option<String>,
    /// The template it was made from.
    pub workload_ref: WorkloadReference,
    /// The shape, copied from the template.
    #[serde(flatten)]
    pub shape: CompositeShape,
}

/// A gang of groups.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompositeGang {
    /// How many groups are bound together, at least 1.
    pub min_group_count: usize,
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

/// Spec of a PodGroup; immutable, but for `gang.minCount` since `v1beta1`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodGroupSpec {
    /// The CompositePodGroup above it, in a tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_composite_pod_group_name: Option<String>,
    /// The template it was made from.
    #[serde(flatten)]
    pub template: TemplateReference,
    /// The shape, copied from the template.
    #[serde(flatten)]
    pub shape: PodGroupShape,
}

/// What a template and its PodGroups share.
pub(super) type PodGroupShape = Shape<Gang>;
/// What a template and its CompositePodGroups share.
pub(super) type CompositeShape = Shape<CompositeGang>;

/// How something is scheduled, of pods or of groups.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shape<G> {
    /// How its parts are scheduled.
    pub scheduling_policy: SchedulingPolicy<G>,
    /// Where everything below it goes; dropped by an API server whose gate TopologyAwareWorkloadScheduling is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_constraints: Option<SchedulingConstraints>,
    /// Priority of the whole, the same in all of a tree; dropped from PodGroups by an API server of 1.36 whose gate
    /// WorkloadAwarePreemption is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
}

/// All or nothing.
#[derive(Clone, Debug, Serialize)]
pub(super) struct SchedulingPolicy<G> {
    /// The gang.
    pub gang: G,
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

/// A PodGroup's reference to its template, as a version has it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum TemplateReference {
    /// `v1alpha2`.
    PodGroupTemplateRef {
        /// The Workload and the template in it.
        workload: WorkloadTemplateReference,
    },
    /// `v1beta1`.
    WorkloadRef(WorkloadReference),
}

/// A template of a Workload, since `v1beta1`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkloadReference {
    /// Name of the Workload.
    pub workload_name: String,
    /// Name of the template.
    pub template_name: String,
}

/// A template of a Workload, in `v1alpha2`.
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
