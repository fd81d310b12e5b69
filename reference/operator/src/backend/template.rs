use grove_api::{PodCliqueSetTemplateSpec, TopologyConstraint};

use super::{FieldError, Validation};

pub(super) const TEMPLATE: &str = "spec.template";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConstraintPath {
    PodCliqueSet,
    Clique,
    ScalingGroup,
}

pub(super) struct Constrained<'a> {
    pub place: ConstraintPath,
    pub path: String,
    pub constraint: &'a TopologyConstraint,
}

pub(super) fn constraints(template: &PodCliqueSetTemplateSpec) -> impl Iterator<Item = Constrained<'_>> {
    let constrained = |place, path: String, constraint| {
        let path = format!("{path}.topologyConstraint");
        Some(Constrained { place, path, constraint: Option::as_ref(constraint)? })
    };
    let pcs = constrained(ConstraintPath::PodCliqueSet, TEMPLATE.to_owned(), &template.topology_constraint);
    let cliques = template.cliques.iter().enumerate().filter_map(move |(i, clique)| {
        constrained(ConstraintPath::Clique, format!("{TEMPLATE}.cliques[{i}]"), &clique.topology_constraint)
    });
    let groups = template.pod_clique_scaling_groups.iter().enumerate().filter_map(move |(i, group)| {
        let path = format!("{TEMPLATE}.podCliqueScalingGroups[{i}]");
        constrained(ConstraintPath::ScalingGroup, path, &group.topology_constraint)
    });
    pcs.into_iter().chain(cliques).chain(groups)
}

/// Refuses shared claims for a scheduler that ignores the ResourceClaims of pods.
pub(super) fn refuse_shared_claims(
    template: &PodCliqueSetTemplateSpec,
    backend: &str,
    reason: &str,
    findings: &mut Validation,
) {
    let pcs = (!template.resource_sharing.is_empty()).then(|| TEMPLATE.to_owned());
    let cliques =
        template.cliques.iter().enumerate().filter(|(_, clique)| !clique.resource_sharing.is_empty());
    let cliques = cliques.map(|(i, _)| format!("{TEMPLATE}.cliques[{i}]"));
    let groups = template.pod_clique_scaling_groups.iter().enumerate();
    let groups = groups.filter(|(_, group)| !group.resource_sharing.is_empty());
    let groups = groups.map(|(i, _)| format!("{TEMPLATE}.podCliqueScalingGroups[{i}]"));
    findings.errors.extend(pcs.into_iter().chain(cliques).chain(groups).map(|path| {
        let message = format!("scheduler backend {backend} cannot honour shared resource claims: {reason}");
        FieldError::forbidden(format!("{path}.resourceSharing"), message)
    }));
}

impl Constrained<'_> {
    pub(super) fn refused(&self, backend: &str, reason: &str) -> FieldError {
        let message = format!("scheduler backend {backend} cannot honour this constraint: {reason}");
        FieldError::forbidden(&self.path, message)
    }

    /// Checks a constraint for a backend that honours only required levels (ADM-09, ADM-17).
    pub(super) fn check_required_only(&self, backend: &str, findings: &mut Validation) {
        if self.constraint.preferred_domain().is_none() {
            return;
        }
        let path = format!("{}.pack.preferred", self.path);
        if self.constraint.required_domain().is_none() {
            let message = format!("scheduler backend {backend} has no preferred topology; use pack.required");
            findings.errors.push(FieldError::forbidden(path, message));
        } else {
            findings
                .warnings
                .push(format!("{path} has no effect: scheduler backend {backend} has no preferred topology"));
        }
    }
}

pub(super) struct PodGroupCounts {
    pub base: usize,
    pub scaled: Vec<usize>,
}

/// Counts the podgroups of a template (GANG-02, GANG-03).
pub(super) fn podgroup_counts(template: &PodCliqueSetTemplateSpec) -> PodGroupCounts {
    let groups = &template.pod_clique_scaling_groups;
    let standalone = template.standalone_cliques().count();
    let in_base = groups.iter().map(|group| {
        let replicas = usize::try_from(group.min_available.unwrap_or(1)).unwrap_or(0);
        replicas.saturating_mul(group.clique_names.len())
    });
    PodGroupCounts {
        base: in_base.fold(standalone, usize::saturating_add),
        scaled: groups.iter().map(|group| group.clique_names.len()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn template() -> PodCliqueSetTemplateSpec {
        let constraint = |pack| json!({"topologyName": "t", "pack": pack});
        let clique = |name: &str| json!({"name": name, "spec": {"podSpec": {}, "replicas": 2}});
        let mut constrained = clique("b");
        constrained["topologyConstraint"] = constraint(json!({"preferred": "host"}));
        serde_json::from_value(json!({
            "cliques": [clique("a"), constrained, clique("c")],
            "topologyConstraint": constraint(json!({"required": "rack", "preferred": "host"})),
            "podCliqueScalingGroups": [{
                "name": "g", "cliqueNames": ["b", "c"], "replicas": 3, "minAvailable": 2,
                "topologyConstraint": constraint(json!({"required": "rack"})),
            }],
        }))
        .unwrap()
    }

    #[test]
    fn every_constraint_is_found_and_preferred_levels_are_reported() {
        let template = template();
        let mut findings = Validation::default();
        let places: Vec<_> = constraints(&template)
            .map(|constrained| {
                constrained.check_required_only("x", &mut findings);
                constrained.place
            })
            .collect();
        assert_eq!(
            places,
            [ConstraintPath::PodCliqueSet, ConstraintPath::Clique, ConstraintPath::ScalingGroup]
        );
        let errors = findings.errors.iter().map(ToString::to_string);
        let reported: Vec<_> = errors.chain(findings.warnings).collect();
        insta::assert_snapshot!(reported.join("\n"), @"
        spec.template.cliques[1].topologyConstraint.pack.preferred: Forbidden: scheduler backend x has no preferred topology; use pack.required
        spec.template.topologyConstraint.pack.preferred has no effect: scheduler backend x has no preferred topology
        ");
    }

    #[test]
    fn podgroups_of_base_and_scaled_pod_gangs_are_counted() {
        let counts = podgroup_counts(&template());
        assert_eq!((counts.base, counts.scaled), (1 + 2 * 2, vec![2]));
    }
}
