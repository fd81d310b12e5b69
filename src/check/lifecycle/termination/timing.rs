use std::collections::BTreeSet;
use std::time::Duration;

use conformance_contract::clauses::Feature;
use conformance_contract::ruling::Ruling;
use conformance_contract::violation::{Code, Violation};
use conformance_expect::scopes::{Scope, SetReplica};
use conformance_facts::generations::{GangTermination, terminations};
use conformance_history::{History, Version, counted_times};
use jiff::SignedDuration;

use crate::lifecycle::breaches::{Breach, Breaches};
use crate::{Shown, ensure, none, violation};

const TERMINATED_WITHOUT_BREACH: Code = Code::new("gang-terminated-without-breach");
const TERMINATED_EARLY: Code = Code::new("gang-terminated-early");
const TERMINATED_LATE: Code = Code::new("gang-terminated-late");
const NOT_TERMINATED: Code = Code::new("not-gang-terminated");
const WRONG_NUMBER_OF_TERMINATIONS: Code = Code::new("wrong-number-of-gang-terminations");

/// Maximum error of a time that the API truncates to whole seconds.
pub(super) const API_ROUNDING: SignedDuration = SignedDuration::from_secs(1);

pub fn patience(history: &History) -> SignedDuration {
    history.allowed(SignedDuration::from_secs(10))
}

/// Excludes those of a scaling-group replica during a termination of the whole PodCliqueSet replica.
pub fn own_terminations<'a>(
    history: &'a History,
    replica: &SetReplica,
    scope: &Scope,
) -> Vec<GangTermination<'a>> {
    let found = terminations(history, scope);
    if *scope == replica.scope() {
        return found;
    }
    let whole = terminations(history, &replica.scope());
    let is_within = |termination: &GangTermination<'_>| {
        let started = termination.started.index;
        whole.iter().any(|whole| (whole.started.index..=whole.ended.index).contains(&started))
    };
    found.into_iter().filter(|termination| !is_within(termination)).collect()
}

/// Requires a termination after the delay of each breach. Each termination must follow a breach, or a delay
/// in which only a part of the gang was bound.
pub fn after_the_delay(history: &History, replica: &SetReplica, scope: &Scope, delay: Duration) -> Ruling {
    none(wrong_times(history, replica, scope, delay))
}

/// Requires that each termination follows a breach of the full delay (TERM-03). TERM-02 covers missing ones.
pub fn not_before_the_delay(
    history: &History,
    replica: &SetReplica,
    scope: &Scope,
    delay: Duration,
) -> Ruling {
    let is_early = |found: &Violation| [TERMINATED_WITHOUT_BREACH, TERMINATED_EARLY].contains(&found.code);
    none(wrong_times(history, replica, scope, delay).into_iter().filter(is_early))
}

fn wrong_times(history: &History, replica: &SetReplica, scope: &Scope, delay: Duration) -> Vec<Violation> {
    let delay = SignedDuration::try_from(delay).unwrap_or(SignedDuration::MAX);
    let breaches = Breaches::of(history, replica);
    let breaches = breaches.of_scope(scope);
    let terminations = own_terminations(history, replica, scope);
    let leads_to = |breach: &Breach<'_>, termination: &GangTermination<'_>| {
        let started = termination.started.index;
        breach.since.index < started && breach.until.is_none_or(|until| until.index >= started)
    };
    let wrong = terminations.iter().filter_map(|termination| {
        let started = termination.started;
        match breaches.iter().find(|breach| leads_to(breach, termination)) {
            None if was_bound_in_part(history, termination, delay) => None,
            None => {
                let message =
                    format!("{scope} was gang-terminated although its minAvailable was not breached");
                Some(violation(TERMINATED_WITHOUT_BREACH, message).shown_by("first deletion", started))
            }
            Some(breach) => untimely(scope, breach.since, started, delay, patience(history)),
        }
    });
    let last = history.last_at();
    let without_effect = breaches
        .iter()
        .filter(|breach| !terminations.iter().any(|termination| leads_to(breach, termination)));
    let missing = without_effect.filter_map(|breach| {
        let lasted = breach.until.map_or(last, |until| until.at).duration_since(breach.since.at);
        (lasted > delay.saturating_add(patience(history))).then(|| {
            let message = format!(
                "{scope} was not gang-terminated although its minAvailable was breached for {} s",
                lasted.as_secs()
            );
            violation(NOT_TERMINATED, message).shown_by("breached since", breach.since)
        })
    });
    wrong.chain(missing).collect()
}

/// An operator may also terminate a gang that was bound in part for the delay (TERM-17, TERM-21).
fn was_bound_in_part(history: &History, termination: &GangTermination<'_>, delay: SignedDuration) -> bool {
    let releases = [Feature::HalfGangRelease, Feature::StuckGangRelease];
    if !releases.into_iter().any(|feature| history.header.target.declares(feature)) {
        return false;
    }
    let Some(first) = termination.first_binding(history) else { return false };
    let before = history.pods().filter(|version| version.index < first.index).map(|version| version.uid());
    let waiting: BTreeSet<&str> = before.filter(|uid| termination.old.contains(uid)).collect();
    let is_bound = |version: &Version<'_>| version.pod().node().is_some();
    let bound = |uid: &str| history.pods().filter(|version| version.uid() == uid).find(is_bound);
    let started = termination.started.at;
    let until =
        waiting.into_iter().map(|uid| bound(uid).map_or(started, |bound| bound.at.min(started))).max();
    until.is_some_and(|until| until.duration_since(first.at) >= delay - API_ROUNDING)
}

fn untimely(
    scope: &Scope,
    since: Version<'_>,
    started: Version<'_>,
    delay: SignedDuration,
    patience: SignedDuration,
) -> Option<Violation> {
    // Use both bounds, because the recorder may have seen either event late.
    let (most, least) =
        (started.at.duration_since(since.happened()), started.happened().duration_since(since.at));
    let (code, after) = if most < delay - API_ROUNDING {
        (TERMINATED_EARLY, most)
    } else if least > delay.saturating_add(patience) {
        (TERMINATED_LATE, least)
    } else {
        return None;
    };
    let message = format!(
        "{scope} was gang-terminated {:.1} s after its breach, want its terminationDelay of {:.1} s",
        after.as_secs_f64(),
        delay.as_secs_f64()
    );
    Some(violation(code, message).shown_by("breached since", since).shown_by("first deletion", started))
}

pub fn times(history: &History, replica: &SetReplica, scope: &Scope, wanted: usize) -> Ruling {
    let found = own_terminations(history, replica, scope);
    ensure(found.len() == wanted, || {
        let message = format!("{scope} was gang-terminated {}, want {wanted}", counted_times(found.len()));
        let violation = violation(WRONG_NUMBER_OF_TERMINATIONS, message);
        found.iter().fold(violation, |violation, termination| {
            violation.shown_by("first deletion", termination.started)
        })
    })
}

#[cfg(test)]
#[path = "timing_tests.rs"]
mod tests;
