use std::collections::BTreeSet;

use conformance_check::binding::{
    BOUND_IN_PART, NOT_BOUND_WHOLE, WRONG_NUMBER_OF_WHOLE_GANGS, bindings, in_part,
};
use conformance_check::{Shown, all, ensure, none, precondition, violation};
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_history::{History, Live, Pod, SharedMark, Version, counted_pods};

use crate::plain_gang::PlainGang;

const NOT_READY: Code = Code::new("not-ready");

pub(crate) fn gang(history: &History, name: &str) -> Result<PlainGang, Broken> {
    history.submitted(name).map(PlainGang::of)
}

fn bound<'a>(live: &'a Live, gang: &'a PlainGang) -> impl Iterator<Item = Pod<'a>> {
    live.pods().filter(|pod| gang.has(*pod) && pod.node().is_some() && !pod.is_terminating())
}

pub(crate) fn runs(live: &Live, gang: &PlainGang) -> Ruling {
    let on_nodes = bound(live, gang).count();
    ensure(on_nodes == gang.pods, || {
        let message = format!("{gang} is not fully bound: {on_nodes} of {} pods are bound", gang.pods);
        let unbound = live.pods().find(|pod| gang.has(*pod) && pod.node().is_none());
        let short = violation(NOT_BOUND_WHOLE, message);
        match unbound {
            Some(pod) => short.shown_by_object("not bound", pod.0),
            None => short,
        }
    })?;
    let is_ready = |pod: &Pod<'_>| pod.condition("Ready").is_some_and(|ready| ready["status"] == "True");
    none(bound(live, gang).filter(|pod| !is_ready(pod)).map(|pod| {
        let message = format!("{gang} is fully bound, but Pod {} is not Ready", pod.name());
        violation(NOT_READY, message).shown_by_object("not Ready", pod.0)
    }))
}

/// No pod of a gang was bound before `until` (`None`: the end). Returns `NotReached` if not all pods existed
/// by then, because then the check proves nothing.
pub(crate) fn never(history: &History, gang: &PlainGang, until: Option<usize>) -> Ruling {
    let until = until.unwrap_or(history.entries.len());
    let is_of_gang = |version: &Version<'_>| version.index < until && gang.has(version.pod());
    let bound: Vec<_> = bindings(history).filter(is_of_gang).collect();
    none(in_part(gang, &bound))?;
    let seen: BTreeSet<_> = history.pods().filter(is_of_gang).map(|version| version.uid()).collect();
    if seen.len() < gang.pods {
        return Err(Broken::NotReached(format!("only {} of the pods of {gang} ever existed", seen.len())));
    }
    Ok(())
}

fn place(history: &History, mark: SharedMark) -> usize {
    history.marks(mark).next().map_or(history.entries.len(), |(place, _)| place)
}

fn passed_before(history: &History, place: usize) -> Ruling {
    let (passed, _) = history.reached(SharedMark::SchedulerPassed)?;
    if passed < place {
        Ok(())
    } else {
        Err(Broken::NotReached("the scheduler had not completed a full pass".into()))
    }
}

/// A gang had no bound pod until it had capacity, although the scheduler had made a full pass (AIC-02).
pub(crate) fn waits(history: &History, name: &str) -> Ruling {
    let gang = gang(history, name)?;
    let room_available = place(history, SharedMark::RoomAvailable);
    all([never(history, &gang, Some(room_available)), passed_before(history, room_available)])
}

/// A gang that waited for capacity runs at the end (AIC-04). The wait itself is a precondition (AIC-02).
pub(crate) fn runs_in_new_capacity(history: &History, name: &str) -> Ruling {
    precondition("AIC-02", waits(history, name))?;
    history.reached(SharedMark::RoomAvailable)?;
    runs(&history.end(), &gang(history, name)?)
}

fn running_and_others(
    history: &History,
    names: &[&str],
    place: usize,
) -> Result<(Vec<PlainGang>, Vec<PlainGang>), Broken> {
    let gangs = names.iter().map(|name| gang(history, name)).collect::<Result<Vec<_>, _>>()?;
    let live = history.before(place);
    Ok(gangs.into_iter().partition(|gang| runs(&live, gang).is_ok()))
}

/// Exactly one of these gangs runs until the first deletion (AIC-03). No pod of the others was bound until
/// then, although the scheduler had made a full pass.
pub(crate) fn one_of(history: &History, names: &[&str]) -> Ruling {
    let room_available = place(history, SharedMark::Deleted);
    let (first, others) = running_and_others(history, names, room_available)?;
    let wrong_number = ensure(first.len() == 1, || {
        let message = format!("{} of {} gangs are running, want 1", first.len(), names.len());
        violation(WRONG_NUMBER_OF_WHOLE_GANGS, message)
    });
    let never_bound = others.iter().map(|gang| never(history, gang, Some(room_available)));
    all(never_bound.chain([wrong_number, passed_before(history, room_available)]))
}

/// After the running gang's last pod was deleted, another gang runs in its capacity (AIC-04).
pub(crate) fn another_runs_in_freed_capacity(history: &History, names: &[&str]) -> Ruling {
    precondition("AIC-03", one_of(history, names))?;
    let (deleted, _) = history.reached(SharedMark::Deleted)?;
    let (first, others) = running_and_others(history, names, deleted)?;
    let (Some(first), end) = (first.first(), history.end()) else { return Ok(()) };
    if let Some(pod) = end.pods().find(|pod| first.has(*pod)) {
        let message = format!("Pod {} of the deleted {first} still exists", pod.name());
        return Err(Broken::NotReached(message));
    }
    ensure(others.iter().any(|gang| runs(&end, gang).is_ok()), || {
        violation(
            NOT_BOUND_WHOLE,
            format!("{first} was deleted, but no other gang is running in the freed room"),
        )
    })
}

/// After a scheduler pass, a gang that was never whole has no bound pod.
pub(crate) fn whole_or_nothing(history: &History) -> Ruling {
    let gangs: Vec<_> = history.header.submitted.values().map(PlainGang::of).collect();
    let mut violations = Vec::new();
    for (passed, _) in history.marks(SharedMark::SchedulerPassed) {
        let live = history.before(passed);
        for gang in &gangs {
            let now = bound(&live, gang).count();
            let is_of_gang = |version: &Version<'_>| version.index < passed && gang.has(version.pod());
            let ever: BTreeSet<_> =
                bindings(history).filter(is_of_gang).map(|version| version.uid()).collect();
            if now > 0 && now < gang.pods && ever.len() < gang.pods {
                let message = format!(
                    "{gang} has only {} bound after a full pass of the scheduler, want all or none",
                    counted_pods(now)
                );
                let shown = violation(BOUND_IN_PART, message);
                violations.extend(bound(&live, gang).next().map(|pod| shown.shown_by_object("bound", pod.0)));
            }
        }
    }
    none(violations)
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
