use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Code;
use conformance_expect::scaling;
use conformance_facts::cliques::wrong_number_of_pods;
use conformance_history::History;

use super::idle_writes::{self, AffectedObjects};
use super::{deviates, gang_resources, gangs, none, precondition};

const WRONG_NUMBER_OF_PODS: Code = Code::new("wrong-number-of-pods");

pub fn followed(history: &History, set: &str, scaled: usize, until: usize) -> Ruling {
    has_gangs(history, set, scaled + 1, until)
}

pub fn all_followed(history: &History, sets: &[&str], until: usize) -> Ruling {
    sets.iter().try_for_each(|set| has_gangs(history, set, until, until))
}

fn has_gangs(history: &History, set: &str, scaled: usize, until: usize) -> Ruling {
    let after = scaling::gangs(history, history.submitted(set)?, scaled);
    let live = history.before(until);
    gangs::base(&live, set, &after)?;
    gangs::scaled(history, &live, &after)?;
    gangs::references_are_the_pods(&live, &after)?;
    none(wrong_number_of_pods(&live, &after).map(|found| deviates(WRONG_NUMBER_OF_PODS, found)))?;
    gang_resources::owned(history, &live, &after)?;
    gang_resources::match_pod_gangs(history, &live, &after)
}

/// Requires that scaling changes no other objects (GANG-24). The PodGangs must have followed the scaling.
pub fn others_untouched(history: &History, set: &str, scaled: usize, until: usize) -> Ruling {
    precondition("GANG-10", followed(history, set, scaled, until))?;
    let pcs = history.submitted(set)?;
    let (before, after) = (scaling::gangs(history, pcs, scaled), scaling::gangs(history, pcs, scaled + 1));
    let affected = AffectedObjects::of(history.header.target, set, &before, &after);
    idle_writes::others_untouched(history, scaled, until, &affected)
}

pub fn untouched_by_all(history: &History, sets: &[&str], from: usize, until: usize) -> Ruling {
    precondition("GANG-10", all_followed(history, sets, until))?;
    let mut changes = Vec::new();
    for set in sets {
        let pcs = history.submitted(set)?;
        changes.push((*set, scaling::gangs(history, pcs, from), scaling::gangs(history, pcs, until)));
    }
    let target = history.header.target;
    let affected = changes.iter().map(|(set, before, after)| AffectedObjects::of(target, set, before, after));
    let affected: Vec<_> = affected.collect();
    idle_writes::untouched_by_all(history, from, until, &affected)
}
