//! Admission attempts that differ between backends. Each scheduler has its attempts in an `admission.rs`.

use conformance_contract::names::{KAI_QUEUE, VOLCANO_QUEUE};
use conformance_driver::admission_attempts::{clique, template};

use crate::BACKENDS;
use crate::levels::Level;
use crate::prelude::*;

pub(crate) struct Backend {
    pub(crate) targets: &'static [Target],
    pub(crate) switch_to_it: Attempt,
    /// The rules of this backend; `None` for a profile of type External, which has no rules.
    pub(crate) own: Option<Own>,
}

pub(crate) struct Own {
    pub(crate) rules: Rules,
    pub(crate) levels: &'static [Level],
    /// The CRD that the backend requires (ADM-18); `None` if it requires an API of Kubernetes instead.
    pub(crate) crd: Option<Crd>,
    /// Creates a PodCliqueSet of the disabled backend (ADM-23); `None` if it cannot be disabled.
    pub(crate) disabled: Option<Attempt>,
}

impl Own {
    pub(crate) fn levels(&self, target: Target, are_preferred: bool) -> Vec<Attempt> {
        let backends = self.levels.iter().filter(|level| level.is_about_preference(target) == are_preferred);
        backends.map(|level| level.on(target)).collect()
    }
}

pub(crate) struct Rules {
    /// Attempts on this backend's PodCliqueSet, each with the clause that demands the rule.
    pub(crate) own: &'static [(&'static str, Attempt)],
    /// Attempts that break other backends' rules, which apply neither here nor to an unknown scheduler.
    pub(crate) others: &'static [Attempt],
    pub(crate) elsewhere: &'static [Attempt],
    pub(crate) targets_without: &'static [Target],
}

pub(crate) struct Crd {
    pub(crate) name: &'static str,
    pub(crate) missing: Attempt,
    /// A field that the CRD of an older release lacks, and the expected answer with that CRD.
    pub(crate) too_old: Option<(&'static str, Attempt)>,
}

pub(crate) fn of(target: Target) -> Option<&'static Backend> {
    BACKENDS.into_iter().find(|backend| backend.targets.contains(&target))
}

/// Returns `NotReached` for a target without an entry or without rules.
pub(crate) fn own(target: Target) -> Result<&'static Own, Broken> {
    let own = of(target).and_then(|backend| backend.own.as_ref());
    own.ok_or_else(|| Broken::NotReached(format!("no admission rules of {target} are known")))
}

/// The leading space keeps the pattern from matching the update strategy RollingRecreate.
pub(crate) const RECREATE: &[&str] = &[" recreat| re-creat"];

pub(crate) const fn switch_to(edit: fn(&mut Value)) -> Attempt {
    refused("scheduler changed", RECREATE, edit)
}

pub(crate) const fn not_enabled(says: &'static [&'static str]) -> Attempt {
    refused("a new PodCliqueSet for a disabled backend", says, |_| {})
}

pub(crate) const fn without_crd(says: &'static [&'static str]) -> Attempt {
    refused("a gang without the CRD", says, |_| {})
}

/// Adds 8 standalone cliques to the clique in the scaling group's only replica.
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

pub(crate) fn two_kai_queues(pcs: &mut Value) {
    pcs["metadata"]["labels"][KAI_QUEUE] = "default-queue".into();
    clique(pcs, 0)["labels"] = json!({KAI_QUEUE: "another-queue"});
}

#[cfg(test)]
mod tests {
    use conformance_contract::clauses;
    use conformance_contract::target::TARGETS;

    use super::*;

    #[test]
    fn every_target_has_one_backend() {
        for target in TARGETS {
            let of_target = BACKENDS.into_iter().filter(|backend| backend.targets.contains(&target));
            assert_eq!(of_target.count(), 1, "{target}");
            assert_eq!(own(target).is_ok(), target.external().is_none(), "{target}");
        }
    }

    #[test]
    fn a_switch_to_a_backend_names_its_scheduler() {
        for target in TARGETS {
            let mut pcs = json!({"spec": {"template": {"cliques": [{"name": "a"}]}}});
            of(target).unwrap().switch_to_it.edit.apply(&mut pcs);
            let scheduler = &pcs["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["schedulerName"];
            assert_eq!(scheduler, target.backend());
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
