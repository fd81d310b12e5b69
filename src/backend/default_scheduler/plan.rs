//! PodGang -> the Workload and PodGroups that stand for it.
//!
//! Pure. Refuses what v1alpha2 cannot express, so that a PodGang that did not come through our admission
//! fails closed: no gang resources, and therefore no pod ever ungated.

use kube::core::DynamicObject;
use kube::{Resource, ResourceExt};

use super::GangScope;
use super::names;
use super::workload_api::{
    self, Gang, PodGroupShape, PodGroupSpec, PodGroupTemplate, PodGroupTemplateReference,
    SchedulingConstraints, SchedulingPolicy, TypedLocalObjectReference, WorkloadSpec,
    WorkloadTemplateReference,
};
use crate::api::names::{
    LABEL_MANAGED_BY, LABEL_PART_OF, LABEL_POD_CLIQUE, LABEL_POD_GANG, MANAGED_BY_GROVE,
};
use crate::api::{PodGang, PodGangTopologyConstraint};
use crate::backend::BackendError;
use crate::backend::names::MAX_LABEL;

/// The objects of one PodGang. The Workload is created first: a PodGroup whose template is missing is refused
/// by the API server.
#[derive(Debug)]
pub(super) struct Plan {
    /// The Workload of the PodGang's name.
    pub workload: DynamicObject,
    /// The PodGroups, in podgroup order.
    pub pod_groups: Vec<DynamicObject>,
}

/// One PodGroup to be.
struct Member {
    name: String,
    template: String,
    pod_clique: Option<String>,
    shape: PodGroupShape,
}

/// Plans the objects of `pod_gang`.
///
/// # Errors
/// [`BackendError::Refused`] if v1alpha2 cannot express it.
pub(super) fn plan(pod_gang: &PodGang, scope: GangScope) -> Result<Plan, BackendError> {
    let members = match scope {
        GangScope::PodGroup => flat_members(pod_gang)?,
        GangScope::PodGang => vec![hard_gang(pod_gang)?],
    };
    if members.len() > workload_api::MAX_TEMPLATES {
        return Err(refused(pod_gang, too_many_podgroups(members.len())));
    }
    build(pod_gang, &members).map_err(|error| refused(pod_gang, error.to_string()))
}

/// The reason for refusing more podgroups than a Workload has room for (KUBE-05).
pub(super) fn too_many_podgroups(podgroups: usize) -> String {
    format!(
        "{podgroups} podgroups, but a Workload of scheduling.k8s.io/v1alpha2 holds at most {}",
        workload_api::MAX_TEMPLATES
    )
}

fn flat_members(pod_gang: &PodGang) -> Result<Vec<Member>, BackendError> {
    let spec = &pod_gang.spec;
    let gang_key = required_key(pod_gang, "topologyConstraint", spec.topology_constraint.as_ref())?;
    if gang_key.is_some() && spec.podgroups.len() > 1 {
        return Err(refused(
            pod_gang,
            "a topology key for several podgroups needs one PodGroup: each would choose a domain of its own",
        ));
    }
    refuse_group_constraints(pod_gang)?;
    let member = |podgroup: &crate::api::PodGroup| {
        let own_key = required_key(pod_gang, &podgroup.name, podgroup.topology_constraint.as_ref())?;
        if own_key.is_some() && gang_key.is_some() {
            return Err(refused(pod_gang, "two topology keys for one PodGroup"));
        }
        Ok(Member {
            name: names::flat_pod_group(&pod_gang.name_any(), &podgroup.name),
            template: names::template(&podgroup.name),
            pod_clique: Some(podgroup.name.clone()),
            shape: shape(pod_gang, podgroup.min_replicas, own_key.or_else(|| gang_key.clone()))?,
        })
    };
    spec.podgroups.iter().map(member).collect()
}

fn hard_gang(pod_gang: &PodGang) -> Result<Member, BackendError> {
    let spec = &pod_gang.spec;
    refuse_group_constraints(pod_gang)?;
    if spec.podgroups.iter().any(|podgroup| constrains(podgroup.topology_constraint.as_ref())) {
        return Err(refused(
            pod_gang,
            "a topology key of one podgroup cannot be given to the PodGroup of the gang",
        ));
    }
    let key = required_key(pod_gang, "topologyConstraint", spec.topology_constraint.as_ref())?;
    let name = pod_gang.name_any();
    let min_count = spec.podgroups.iter().map(|podgroup| podgroup.min_replicas).sum();
    Ok(Member {
        template: names::template(&name),
        name,
        pod_clique: None,
        shape: shape(pod_gang, min_count, key)?,
    })
}

