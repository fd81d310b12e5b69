use grove_api::PodGang;
use grove_api::names::{LABEL_MANAGED_BY, LABEL_PART_OF, LABEL_POD_CLIQUE, LABEL_POD_GANG, MANAGED_BY_GROVE};
use kube::core::{ApiResource, DynamicObject};
use kube::{Resource, ResourceExt};

use super::GangScope;
use super::outline::{Composite, Member, Outline, outline, refused};
use super::workload_api::{
    self, CompositeGang, CompositePodGroupSpec, CompositePodGroupTemplate, CompositeShape, PodGroupShape,
    PodGroupSpec, PodGroupTemplate, SchedulingConstraints, SchedulingPolicy, TypedLocalObjectReference,
    Version, WorkloadReference, WorkloadSpec,
};
use crate::backend::BackendError;
use crate::backend::names::MAX_LABEL;

/// Created in the order of the fields: a child without its parent is refused, or waits for its parent.
#[derive(Debug)]
pub(super) struct GangResources {
    pub version: Version,
    pub workload: DynamicObject,
    pub composites: Vec<DynamicObject>,
    pub pod_groups: Vec<DynamicObject>,
}

pub(super) fn plan(
    pod_gang: &PodGang,
    scope: GangScope,
    version: Version,
) -> Result<GangResources, BackendError> {
    let outline = outline(pod_gang, scope)?;
    let planner = Planner { pod_gang, version };
    planner.build(&outline).map_err(|error| refused(pod_gang, error.to_string()))
}

struct Planner<'a> {
    pod_gang: &'a PodGang,
    version: Version,
}

impl Planner<'_> {
    fn build(&self, outline: &Outline) -> Result<GangResources, serde_json::Error> {
        let name = self.pod_gang.name_any();
        let templates = |members: &[Member]| members.iter().map(|member| self.template(member)).collect();
        let (pod_group_templates, composite_pod_group_templates) = match outline {
            Outline::Flat(members) => (templates(members), Vec::new()),
            Outline::Tree(root) => (Vec::new(), vec![self.composite_template(root)]),
        };
        let spec = WorkloadSpec {
            controller_ref: TypedLocalObjectReference {
                api_group: PodGang::group(&()).into_owned(),
                kind: PodGang::kind(&()).into_owned(),
                name: name.clone(),
            },
            pod_group_templates,
            composite_pod_group_templates,
        };
        let workload = self.object(&self.version.workloads(), &name, &spec)?;
        let mut resources =
            GangResources { version: self.version, workload, composites: Vec::new(), pod_groups: Vec::new() };
        match outline {
            Outline::Flat(members) => {
                for member in members {
                    resources.pod_groups.push(self.pod_group(member, None)?);
                }
            }
            Outline::Tree(root) => self.add_subtree(root, None, &mut resources)?,
        }
        Ok(resources)
    }

    fn add_subtree(
        &self,
        composite: &Composite,
        parent: Option<&Composite>,
        resources: &mut GangResources,
    ) -> Result<(), serde_json::Error> {
        let spec = CompositePodGroupSpec {
            parent_composite_pod_group_name: parent.map(|parent| parent.name.clone()),
            workload_ref: WorkloadReference {
                workload_name: self.pod_gang.name_any(),
                template_name: composite.template.clone(),
            },
            shape: self.composite_shape(composite),
        };
        let resource = workload_api::composite_pod_groups();
        resources.composites.push(self.object(&resource, &composite.name, &spec)?);
        for child in &composite.composites {
            self.add_subtree(child, Some(composite), resources)?;
        }
        for member in &composite.members {
            resources.pod_groups.push(self.pod_group(member, Some(composite))?);
        }
        Ok(())
    }

    fn pod_group(
        &self,
        member: &Member,
        parent: Option<&Composite>,
    ) -> Result<DynamicObject, serde_json::Error> {
        let spec = PodGroupSpec {
            parent_composite_pod_group_name: parent.map(|parent| parent.name.clone()),
            template: self.version.template_reference(&self.pod_gang.name_any(), &member.template),
            shape: self.shape(member),
        };
        let mut object = self.object(&self.version.pod_groups(), &member.name, &spec)?;
        if let Some(pod_clique) = &member.pod_clique {
            label(&mut object, LABEL_POD_CLIQUE, pod_clique);
        }
        Ok(object)
    }

    fn composite_template(&self, composite: &Composite) -> CompositePodGroupTemplate {
        CompositePodGroupTemplate {
            name: composite.template.clone(),
            shape: self.composite_shape(composite),
            pod_group_templates: composite.members.iter().map(|member| self.template(member)).collect(),
            composite_pod_group_templates: composite
                .composites
                .iter()
                .map(|child| self.composite_template(child))
                .collect(),
        }
    }

    fn composite_shape(&self, composite: &Composite) -> CompositeShape {
        let min_group_count = composite.composites.len() + composite.members.len();
        CompositeShape {
            scheduling_policy: SchedulingPolicy { gang: CompositeGang { min_group_count } },
            scheduling_constraints: composite.key.clone().map(SchedulingConstraints::one_domain_of),
            priority_class_name: self.pod_gang.spec.priority_class_name.clone(),
            disruption_mode: self.version.disruption_mode(),
        }
    }

    fn template(&self, member: &Member) -> PodGroupTemplate {
        PodGroupTemplate { name: member.template.clone(), shape: self.shape(member) }
    }

    fn shape(&self, member: &Member) -> PodGroupShape {
        PodGroupShape { disruption_mode: self.version.disruption_mode(), ..member.shape.clone() }
    }

    fn object(
        &self,
        resource: &ApiResource,
        name: &str,
        spec: &impl serde::Serialize,
    ) -> Result<DynamicObject, serde_json::Error> {
        let namespace = self.pod_gang.namespace().unwrap_or_default();
        let mut object = workload_api::object(resource, &namespace, name, spec)?;
        set_metadata(&mut object, self.pod_gang);
        Ok(object)
    }
}

/// Garbage collection deletes every object with the PodGang (GANG-23, DEL-01).
fn set_metadata(object: &mut DynamicObject, pod_gang: &PodGang) {
    object.metadata.owner_references = pod_gang.controller_owner_ref(&()).map(|owner| vec![owner]);
    label(object, LABEL_MANAGED_BY, MANAGED_BY_GROVE);
    label(object, LABEL_POD_GANG, &pod_gang.name_any());
    if let Some(pcs) = pod_gang.labels().get(LABEL_PART_OF) {
        label(object, LABEL_PART_OF, pcs);
    }
}

/// These labels are informational: omit one whose value exceeds the limit.
fn label(object: &mut DynamicObject, key: &str, value: &str) {
    if value.len() <= MAX_LABEL {
        object.labels_mut().insert(key.to_owned(), value.to_owned());
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
