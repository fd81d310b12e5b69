//! Computes the PodGangs of a PodCliqueSet replica (GANG-01 to GANG-03).

use grove_api::{
    PodCliqueScalingGroupConfig, PodCliqueSet, PodCliqueTemplateSpec, PodGangSpec, PodGangTopologyConstraint,
    PodGroup, TopologyConstraintGroupConfig, TopologyLevel, names,
};

use super::pod_gang_names::PodGangNames;
use super::topology_translation::translate;
use crate::backend::idle::IdlePodGroup;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GangShape {
    pub name: String,
    pub spec: PodGangSpec,
    pub idle: Vec<IdlePodGroup>,
    pub scaled: Option<(String, i32)>,
}

impl GangShape {
    pub(crate) fn is_constrained(&self) -> bool {
        let configs =
            self.spec.topology_constraint_group_configs.iter().map(|config| &config.topology_constraint);
        let podgroups = self.spec.podgroups.iter().map(|podgroup| &podgroup.topology_constraint);
        std::iter::once(&self.spec.topology_constraint).chain(configs).chain(podgroups).any(Option::is_some)
    }
}

/// A scalable part of a PodCliqueSet replica. A clique and a group may have the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScaledUnit<'a> {
    Clique(&'a str),
    Group(&'a str),
}

/// The base PodGang comes first. `is_idle`: the unit is scaled to 0 and must leave its PodGang.
pub(crate) fn pod_gangs(
    pcs: &PodCliqueSet,
    i: i32,
    levels: &[TopologyLevel],
    gang_names: PodGangNames,
    replicas: impl Fn(&PodCliqueScalingGroupConfig) -> i32,
    is_idle: impl Fn(ScaledUnit<'_>) -> bool,
) -> Vec<GangShape> {
    let composer =
        Composer { pcs, pcs_name: pcs.metadata.name.as_deref().unwrap_or_default(), levels, gang_names };
    let groups = &pcs.spec.template.pod_clique_scaling_groups;
    let scaled = groups.iter().flat_map(|group| {
        let from = group.min_available.unwrap_or(1);
        (from..replicas(group)).map(|j| composer.scaled(i, group, j)).collect::<Vec<_>>()
    });
    std::iter::once(composer.base(i, is_idle)).chain(scaled).collect()
}

struct Composer<'a> {
    pcs: &'a PodCliqueSet,
    pcs_name: &'a str,
    levels: &'a [TopologyLevel],
    gang_names: PodGangNames,
}

impl Composer<'_> {
    /// The base PodGang: all standalone cliques, and the replicas below `minAvailable` of each scaling group.
    fn base(&self, i: i32, is_idle: impl Fn(ScaledUnit<'_>) -> bool) -> GangShape {
        let template = &self.pcs.spec.template;
        let mut all: Vec<_> = template
            .standalone_cliques()
            .map(|clique| self.podgroup(clique, names::standalone_pod_clique(self.pcs_name, i, &clique.name)))
            .map(|podgroup| (is_idle(ScaledUnit::Clique(&podgroup.name)), podgroup))
            .collect();
        let mut configs = Vec::new();
        for group in &template.pod_clique_scaling_groups {
            let pcsg = names::scaling_group(self.pcs_name, i, &group.name);
            let is_group_idle = is_idle(ScaledUnit::Group(&pcsg));
            for j in 0..group.min_available.unwrap_or(1) {
                let members = self.members(group, &pcsg, j);
                if group.topology_constraint.is_some() && !is_group_idle {
                    configs.push(TopologyConstraintGroupConfig {
                        name: names::scaling_group_replica(&pcsg, j),
                        pod_group_names: members.iter().map(|podgroup| podgroup.name.clone()).collect(),
                        topology_constraint: translate(group.topology_constraint.as_ref(), self.levels),
                    });
                }
                all.extend(members.into_iter().map(|podgroup| (is_group_idle, podgroup)));
            }
        }
        let (mut podgroups, mut idle) = (Vec::new(), Vec::new());
        for (index, (is_idle, podgroup)) in all.into_iter().enumerate() {
            match is_idle {
                true => idle.push(IdlePodGroup { index, podgroup }),
                false => podgroups.push(podgroup),
            }
        }
        let constraint = translate(template.topology_constraint.as_ref(), self.levels);
        let shape = self.shape(self.gang_names.base(self.pcs, i), podgroups, constraint, configs);
        GangShape { idle, ..shape }
    }

    /// A scaled PodGang uses its group's constraint, or else the PodCliqueSet's constraint (TOPO-10).
    fn scaled(&self, i: i32, group: &PodCliqueScalingGroupConfig, j: i32) -> GangShape {
        let pcsg = names::scaling_group(self.pcs_name, i, &group.name);
        let constraint = group.topology_constraint.as_ref();
        let constraint = constraint.or(self.pcs.spec.template.topology_constraint.as_ref());
        let name = self.gang_names.scaled(self.pcs, i, &pcsg, j, group.min_available.unwrap_or(1));
        let shape =
            self.shape(name, self.members(group, &pcsg, j), translate(constraint, self.levels), Vec::new());
        GangShape { scaled: Some((pcsg, j)), ..shape }
    }

    fn shape(
        &self,
        name: String,
        podgroups: Vec<PodGroup>,
        topology_constraint: Option<PodGangTopologyConstraint>,
        topology_constraint_group_configs: Vec<TopologyConstraintGroupConfig>,
    ) -> GangShape {
        let priority_class_name = self.pcs.spec.template.priority_class_name.clone();
        let priority_class_name = priority_class_name.filter(|name| !name.is_empty());
        let spec = PodGangSpec {
            podgroups,
            topology_constraint,
            topology_constraint_group_configs,
            priority_class_name,
            reuse_reservation_ref: None,
        };
        GangShape { name, spec, idle: Vec::new(), scaled: None }
    }

    fn members(&self, group: &PodCliqueScalingGroupConfig, pcsg: &str, j: i32) -> Vec<PodGroup> {
        let cliques = &self.pcs.spec.template.cliques;
        let members =
            group.clique_names.iter().filter_map(|name| cliques.iter().find(|clique| clique.name == *name));
        members
            .map(|clique| self.podgroup(clique, names::scaling_group_pod_clique(pcsg, j, &clique.name)))
            .collect()
    }

    fn podgroup(&self, clique: &PodCliqueTemplateSpec, name: String) -> PodGroup {
        PodGroup {
            name,
            pod_references: Vec::new(),
            min_replicas: clique.spec.min_available.unwrap_or(clique.spec.replicas),
            topology_constraint: translate(clique.topology_constraint.as_ref(), self.levels),
        }
    }
}

#[cfg(test)]
#[path = "gang_composition_tests.rs"]
mod tests;
