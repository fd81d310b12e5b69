//! The parts of `scheduling.k8s.io` that this backend writes: Workload and PodGroup of Kubernetes 1.36
//! (`v1alpha2`) and 1.37 (`v1beta1`), and CompositePodGroup of 1.37 (`v1alpha3`). A build of k8s-openapi
//! has only one of these versions.

use kube::core::{ApiResource, DynamicObject};
use serde::Serialize;

use crate::backend::objects::kind;

pub(super) const GROUP: &str = "scheduling.k8s.io";
pub(super) const COMPOSITE_VERSION: &str = "v1alpha3";
pub(super) const MAX_TEMPLATES: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V1Alpha2,
    V1Beta1,
}

impl Version {
    pub(super) const ALL: [Self; 2] = [Self::V1Beta1, Self::V1Alpha2];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::V1Alpha2 => "v1alpha2",
            Self::V1Beta1 => "v1beta1",
        }
    }

    pub(super) fn api_version(self) -> String {
        format!("{GROUP}/{}", self.as_str())
    }

    /// Since Kubernetes 1.37: `validatePodGroup` in `schedule_one_podgroup.go` compares the priorities.
    pub(super) fn requires_one_priority(self) -> bool {
        self != Self::V1Alpha2
    }

    /// The highest priority of a gang resource. The API server of 1.36 has this limit only with the gate
    /// WorkloadAwarePreemption on. With the gate off, it drops the class.
    pub(super) fn max_priority(self) -> Option<i32> {
        self.requires_one_priority().then_some(1_000_000_000)
    }

    /// By default, kube-scheduler evicts single pods of a gang (PRE-02, observation
    /// `preemption/evicted-pods`). `None` for 1.36, whose other field needs the gate WorkloadAwarePreemption.
    pub(super) fn disruption_mode(self) -> Option<DisruptionMode> {
        (self != Self::V1Alpha2).then(DisruptionMode::default)
    }

    pub(super) fn workloads(self) -> ApiResource {
        kind(GROUP, self.as_str(), "Workload", "workloads")
    }

    pub(super) fn pod_groups(self) -> ApiResource {
        kind(GROUP, self.as_str(), "PodGroup", "podgroups")
    }

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

pub(super) fn composite_pod_groups() -> ApiResource {
    kind(GROUP, COMPOSITE_VERSION, "CompositePodGroup", "compositepodgroups")
}

/// One of the two template lists is empty.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkloadSpec {
    pub controller_ref: TypedLocalObjectReference,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pod_group_templates: Vec<PodGroupTemplate>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub composite_pod_group_templates: Vec<CompositePodGroupTemplate>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompositePodGroupTemplate {
    /// A DNS label, unique in the Workload.
    pub name: String,
    #[serde(flatten)]
    pub shape: CompositeShape,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pod_group_templates: Vec<PodGroupTemplate>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub composite_pod_group_templates: Vec<CompositePodGroupTemplate>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompositePodGroupSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_composite_pod_group_name: Option<String>,
    pub workload_ref: WorkloadReference,
    #[serde(flatten)]
    pub shape: CompositeShape,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompositeGang {
    pub min_group_count: usize,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TypedLocalObjectReference {
    pub api_group: String,
    pub kind: String,
    pub name: String,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct PodGroupTemplate {
    pub name: String,
    #[serde(flatten)]
    pub shape: PodGroupShape,
}

/// Immutable except for `gang.minCount` since `v1beta1`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodGroupSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_composite_pod_group_name: Option<String>,
    #[serde(flatten)]
    pub template: TemplateReference,
    #[serde(flatten)]
    pub shape: PodGroupShape,
}

pub(super) type PodGroupShape = Shape<Gang>;
pub(super) type CompositeShape = Shape<CompositeGang>;

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shape<G> {
    pub scheduling_policy: SchedulingPolicy<G>,
    /// An API server with the gate TopologyAwareWorkloadScheduling off drops this field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling_constraints: Option<SchedulingConstraints>,
    /// The same in a whole tree. API servers of 1.36 drop it if WorkloadAwarePreemption is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disruption_mode: Option<DisruptionMode>,
}

/// `{all: {}}`: the scheduler evicts everything below the group, or nothing.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct DisruptionMode {
    all: AllDisruptionMode,
}

#[derive(Clone, Debug, Default, Serialize)]
struct AllDisruptionMode {}

#[derive(Clone, Debug, Serialize)]
pub(super) struct SchedulingPolicy<G> {
    pub gang: G,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Gang {
    pub min_count: i32,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct SchedulingConstraints {
    /// At most one entry.
    pub topology: Vec<TopologyKey>,
}

impl SchedulingConstraints {
    pub(super) fn one_domain_of(key: String) -> Self {
        Self { topology: vec![TopologyKey { key }] }
    }
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct TopologyKey {
    pub key: String,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum TemplateReference {
    PodGroupTemplateRef { workload: WorkloadTemplateReference },
    WorkloadRef(WorkloadReference),
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkloadReference {
    pub workload_name: String,
    pub template_name: String,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkloadTemplateReference {
    pub workload_name: String,
    pub pod_group_template_name: String,
}

pub(super) fn object(
    resource: &ApiResource,
    namespace: &str,
    name: &str,
    spec: &impl Serialize,
) -> Result<DynamicObject, serde_json::Error> {
    let spec = serde_json::to_value(spec)?;
    Ok(DynamicObject::new(name, resource).within(namespace).data(serde_json::json!({ "spec": spec })))
}
