//! What became of a PodCliqueSet that was scaled (GANG-10, GANG-24).

use conformance_contract::ruling::Ruling;
use conformance_expect::scaling;
use conformance_history::History;

use super::idle_writes::{self, Concern};
use super::{gang_resources, gangs, premise};

/// After one scaling, of which the mark is at `scaled`, PodGangs, references and gang resources have followed at `until`
/// (GANG-10).
///
/// # Errors
/// A violation per object that did not follow; `NotReached` if the PodCliqueSet was not submitted.
pub fn followed(history: &History, set: &str, scaled: usize, until: usize) -> Ruling {
    let after = scaling::gangs(history, history.submitted(set)?, scaled + 1);
    let live = history.before(until);
    gangs::base(&live, set, &after)?;
    gangs::scaled(history, &live, &after)?;
    gangs::references_are_the_pods(&live, &after)?;
    gang_resources::owned(history, &live, &after)?;
    gang_resources::as_the_pod_gangs_say(history, &live, &after)
}

/// What such a scaling does not concern was not written (GANG-24). Where PodGangs did not follow, it is not judged.
///
/// # Errors
/// A violation per object that was written; a broken premise, or `NotReached`, as [`followed`] has it.
pub fn others_untouched(history: &History, set: &str, scaled: usize, until: usize) -> Ruling {
    premise("GANG-10", followed(history, set, scaled, until))?;
    let pcs = history.submitted(set)?;
    let (before, after) = (scaling::gangs(history, pcs, scaled), scaling::gangs(history, pcs, scaled + 1));
    let concern = Concern::of(history.header.target, set, &before, &after);
    idle_writes::others_untouched(history, scaled, until, &concern)
}
