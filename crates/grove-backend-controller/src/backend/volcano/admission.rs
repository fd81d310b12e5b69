//! Which PodCliqueSets Volcano can serve, as far as they tell themselves (VOL-03, VOL-05, ADM-09).
//!
//! Pure. Whether the queue takes gangs, and whether the topology is the one that HyperNodes are made from, is
//! asked elsewhere and only of new gangs: an update never fails because the cluster has changed (ADM-08).

use grove_api::{PodCliqueSet, PodCliqueSetTemplateSpec, PodSpecJson};
use serde_json::Value;

use super::{VOLCANO, queue};
use crate::backend::Validation;
use crate::backend::template::{ConstraintPath, TEMPLATE, constraints, refuse_shared_claims};

/// What to do where gangs cannot follow to another queue.
const RECREATE: &str = "; recreate the PodCliqueSet";

/// Why no pods share ResourceClaims.
const CLAIMS_UNREAD: &str = "Volcano's scheduler looks at no claim in its default configuration, and would bind pods away from the \
                             devices that they share";

/// Findings on `pcs`; `old` is the stored object on an update.
pub(super) fn validate(pcs: &PodCliqueSet, old: Option<&PodCliqueSet>) -> Validation {
    let mut found = Validation::default();
    match queue::of(pcs) {
        Ok(queue) => {
            let moved = old.and_then(|old| queue.moved_from(queue::of(old).ok()?.name, old, RECREATE));
            found.errors.extend(moved);
        }
        Err(fault) => found.errors.push(fault),
    }
    refuse_shared_claims(&pcs.spec.template, VOLCANO, CLAIMS_UNREAD, &mut found);
    for constrained in constraints(&pcs.spec.template) {
        match constrained.place {
            ConstraintPath::PodCliqueSet | ConstraintPath::Clique => {
                constrained.required_only(VOLCANO, &mut found)
            }
            ConstraintPath::ScalingGroup => found.errors.push(constrained.refused(
                VOLCANO,
                "Volcano knows the gang and its podgroups, and cannot keep the podgroups of a scaling-group \
                 replica in one domain",
            )),
        }
    }
    if old.is_none() {
        found.warnings.extend(best_effort(&pcs.spec.template));
    }
    found
}

/// Whether the queue of `pcs` has to be looked up: it is new, and gangs are yet to be made.
pub(super) fn enters_queue(pcs: &PodCliqueSet, old: Option<&PodCliqueSet>) -> bool {
    let name = |pcs| queue::of(pcs).ok().map(|queue| queue.name);
    old.is_none_or(|old| name(old) != name(pcs))
}

fn best_effort(template: &PodCliqueSetTemplateSpec) -> impl Iterator<Item = String> {
    let cliques = template.cliques.iter().enumerate();
    cliques.filter(|(_, clique)| !asks_for_resources(&clique.spec.pod_spec)).map(|(i, _)| {
        format!(
            "{TEMPLATE}.cliques[{i}].spec.podSpec asks for no resources: Volcano counts such pods as placed before they \
             are, and places them one by one, so they are not held together as a gang"
        )
    })
}

fn asks_for_resources(PodSpecJson(pod_spec): &PodSpecJson) -> bool {
    let asks = |owner: &Value| {
        let has =
            |field: &str| owner["resources"][field].as_object().is_some_and(|amounts| !amounts.is_empty());
        has("requests") || has("limits")
    };
    let containers = ["containers", "initContainers"].map(|field| pod_spec[field].as_array());
    asks(pod_spec) || containers.into_iter().flatten().flatten().any(asks)
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
