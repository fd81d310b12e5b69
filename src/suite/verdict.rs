//! From what a judge found, and how the driver ended, to outcomes: the one place where a finding becomes a verdict.

use super::case::Case;
use super::clauses;
use super::deviations;
use super::history::History;
use super::judge::{Broken, Finding};
use super::schedulers;
use super::target::Target;
use super::trial::Stop;
use crate::report::{CaseResult, Judgement, Outcome, Seconds, Verdict, Violation};

/// One judgement per clause of the case on the target.
pub fn judgements(
    case: &Case,
    target: Target,
    history: &History,
    findings: &[Finding],
    stop: Option<&Stop>,
) -> Vec<Judgement> {
    judged_clauses(case, target)
        .into_iter()
        .map(|clause| {
            let restated = clauses::clause(clause).map(clauses::Clause::restates).unwrap_or_default();
            let says = |finding: &&Finding| finding.clause == clause || restated.contains(&finding.clause);
            let mut found = findings.iter().filter(says).peekable();
            let (outcome, violations) = if found.peek().is_none() {
                (Outcome::error("the case's judge says nothing about this clause"), Vec::new())
            } else {
                outcome(found, history, stop)
            };
            // What a scheduler is known to do wrong is no excuse where it was never given its gang resources.
            let had_gangs =
                || schedulers::of(target).kinds().iter().all(|kind| history.of(kind).next().is_some());
            let outcome = match deviations::of(case.id, clause, target) {
                Some(known) if known.explains(&violations) && (violations.is_empty() || had_gangs()) => {
                    outcome.of_known_deviation(known.reason, known.always)
                }
                _ => outcome,
            };
            Judgement { clause: clause.into(), outcome, violations }
        })
        .collect()
}

/// The clauses that a case judges on a target: those that the target owes, and those that it is known to break.
pub fn judged_clauses(case: &Case, target: Target) -> Vec<&'static str> {
    let owed = if case.is_for(target) { case.clauses_on(target) } else { Vec::new() };
    case.clauses
        .iter()
        .copied()
        .filter(|clause| owed.contains(clause) || deviations::of(case.id, clause, target).is_some())
        .collect()
}

/// A case that is not held on a target: this outcome of every clause that it would judge there, or *unsupported*, which
/// it is whoever holds it, where it would judge none.
pub fn not_held(case: &Case, target: Target, outcome: &Outcome) -> CaseResult {
    let judged = judged_clauses(case, target);
    if !judged.is_empty() {
        return CaseResult::without_running(case.id, case.title, judged, outcome);
    }
    let why: Vec<_> = case.undeclared(target).into_iter().map(|feature| target.why_not(feature)).collect();
    let is_its = |id: &&&str| clauses::clause(id).is_some_and(|clause| target.concerns(clause));
    let undeclared: Vec<_> = case.clauses.iter().filter(is_its).copied().collect();
    CaseResult::without_running(case.id, case.title, undeclared, &Outcome::unsupported(why.join("; ")))
}

/// Whether a clause is judged on the API server alone.
pub fn is_contract(clause: &str) -> bool {
    clauses::clause(clause).is_some_and(Target::is_contract)
}

/// Whether a verdict needs no explanation: what was promised, or what is known to be broken.
pub fn is_expected(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Pass | Verdict::KnownDeviation)
}

/// One result of a case that was tried several times: a clause that passed only later is flaky.
pub fn of_attempts(mut attempts: Vec<CaseResult>) -> CaseResult {
    let count = attempts.len();
    let Some(mut last) = attempts.pop() else { unreachable!("a case is tried at least once") };
    if count == 1 {
        return last;
    }
    for judgement in &mut last.clauses {
        let earlier =
            attempts.iter().flat_map(|attempt| &attempt.clauses).filter(|j| j.clause == judgement.clause);
        judgement.violations.extend(earlier.clone().flat_map(|j| j.violations.iter().cloned()));
        let outcomes: Vec<_> =
            earlier.map(|j| j.outcome.clone()).chain([judgement.outcome.clone()]).collect();
        if let Some(outcome) = Outcome::of_attempts(&outcomes) {
            judgement.outcome = outcome;
        }
    }
    let seconds = |result: &CaseResult| std::time::Duration::from(result.duration_seconds);
    let total = attempts.iter().map(seconds).sum::<std::time::Duration>() + seconds(&last);
    let attempts = u32::try_from(count).unwrap_or(u32::MAX);
    let judged = CaseResult::new(last.id, last.title, last.clauses);
    CaseResult {
        attempts,
        duration_seconds: Seconds::from(total),
        overhead_seconds: last.overhead_seconds,
        negative_verdict_seconds: last.negative_verdict_seconds,
        reproduce: last.reproduce,
        artifacts: last.artifacts,
        ..judged
    }
}

fn outcome<'a>(
    findings: impl Iterator<Item = &'a Finding>,
    history: &History,
    stop: Option<&Stop>,
) -> (Outcome, Vec<Violation>) {
    // A failing cluster proves nothing about a backend.
    if let Some(Stop::Cluster(error)) = stop {
        return (Outcome::error(error.to_string()), Vec::new());
    }
    // What a lost watch did not show may have happened, and what went meanwhile looks as if it were still there.
    if let Some(gap) = history.gaps().next() {
        let reason = format!(
            "the watch on {} has a gap ({}): what was not seen may have happened",
            gap.kind, gap.reason
        );
        return (Outcome::error(reason), Vec::new());
    }
    let mut violations = Vec::new();
    let mut not_reached = None;
    for finding in findings {
        match &finding.ruling {
            Ok(()) => {}
            Err(Broken::Violated(found)) => violations.extend(found.iter().cloned()),
            Err(Broken::NotReached(reason)) => not_reached = Some(reason.clone()),
        }
    }
    if let Some(first) = violations.first() {
        let reason = match stop {
            Some(stop) => format!("{}\n{stop}", first.message),
            None => first.message.clone(),
        };
        return (Outcome::fail(reason), violations);
    }
    // A clause that holds so far is not shown by a case that stopped half way.
    match (stop, not_reached) {
        (Some(stop), _) => (Outcome::error(format!("the case stopped before its end: {stop}")), violations),
        (None, Some(reason)) => (Outcome::error(reason), violations),
        (None, None) => (Outcome::pass(), violations),
    }
}
