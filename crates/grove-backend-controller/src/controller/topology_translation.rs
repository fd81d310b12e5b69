//! From domains, as users write them, to node-label keys, as PodGangs carry them.
//!
//! A domain that the ClusterTopologyBinding does not (or no longer) define translates to nothing, as upstream does:
//! the PodCliqueSet's condition reports it, and what is already placed stays.

use grove_api::{
    PodCliqueSetTemplateSpec, PodGangPackConstraint, PodGangTopologyConstraint, TopologyConstraint,
    TopologyLevel,
};

/// The constraint in node-label keys, `None` if nothing of it translates.
pub(super) fn translate(
    constraint: Option<&TopologyConstraint>,
    levels: &[TopologyLevel],
) -> Option<PodGangTopologyConstraint> {
    let constraint = constraint?;
    let key = |domain: Option<&str>| {
        let level = levels.iter().find(|level| Some(level.domain.as_str()) == domain);
        level.map(|level| level.key.clone())
    };
    let (required, preferred) = (key(constraint.required_domain()), key(constraint.preferred_domain()));
    (required.is_some() || preferred.is_some()).then_some(PodGangTopologyConstraint {
        pack_constraint: Some(PodGangPackConstraint { required, preferred }),
    })
}

/// Every constraint of a template: the set's, the scaling groups', the cliques'.
pub(super) fn constraints(template: &PodCliqueSetTemplateSpec) -> impl Iterator<Item = &TopologyConstraint> {
    let groups =
        template.pod_clique_scaling_groups.iter().filter_map(|group| group.topology_constraint.as_ref());
    let cliques = template.cliques.iter().filter_map(|clique| clique.topology_constraint.as_ref());
    template.topology_constraint.iter().chain(groups).chain(cliques)
}

/// Name of the one ClusterTopologyBinding a template uses.
pub(super) fn topology_name(template: &PodCliqueSetTemplateSpec) -> Option<&str> {
    constraints(template)
        .find_map(|constraint| constraint.topology_name.as_deref().filter(|name| !name.is_empty()))
}

/// The domains a template names that are not among `levels`, sorted.
pub(super) fn unknown_domains(template: &PodCliqueSetTemplateSpec, levels: &[TopologyLevel]) -> Vec<String> {
    let named = constraints(template).flat_map(TopologyConstraint::referenced_domains);
    let unknown = named.filter(|domain| !levels.iter().any(|level| level.domain == *domain));
    let mut unknown: Vec<_> = unknown.map(str::to_owned).collect();
    unknown.sort();
    unknown.dedup();
    unknown
}
