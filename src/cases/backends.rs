//! What admission is asked on each backend where backends differ. A file per scheduler, `admission.rs` in the folder of
//! its cases, and a line in [`ALL`].

use conformance_contract::names::{self, KAI_QUEUE, VOLCANO_QUEUE};
use conformance_contract::ruling::Broken;
use conformance_contract::target::Target;
use conformance_driver::admission_attempts::{clique, template};
use conformance_judge::admission::{Attempt, refused};
use serde_json::{Value, json};

use crate::levels::Level;
use crate::{ext, kai, koord, kube, vol};

/// Questions for the columns of one backend.
pub(crate) struct Backend {
    /// The columns.
    pub(crate) columns: &'static [Target],
    /// A PodCliqueSet of another backend, given to this one (ADM-03).
    pub(crate) given_to_it: Attempt,
    /// What is its own; `None` of a profile of type External, whose backend has nothing.
    pub(crate) own: Option<Own>,
}

/// What only one backend does.
pub(crate) struct Own {
    /// Its rules (ADM-06).
    pub(crate) rules: Rules,
    /// Topology levels that it honours, and that it does not (ADM-09, ADM-17).
    pub(crate) levels: &'static [Level],
    /// The CRD without which it cannot work (ADM-18); `None` where it needs an API of Kubernetes' instead.
    pub(crate) crd: Option<Crd>,
    /// A new PodCliqueSet for it when it is disabled (ADM-23); `None` where it cannot be.
    pub(crate) disabled: Option<Attempt>,
}

impl Own {
    /// What is asked of a target's required levels, or of its preferred ones.
    pub(crate) fn levels(&self, target: Target, are_preferred: bool) -> Vec<Attempt> {
        let asked = self.levels.iter().filter(|level| level.is_about_preference(target) == are_preferred);
        asked.map(|level| level.on(target)).collect()
    }
}

/// Rules of a backend, and PodCliqueSets that they do not reach.
pub(crate) struct Rules {
    /// Rules of its own, on one of its own: what is refused, and the clause that demands it.
    pub(crate) own: &'static [(&'static str, Attempt)],
    /// Rules that do not apply to one of its own, nor to one of nobody's.
    pub(crate) others: &'static [Attempt],
    /// The rules of its own on one of another backend.
    pub(crate) elsewhere: &'static [Attempt],
    /// The backends that have no such rules.
    pub(crate) strangers: &'static [Target],
}

/// A CRD that a backend needs.
pub(crate) struct Crd {
    /// That of its PodGroup.
    pub(crate) name: &'static str,
    /// The answer to a new PodCliqueSet while it is missing.
    pub(crate) missing: Attempt,
    /// Where a CRD of an older release lacks a field, and what is said of that.
    pub(crate) too_old: Option<(&'static str, Attempt)>,
}

static ALL: [&Backend; 6] = [
    &ext::admission::BACKEND,
    &kube::admission::FLAT,
    &kube::admission::TREE,
    &vol::admission::BACKEND,
    &koord::admission::BACKEND,
    &kai::admission::BACKEND,
];

/// Questions for a target.
pub(crate) fn of(target: Target) -> Option<&'static Backend> {
    ALL.into_iter().find(|backend| backend.columns.contains(&target))
}

/// What is the target's backend's own.
///
/// # Errors
/// [`Broken::NotReached`] if nothing is.
pub(crate) fn own(target: Target) -> Result<&'static Own, Broken> {
    let own = of(target).and_then(|backend| backend.own.as_ref());
    own.ok_or_else(|| Broken::NotReached(format!("nothing is known that is {target}'s own in admission")))
}

/// What a refusal says of the shape of gangs. An update strategy is called RollingRecreate, which says nothing.
pub(crate) const RECREATE: &[&str] = &[" recreat| re-creat"];

/// A PodCliqueSet given to another backend.
pub(crate) const fn given_to(edit: fn(&mut Value)) -> Attempt {
    refused("another scheduler", RECREATE, edit)
}

/// A PodCliqueSet for a scheduler that is not enabled any more.
pub(crate) const fn not_enabled(says: &'static [&'static str]) -> Attempt {
    refused("a new one for a backend that is disabled", says, |_| {})
}

/// A PodCliqueSet of a backend whose CRD is missing.
pub(crate) const fn without_crd(says: &'static [&'static str]) -> Attempt {
    refused("a gang without the CRD", says, |_| {})
}

/// 8 standalone cliques beside the one of the scaling group's only replica.
pub(crate) fn nine_podgroups(pcs: &mut Value) {
    pcs["metadata"]["annotations"][names::GANG_SCOPE] = "PodGroup".into();
    let first = clique(pcs, 0).clone();
    let further = (1..9).map(|number| {
        let mut clique = first.clone();
        clique["name"] = format!("c{number}").into();
        clique["spec"]["roleName"] = format!("c{number}").into();
        clique
    });
    if let Some(cliques) = template(pcs)["cliques"].as_array_mut() {
        cliques.extend(further);
    }
}

pub(crate) fn no_such_queue(pcs: &mut Value) {
    pcs["metadata"]["annotations"][VOLCANO_QUEUE] = "no-such-queue".into();
}

/// A gang is in one queue.
pub(crate) fn two_kai_queues(pcs: &mut Value) {
    pcs["metadata"]["labels"][KAI_QUEUE] = "default-queue".into();
    clique(pcs, 0)["labels"] = json!({KAI_QUEUE: "another-queue"});
}

#[cfg(test)]
mod tests {
    use conformance_contract::clauses;
    use conformance_contract::target::TARGETS;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_column_is_asked() {
        for target in TARGETS {
            let asked = ALL.into_iter().filter(|backend| backend.columns.contains(&target)).count();
            assert_eq!(asked, 1, "{target}");
            assert_eq!(own(target).is_ok(), target.external().is_none(), "{target}");
        }
    }

    #[test]
    fn what_is_given_to_a_backend_names_it() {
        for target in TARGETS {
            let mut pcs = json!({"spec": {"template": {"cliques": [{"name": "a"}]}}});
            of(target).unwrap().given_to_it.edit.apply(&mut pcs);
            let given = &pcs["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["schedulerName"];
            assert_eq!(given, target.backend());
        }
    }

    #[test]
    fn rules_are_demanded_by_clauses_that_the_target_owes() {
        for target in TARGETS.into_iter().filter(|target| target.external().is_none()) {
            for (id, _) in own(target).unwrap().rules.own {
                assert!(clauses::clause(id).is_some_and(|clause| target.owes(clause)), "{target}: {id}");
            }
        }
    }
}
