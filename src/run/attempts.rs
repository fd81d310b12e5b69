use std::time::Duration;

use conformance_contract::target::Target;
use conformance_contract::verdict::{Outcome, Verdict};
use conformance_report::{CaseResult, Judgement, Seconds};

use super::deviations::{self, Occurs};

/// Returns the number of attempts to make if every attempt so far showed the same known race, otherwise 0.
pub(crate) fn tries_of_races(attempts: &[CaseResult], target: Target) -> usize {
    let is_shown = |attempt: &CaseResult, clause: &str| {
        let mut found = attempt.clauses.iter().filter(|judgement| judgement.clause == clause);
        found.any(|judgement| judgement.outcome.verdict == Verdict::KnownDeviation)
    };
    let last =
        attempts.last().into_iter().flat_map(|last| last.clauses.iter().map(move |found| (last, found)));
    let shown = last.filter(|(_, found)| attempts.iter().all(|attempt| is_shown(attempt, &found.clause)));
    let tries = shown.filter_map(|(last, found)| tries(&last.id, &found.clause, target));
    tries.max().unwrap_or(0) as usize
}

fn tries(case: &str, clause: &str, target: Target) -> Option<u32> {
    match deviations::of(case, clause, target)?.occurs {
        Occurs::Race { tries } => Some(tries),
        Occurs::Always | Occurs::ByPace => None,
    }
}

/// A known race is a deviation if one attempt passed, and a failure if none of at least `tries` attempts did.
fn of_race(outcomes: &[Outcome], tries: u32) -> Option<Outcome> {
    let shown = outcomes.iter().filter(|outcome| outcome.verdict == Verdict::KnownDeviation);
    let (shown, count) = (shown.collect::<Vec<_>>(), outcomes.len());
    let is_pass = |outcome: &Outcome| outcome.verdict == Verdict::Pass;
    let passes = outcomes.iter().filter(|outcome| is_pass(outcome)).count();
    let known = shown.first()?.reason().unwrap_or_default();
    match outcomes.iter().position(is_pass) {
        Some(at) if shown.len() + passes == count => {
            let evidence = format!("race condition: passed in attempt {} of at most {tries}", at + 1);
            Some(Outcome::of(Verdict::KnownDeviation, vec![known, evidence]))
        }
        None if shown.len() == count && count >= tries as usize => {
            let never =
                format!("never passed in {count} attempts, but the deviation is declared as a race: {known}");
            Some(Outcome::fail(never))
        }
        _ => None,
    }
}

/// Drops attempts in which a known deviation of another clause left this clause undecided, unless all did.
fn deciding(outcomes: Vec<Outcome>) -> Vec<Outcome> {
    let is_decided = |outcome: &Outcome| !(outcome.verdict == Verdict::NotRun && outcome.announced);
    if outcomes.iter().any(is_decided) { outcomes.into_iter().filter(is_decided).collect() } else { outcomes }
}