fn shape(pod_gang: &PodGang, min_count: i32, key: Option<String>) -> Result<PodGroupShape, BackendError> {
    if min_count < 1 {
        return Err(refused(pod_gang, format!("minReplicas {min_count}: a gang has at least one pod")));
    }
    Ok(PodGroupShape {
        scheduling_policy: SchedulingPolicy { gang: Gang { min_count } },
        scheduling_constraints: key.map(SchedulingConstraints::one_domain_of),
        priority_class_name: pod_gang.spec.priority_class_name.clone(),
    })
}

fn constrains(constraint: Option<&PodGangTopologyConstraint>) -> bool {
    let pack = constraint.and_then(|constraint| constraint.pack_constraint.as_ref());
    pack.is_some_and(|pack| pack.required.is_some() || pack.preferred.is_some())
}

fn refuse_group_constraints(pod_gang: &PodGang) -> Result<(), BackendError> {
    let mut configs = pod_gang.spec.topology_constraint_group_configs.iter();
    match configs.find(|config| constrains(config.topology_constraint.as_ref())) {
        Some(config) => {
            Err(refused(pod_gang, format!("v1alpha2 has no topology for a group ({})", config.name)))
        }
        None => Ok(()),
    }
}

/// The required key; a preferred one beside it has no effect, one alone is refused (ADM-09).
fn required_key(
    pod_gang: &PodGang,
    place: &str,
    constraint: Option<&PodGangTopologyConstraint>,
) -> Result<Option<String>, BackendError> {
    let Some(pack) = constraint.and_then(|constraint| constraint.pack_constraint.as_ref()) else {
        return Ok(None);
    };
    match (&pack.required, &pack.preferred) {
        (None, Some(_)) => Err(refused(pod_gang, format!("{place}: v1alpha2 has no preferred topology"))),
        (required, _) => Ok(required.clone()),
    }
}

fn build(pod_gang: &PodGang, members: &[Member]) -> Result<Plan, serde_json::Error> {
    let (name, namespace) = (pod_gang.name_any(), pod_gang.namespace().unwrap_or_default());
    let spec = WorkloadSpec {
        controller_ref: TypedLocalObjectReference {
            api_group: PodGang::group(&()).into_owned(),
            kind: PodGang::kind(&()).into_owned(),
            name: name.clone(),
        },
        pod_group_templates: members
            .iter()
            .map(|member| PodGroupTemplate { name: member.template.clone(), shape: member.shape.clone() })
            .collect(),
    };
    let mut workload = workload_api::object(&workload_api::workloads(), &namespace, &name, &spec)?;
    adopt(&mut workload, pod_gang);
    let pod_group = |member: &Member| {
        let spec = PodGroupSpec {
            pod_group_template_ref: PodGroupTemplateReference {
                workload: WorkloadTemplateReference {
                    workload_name: name.clone(),
                    pod_group_template_name: member.template.clone(),
                },
            },
            shape: member.shape.clone(),
        };
        let mut object = workload_api::object(&workload_api::pod_groups(), &namespace, &member.name, &spec)?;
        adopt(&mut object, pod_gang);
        if let Some(pod_clique) = &member.pod_clique {
            label(&mut object, LABEL_POD_CLIQUE, pod_clique);
        }
        Ok(object)
    };
    Ok(Plan {
        workload,
        pod_groups: members.iter().map(pod_group).collect::<Result<_, serde_json::Error>>()?,
    })
}

/// Owner and labels: the PodGang owns everything, so that its deletion takes all along (GANG-08, DEL-01).
fn adopt(object: &mut DynamicObject, pod_gang: &PodGang) {
    object.metadata.owner_references = pod_gang.controller_owner_ref(&()).map(|owner| vec![owner]);
    label(object, LABEL_MANAGED_BY, MANAGED_BY_GROVE);
    label(object, LABEL_POD_GANG, &pod_gang.name_any());
    if let Some(pcs) = pod_gang.labels().get(LABEL_PART_OF) {
        label(object, LABEL_PART_OF, pcs);
    }
}

/// Labels are for people here: a name that is too long for a label value goes without.
fn label(object: &mut DynamicObject, key: &str, value: &str) {
    if value.len() <= MAX_LABEL {
        object.labels_mut().insert(key.to_owned(), value.to_owned());
    }
}

fn refused(pod_gang: &PodGang, reason: impl AsRef<str>) -> BackendError {
    BackendError::Refused(format!("PodGang {}: {}", pod_gang.name_any(), reason.as_ref()))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
