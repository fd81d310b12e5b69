//! Maps a PodGang to PodGroups or to a tree of CompositePodGroups, independent of the API version. Refuses a
//! PodGang that the API cannot express, so that a PodGang that bypassed admission fails closed.

use grove_api::{PodGang, PodGangTopologyConstraint};
use kube::ResourceExt;

use super::workload_api::{Gang, MAX_TEMPLATES, PodGroupShape, SchedulingConstraints, SchedulingPolicy};
use super::{GangScope, names};
use crate::backend::BackendError;
use crate::backend::domain::pack_keys;

pub(super) struct Member {
    pub name: String,
    pub template: String,
    pub pod_clique: Option<String>,
    pub shape: PodGroupShape,
}

pub(super) struct Composite {
    pub name: String,
    pub template: String,
    pub key: Option<String>,
    pub composites: Vec<Composite>,
    pub members: Vec<Member>,
}

pub(super) enum Outline {
    Flat(Vec<Member>),
    Tree(Composite),
}

pub(super) fn outline(pod_gang: &PodGang, scope: GangScope) -> Result<Outline, BackendError> {
    let builder = Builder { pod_gang };
    let outline = match scope {
        GangScope::PodGroup => Outline::Flat(builder.flat_members()?),
        GangScope::PodGang => Outline::Flat(vec![builder.hard_gang()?]),
        GangScope::Tree => Outline::Tree(builder.tree()?),
    };
    match &outline {
        Outline::Flat(members) => builder.check_limit("Workload", "podgroups", members.len())?,
        Outline::Tree(root) => builder.check_tree_limits(root)?,
    }
    Ok(outline)
}

pub(super) fn too_many(holder: &str, what: &str, count: usize) -> String {
    format!("{count} {what}, but a {holder} of scheduling.k8s.io holds at most {}", MAX_TEMPLATES)
}

struct Builder<'a> {
    pod_gang: &'a PodGang,
}

