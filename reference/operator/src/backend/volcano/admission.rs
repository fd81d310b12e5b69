//! Checks that need only the PodCliqueSet (VOL-03, VOL-05, ADM-09). `backend` looks up queue and topology,
//! but only for new gangs, so that an update never fails because the cluster has changed (ADM-08).

use grove_api::{PodCliqueSet, PodCliqueSetTemplateSpec, PodSpecJson};
use serde_json::Value;

use super::{VOLCANO, queue};
use crate::backend::Validation;
use crate::backend::template::{ConstraintPath, TEMPLATE, constraints, refuse_shared_claims};

const RECREATE: &str = "; recreate the PodCliqueSet";

const CLAIMS_UNREAD: &str = "Volcano ignores ResourceClaims in its default configuration, and could bind \
                             pods to nodes without the devices that they share";

pub(super) fn validate(pcs: &PodCliqueSet, old: Option<&PodCliqueSet>) -> Validation {
    let mut findings = Validation::default();
    match queue::of_pcs(pcs) {
        Ok(queue) => {
            let moved = old.and_then(|old| queue.refuse_move(queue::of_pcs(old).ok()?.name, old, RECREATE));
            findings.errors.extend(moved);
        }
        Err(error) => findings.errors.push(error),
    }
    refuse_shared_claims(&pcs.spec.template, VOLCANO, CLAIMS_UNREAD, &mut findings);
    for constrained in constraints(&pcs.spec.template) {
        match constrained.place {
            ConstraintPath::PodCliqueSet | ConstraintPath::Clique => {
                constrained.check_required_only(VOLCANO, &mut findings)
            }
            ConstraintPath::ScalingGroup => findings.errors.push(constrained.refused(
                VOLCANO,
                "Volcano cannot keep the podgroups of a scaling-group replica in one domain: \
                 constrain the PodCliqueSet or its cliques instead",
            )),
        }
    }
    if old.is_none() {
        findings.warnings.extend(best_effort(&pcs.spec.template));
    }
    findings
}

/// Whether the queue of `pcs` must be looked up: the PodCliqueSet is new, or its queue has changed.
pub(super) fn enters_queue(pcs: &PodCliqueSet, old: Option<&PodCliqueSet>) -> bool {
    let name = |pcs| queue::of_pcs(pcs).ok().map(|queue| queue.name);
    old.is_none_or(|old| name(old) != name(pcs))
}

fn best_effort(template: &PodCliqueSetTemplateSpec) -> impl Iterator<Item = String> {
    let cliques = template.cliques.iter().enumerate();
    cliques.filter(|(_, clique)| !requests_resources(&clique.spec.pod_spec)).map(|(i, _)| {
        format!(
            "{TEMPLATE}.cliques[{i}].spec.podSpec requests no resources: Volcano binds such pods one by one, \
             not as a gang; set resource requests"
        )
    })
}

fn requests_resources(PodSpecJson(pod_spec): &PodSpecJson) -> bool {
    let is_set = |owner: &Value| {
        let has =
            |field: &str| owner["resources"][field].as_object().is_some_and(|amounts| !amounts.is_empty());
        has("requests") || has("limits")
    };
    let containers = ["containers", "initContainers"].map(|field| pod_spec[field].as_array());
    is_set(pod_spec) || containers.into_iter().flatten().flatten().any(is_set)
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
