//! What became of a PodCliqueSet that was scaled (GANG-10).

use conformance_contract::ruling::Ruling;
use conformance_expect::scaling;
use conformance_history::History;

use super::idle_writes::{self, Concern};
use super::{gang_resources, gangs};

/// One scaling, from its mark at `scaled` to the state at `until`: PodGangs, references and gang resources followed, and
/// nothing else was written.
///
/// # Errors
/// A violation per object that did not follow, or that it did not concern; `NotReached` if the set was not submitted.
pub fn followed(history: &History, set: &str, scaled: usize, until: usize) -> Ruling {
    let pcs = history.submitted(set)?;
    let (before, after) = (scaling::gangs(history, pcs, scaled), scaling::gangs(history, pcs, scaled + 1));
    let live = history.before(until);
    gangs::base(&live, set, &after)?;
    gangs::scaled(history, &live, &after)?;
    gangs::references_are_the_pods(&live, &after)?;
    gang_resources::owned(history, &live, &after)?;
    gang_resources::as_the_pod_gangs_say(history, &live, &after)?;
    let concern = Concern::of(history.header.target, set, &before, &after);
    idle_writes::others_untouched(history, scaled, until, &concern)
}