impl Builder<'_> {
    fn flat_members(&self) -> Result<Vec<Member>, BackendError> {
        let spec = &self.pod_gang.spec;
        let gang_key = self.required_key("topologyConstraint", spec.topology_constraint.as_ref())?;
        if gang_key.is_some() && spec.podgroups.len() > 1 {
            return Err(self.refused(
                "the topology constraint covers several podgroups, but kube-scheduler chooses a domain for \
                 each PodGroup",
            ));
        }
        self.refuse_group_constraints()?;
        let member = |podgroup: &grove_api::PodGroup| {
            let own = self.member(podgroup)?;
            if own.shape.scheduling_constraints.is_some() && gang_key.is_some() {
                return Err(self.refused(
                    "a PodGroup has only one topology key, but the PodGang and its podgroup both set one",
                ));
            }
            let key = gang_key.clone().map(SchedulingConstraints::one_domain_of);
            let scheduling_constraints = own.shape.scheduling_constraints.or(key);
            Ok(Member { shape: PodGroupShape { scheduling_constraints, ..own.shape }, ..own })
        };
        spec.podgroups.iter().map(member).collect()
    }

    fn hard_gang(&self) -> Result<Member, BackendError> {
        let spec = &self.pod_gang.spec;
        self.refuse_group_constraints()?;
        if spec.podgroups.iter().any(|podgroup| constrains(podgroup.topology_constraint.as_ref())) {
            return Err(
                self.refused("gang scope PodGang cannot honour the topology constraint of a single podgroup")
            );
        }
        let key = self.required_key("topologyConstraint", spec.topology_constraint.as_ref())?;
        let name = self.pod_gang.name_any();
        let min_count = spec.podgroups.iter().map(|podgroup| podgroup.min_replicas).sum();
        let shape = self.shape(min_count, key)?;
        let template = names::template(&name);
        Ok(Member { template, name: names::whole_gang(self.pod_gang), pod_clique: None, shape })
    }

    /// The root contains one CompositePodGroup per topology group config, and the PodGroups in no config.
    fn tree(&self) -> Result<Composite, BackendError> {
        let spec = &self.pod_gang.spec;
        let gang = self.pod_gang.name_any();
        let mut ungrouped: Vec<_> = spec.podgroups.iter().collect();
        let mut composites = Vec::new();
        for config in &spec.topology_constraint_group_configs {
            let (grouped, others) =
                ungrouped.into_iter().partition(|podgroup| config.pod_group_names.contains(&podgroup.name));
            ungrouped = others;
            let members = self.members(grouped)?;
            if !members.is_empty() {
                composites.push(Composite {
                    name: names::composite(self.pod_gang, &config.name),
                    template: names::composite_template(&config.name),
                    key: self.required_key(&config.name, config.topology_constraint.as_ref())?,
                    composites: Vec::new(),
                    members,
                });
            }
        }
        let members = self.members(ungrouped)?;
        if composites.is_empty() && members.is_empty() {
            return Err(self.refused("the PodGang has no podgroups"));
        }
        let key = self.required_key("topologyConstraint", spec.topology_constraint.as_ref())?;
        let (name, template) = (names::whole_gang(self.pod_gang), names::composite_template(&gang));
        Ok(Composite { template, name, key, composites, members })
    }

    fn members(&self, podgroups: Vec<&grove_api::PodGroup>) -> Result<Vec<Member>, BackendError> {
        podgroups.into_iter().map(|podgroup| self.member(podgroup)).collect()
    }

    fn member(&self, podgroup: &grove_api::PodGroup) -> Result<Member, BackendError> {
        let key = self.required_key(&podgroup.name, podgroup.topology_constraint.as_ref())?;
        Ok(Member {
            name: names::pod_group(self.pod_gang, &podgroup.name),
            template: names::template(&podgroup.name),
            pod_clique: Some(podgroup.name.clone()),
            shape: self.shape(podgroup.min_replicas, key)?,
        })
    }

    fn shape(&self, min_count: i32, key: Option<String>) -> Result<PodGroupShape, BackendError> {
        if min_count < 1 {
            return Err(self.refused(format!("minReplicas {min_count}: a gang has at least one pod")));
        }
        Ok(PodGroupShape {
            scheduling_policy: SchedulingPolicy { gang: Gang { min_count } },
            scheduling_constraints: key.map(SchedulingConstraints::one_domain_of),
            priority_class_name: self.pod_gang.spec.priority_class_name.clone(),
            disruption_mode: None,
        })
    }

    fn check_limit(&self, holder: &str, what: &str, count: usize) -> Result<(), BackendError> {
        match count > MAX_TEMPLATES {
            true => Err(self.refused(too_many(holder, what, count))),
            false => Ok(()),
        }
    }

    fn check_tree_limits(&self, composite: &Composite) -> Result<(), BackendError> {
        self.check_limit("CompositePodGroup", "podgroups", composite.members.len())?;
        self.check_limit("CompositePodGroup", "topology groups", composite.composites.len())?;
        composite.composites.iter().try_for_each(|child| self.check_tree_limits(child))
    }

    fn refuse_group_constraints(&self) -> Result<(), BackendError> {
        let mut configs = self.pod_gang.spec.topology_constraint_group_configs.iter();
        match configs.find(|config| constrains(config.topology_constraint.as_ref())) {
            Some(config) => Err(self.refused(format!(
                "topology group {} needs CompositePodGroup, which Kubernetes serves since 1.37",
                config.name
            ))),
            None => Ok(()),
        }
    }

    /// A preferred key has no effect alongside a required one, and is refused alone (ADM-17).
    fn required_key(
        &self,
        place: &str,
        constraint: Option<&PodGangTopologyConstraint>,
    ) -> Result<Option<String>, BackendError> {
        match pack_keys(constraint) {
            (None, Some(_)) => Err(self.refused(format!(
                "{place}: scheduling.k8s.io has no preferred topology; use a required level"
            ))),
            (required, _) => Ok(required.map(str::to_owned)),
        }
    }

    fn refused(&self, reason: impl AsRef<str>) -> BackendError {
        refused(self.pod_gang, reason)
    }
}

pub(super) fn refused(pod_gang: &PodGang, reason: impl AsRef<str>) -> BackendError {
    BackendError::Refused(format!("PodGang {}: {}", pod_gang.name_any(), reason.as_ref()))
}

fn constrains(constraint: Option<&PodGangTopologyConstraint>) -> bool {
    pack_keys(constraint) != (None, None)
}