/// Combines the attempts of a case. A clause that passed only later is flaky, unless it is a known race.
pub(crate) fn of_attempts(mut attempts: Vec<CaseResult>, target: Target) -> CaseResult {
    let count = attempts.len();
    let Some(mut last) = attempts.pop() else { unreachable!("a case has at least one attempt") };
    if count == 1 {
        return last;
    }
    // An attempt lists the clause of an invariant only if it is violated: in the others it has passed.
    for earlier in attempts.iter().flat_map(|attempt| &attempt.clauses) {
        if last.clauses.iter().all(|judgement| judgement.clause != earlier.clause) {
            let passed = Judgement { outcome: Outcome::pass(), violations: Vec::new(), ..earlier.clone() };
            last.clauses.push(passed);
        }
    }
    for judgement in &mut last.clauses {
        let earlier =
            attempts.iter().flat_map(|attempt| &attempt.clauses).filter(|of| of.clause == judgement.clause);
        judgement.violations.extend(earlier.clone().flat_map(|of| of.violations.iter().cloned()));
        let all = earlier.map(|of| of.outcome.clone()).chain([judgement.outcome.clone()]).collect();
        let outcomes = deciding(all);
        let race = tries(&last.id, &judgement.clause, target).and_then(|tries| of_race(&outcomes, tries));
        if let Some(outcome) = race.or_else(|| Outcome::of_attempts(&outcomes)) {
            judgement.outcome = outcome;
        }
    }
    let seconds = |result: &CaseResult| Duration::from(result.duration_seconds);
    let total = attempts.iter().map(seconds).sum::<Duration>() + seconds(&last);
    let attempts = u32::try_from(count).unwrap_or(u32::MAX);
    let result = CaseResult::new(last.id, last.title, last.clauses);
    CaseResult {
        attempts,
        duration_seconds: Seconds::from(total),
        overhead_seconds: last.overhead_seconds,
        negative_verdict_seconds: last.negative_verdict_seconds,
        reproduce: last.reproduce,
        artifacts: last.artifacts,
        probed: last.probed,
        excepted_writes: last.excepted_writes,
        figures: last.figures,
        ..result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(case: &str, clauses: &[(&str, Outcome)]) -> CaseResult {
        let judgement = |(clause, outcome): &(&str, Outcome)| Judgement {
            clause: (*clause).into(),
            outcome: outcome.clone(),
            violations: Vec::new(),
        };
        CaseResult::new(case, "t", clauses.iter().map(judgement).collect())
    }

    fn verdicts(result: &CaseResult) -> Vec<(&str, Verdict)> {
        result.clauses.iter().map(|of| (of.clause.as_str(), of.outcome.verdict)).collect()
    }

    #[test]
    fn an_invariant_that_one_attempt_violated_is_flaky() {
        let first = attempt("c", &[("AON-10", Outcome::pass()), ("GANG-19", Outcome::fail("no longer"))]);
        let second = attempt("c", &[("AON-10", Outcome::pass())]);
        let result = of_attempts(vec![first, second], Target::KUBE_POD_GROUP);
        assert_eq!(verdicts(&result), [("AON-10", Verdict::Pass), ("GANG-19", Verdict::Flaky)]);
        assert_eq!(result.outcome.verdict, Verdict::Flaky);
    }

    fn race(case: &str, is_shown: bool, other: Option<Outcome>) -> CaseResult {
        let known = deviations::of(case, "DEL-08", Target::KOORDINATOR).unwrap();
        let outcome = match is_shown {
            true => Outcome::fail("").of_known_deviation(known.reason, false),
            false => Outcome::pass(),
        };
        let clauses: Vec<_> =
            [("DEL-08", outcome)].into_iter().chain(other.map(|outcome| ("DEL-12", outcome))).collect();
        attempt(case, &clauses)
    }

    #[rstest::rstest]
    #[case::it_passes_in_the_last_attempt(&[true, true, false], Verdict::KnownDeviation, 0, "race condition: passed in attempt 3 of at most 5")]
    #[case::it_passes_twice(&[true, false, false], Verdict::KnownDeviation, 0, "race condition: passed in attempt 2 of at most 5")]
    #[case::it_never_passes(&[true; 5], Verdict::Fail, 5, "never passed in 5 attempts")]
    #[case::it_was_interrupted(&[true; 2], Verdict::KnownDeviation, 5, "koord-scheduler 1.8 remembers satisfied gangs by name")]
    fn a_known_race_must_pass_in_one_of_its_attempts(
        #[case] tries: &[bool],
        #[case] verdict: Verdict,
        #[case] wanted: usize,
        #[case] parts: &str,
    ) {
        let attempts: Vec<_> =
            tries.iter().map(|is_shown| race("del/same-name-again", *is_shown, None)).collect();
        assert_eq!(tries_of_races(&attempts, Target::KOORDINATOR), wanted);
        let found = of_attempts(attempts, Target::KOORDINATOR);
        assert_eq!(found.outcome.verdict, verdict);
        let reason = found.outcome.reason().unwrap_or_default();
        assert!(reason.contains(parts), "{reason}");
    }

    #[rstest::rstest]
    #[case::it_passes_later([Outcome::not_run_announced("DEL-08"), Outcome::pass()], Verdict::Pass)]
    #[case::it_fails_later([Outcome::not_run_announced("DEL-08"), Outcome::fail("x")], Verdict::Fail)]
    #[case::it_is_never_decided([Outcome::not_run_announced("DEL-08"), Outcome::not_run_announced("DEL-08")], Verdict::NotRun)]
    #[case::it_was_not_announced([Outcome::not_run("AON-02"), Outcome::pass()], Verdict::Flaky)]
    fn an_attempt_that_a_known_deviation_left_undecided_does_not_count(
        #[case] outcomes: [Outcome; 2],
        #[case] verdict: Verdict,
    ) {
        let [first, second] = outcomes.map(Some);
        let case = "del/same-name-api-faults";
        let found =
            of_attempts(vec![race(case, true, first), race(case, false, second)], Target::KOORDINATOR);
        assert_eq!(verdicts(&found), [("DEL-08", Verdict::KnownDeviation), ("DEL-12", verdict)]);
    }
}
