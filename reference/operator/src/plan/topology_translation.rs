//! Translates topology domains to node-label keys. As in upstream, a domain that the ClusterTopologyBinding
//! does not define is dropped. The PodCliqueSet's condition reports the domain, and bound pods keep running.

use grove_api::{
    PodCliqueSetTemplateSpec, PodGangPackConstraint, PodGangTopologyConstraint, TopologyConstraint,
    TopologyLevel,
};

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

pub(crate) fn constraints(template: &PodCliqueSetTemplateSpec) -> impl Iterator<Item = &TopologyConstraint> {
    let groups =
        template.pod_clique_scaling_groups.iter().filter_map(|group| group.topology_constraint.as_ref());
    let cliques = template.cliques.iter().filter_map(|clique| clique.topology_constraint.as_ref());
    template.topology_constraint.iter().chain(groups).chain(cliques)
}

pub(crate) fn topology_name(template: &PodCliqueSetTemplateSpec) -> Option<&str> {
    constraints(template)
        .find_map(|constraint| constraint.topology_name.as_deref().filter(|name| !name.is_empty()))
}

pub(crate) fn unknown_domains(template: &PodCliqueSetTemplateSpec, levels: &[TopologyLevel]) -> Vec<String> {
    let named = constraints(template).flat_map(TopologyConstraint::referenced_domains);
    let unknown = named.filter(|domain| !levels.iter().any(|level| level.domain == *domain));
    let mut unknown: Vec<_> = unknown.map(str::to_owned).collect();
    unknown.sort();
    unknown.dedup();
    unknown
}
