//! Checks whether Koordinator can serve a PodCliqueSet (KOORD-04, KOORD-12, ADM-09). The layers of the
//! cluster's network topology are checked when a gang is created, because they may change.

use std::collections::BTreeMap;

use grove_api::PodCliqueSet;
use grove_api::names::{ANNOTATION_AUTO_MNNVL, ANNOTATION_MNNVL_GROUP};
use kube::ResourceExt;

use super::KOORD_SCHEDULER;
use crate::backend::template::{
    Constrained, ConstraintPath, TEMPLATE, constraints, podgroup_counts, refuse_shared_claims,
};
use crate::backend::{FieldError, Validation};

const CLAIMS_BLOCKED: &str = "Koordinator 1.8 refuses a pod while its claim is being allocated for another \
                              pod, so it never binds a gang whose pods share a claim";

pub(super) fn validate(pcs: &PodCliqueSet) -> Validation {
    let mut findings = Validation { errors: mnnvl(pcs), ..Validation::default() };
    refuse_shared_claims(&pcs.spec.template, KOORD_SCHEDULER, CLAIMS_BLOCKED, &mut findings);
    let podgroups = podgroup_counts(&pcs.spec.template).base;
    for constrained in constraints(&pcs.spec.template) {
        match refusal(&constrained, podgroups) {
            Some(reason) => findings.errors.push(constrained.refused(KOORD_SCHEDULER, reason)),
            None => constrained.check_required_only(KOORD_SCHEDULER, &mut findings),
        }
    }
    findings
}

/// `podgroups` is the number of podgroups in a base PodGang. A scaled PodGang never has more.
fn refusal(constrained: &Constrained<'_>, podgroups: usize) -> Option<&'static str> {
    match constrained.place {
        ConstraintPath::PodCliqueSet => None,
        ConstraintPath::Clique if podgroups <= 1 => None,
        ConstraintPath::Clique => Some(
            "Koordinator honours one topology for a whole gang, and this PodCliqueSet has several cliques: \
             constrain the PodCliqueSet",
        ),
        ConstraintPath::ScalingGroup => {
            Some("Koordinator cannot keep the podgroups of a scaling-group replica in one domain")
        }
    }
}

fn mnnvl(pcs: &PodCliqueSet) -> Vec<FieldError> {
    let template = &pcs.spec.template;
    let cliques = template.cliques.iter().enumerate();
    let cliques = cliques.map(|(i, c)| (format!("{TEMPLATE}.cliques[{i}].annotations"), &c.annotations));
    let groups = template.pod_clique_scaling_groups.iter().enumerate();
    let groups =
        groups.map(|(i, g)| (format!("{TEMPLATE}.podCliqueScalingGroups[{i}].annotations"), &g.annotations));
    let metadata = ("metadata.annotations".to_owned(), pcs.annotations());
    let errors_at = |(path, annotations): (String, &BTreeMap<String, String>)| {
        let auto = annotations.get(ANNOTATION_AUTO_MNNVL).is_some_and(|value| value == "enabled");
        let group = annotations.get(ANNOTATION_MNNVL_GROUP).is_some_and(|group| group != "none");
        let keys = [(ANNOTATION_AUTO_MNNVL, auto), (ANNOTATION_MNNVL_GROUP, group)];
        let message = format!(
            "scheduler backend {KOORD_SCHEDULER} does not support multi-node NVLink (MNNVL): remove the \
             annotation"
        );
        keys.into_iter()
            .filter(|(_, is_requested)| *is_requested)
            .map(move |(key, _)| FieldError::forbidden(format!("{path}[{key}]"), &message))
            .collect::<Vec<_>>()
    };
    std::iter::once(metadata).chain(cliques).chain(groups).flat_map(errors_at).collect()
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
