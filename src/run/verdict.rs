//! From what a judge found, and how the driver ended, to outcomes: the one place where a finding becomes a verdict.

use std::collections::BTreeMap;

use conformance_contract::clauses::{self, Clause};
use conformance_contract::ruling::{Broken, Finding};
use conformance_contract::target::Target;
use conformance_contract::verdict::{Outcome, Verdict};
use conformance_contract::violation::Violation;
use conformance_driver::case::Case;
use conformance_driver::context::Stop;
use conformance_expect::schedulers;
use conformance_history::History;
use conformance_report::{CaseResult, Judgement, Seconds};

use super::deviations;

/// One judgement per clause of the case on the target, and one per clause that was found broken though others were asked
/// about: those rest on it, and are not judged.
pub fn judgements(
    case: &Case,
    target: Target,
    history: &History,
    findings: &[Finding],
    stop: Option<&Stop>,
) -> Vec<Judgement> {
    let broken = match infrastructure(history, stop) {
        Some(_) => Vec::new(),
        None => broken_premises(target, findings),
    };
    let mut clauses = judged_clauses(case, target);
    for finding in &broken {
        if !clauses.contains(&finding.clause) {
            clauses.push(finding.clause);
        }
    }
    clauses
        .into_iter()
        .map(|clause| {
            let restated = clauses::clause(clause).map(|clause| clause.restates).unwrap_or_default();
            let says = |finding: &&Finding| finding.clause == clause || restated.contains(&finding.clause);
            let mut found = findings.iter().chain(&broken).filter(says).peekable();
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

/// What broke the premises of clauses, as findings about the clauses that demand them, as far as the target owes those.
fn broken_premises(target: Target, findings: &[Finding]) -> Vec<Finding> {
    let is_owed = |id: &str| clauses::clause(id).is_some_and(|clause| target.owes(clause));
    let broken = findings.iter().filter_map(|finding| match finding.ruling {
        Err(Broken::Premise { clause, ref violations }) if is_owed(clause) => {
            Some(Finding { clause, ruling: Err(Broken::Violated(violations.clone())) })
        }
        _ => None,
    });
    broken.collect()
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

/// A case that is not run on a target: this outcome of every clause that it would judge there, or *unsupported*, which
/// it is whoever holds it, where it would judge none.
pub fn not_held(case: &Case, target: Target, outcome: &Outcome) -> CaseResult {
    let judged = judged_clauses(case, target);
    if !judged.is_empty() {
        return CaseResult::without_running(case.id, case.title, judged, outcome);
    }
    unsupported(case, target)
}

/// The judgements of such a case, in its run and when its history is judged again.
pub fn interrupted(case: &Case, target: Target) -> Vec<Judgement> {
    let judgement = |clause: &'static str| Judgement {
        clause: clause.into(),
        outcome: conformance_report::interrupted(),
        violations: Vec::new(),
    };
    judged_clauses(case, target).into_iter().map(judgement).collect()
}

/// A case that shows nothing that the target promises: each clause unsupported, for its own feature's reason.
pub fn unsupported(case: &Case, target: Target) -> CaseResult {
    let known = case.clauses.iter().filter_map(|id| clauses::clause(id));
    let judgement = |clause: &Clause| {
        let why = clause.feature().map(|feature| target.why_not(feature)).unwrap_or_default();
        Judgement { clause: clause.id.into(), outcome: Outcome::unsupported(why), violations: Vec::new() }
    };
    let judgements = known.filter(|clause| target.concerns(clause)).map(judgement).collect();
    CaseResult { attempts: 0, ..CaseResult::new(case.id, case.title, judgements) }
}

/// A case that shows nothing that the operator under test declares: each clause unsupported, with this reason.
pub(crate) fn undeclared(case: &Case, reasons: &BTreeMap<&'static str, String>) -> CaseResult {
    let judgement = |(clause, reason): (&&str, &String)| Judgement {
        clause: (*clause).into(),
        outcome: Outcome::unsupported(reason),
        violations: Vec::new(),
    };
    let judgements = reasons.iter().map(judgement).collect();
    CaseResult { attempts: 0, ..CaseResult::new(case.id, case.title, judgements) }
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

/// Why nothing can be said of a backend, whatever a judge found.
fn infrastructure(history: &History, stop: Option<&Stop>) -> Option<String> {
    // A failing cluster proves nothing about a backend.
    if let Some(Stop::Cluster(error)) = stop {
        return Some(error.to_string());
    }
    // What a lost watch did not show may have happened, and what went meanwhile looks as if it were still there.
    let gap = history.gaps().next()?;
    Some(format!("the watch on {} has a gap ({}): what was not seen may have happened", gap.kind, gap.reason))
}

fn outcome<'a>(
    findings: impl Iterator<Item = &'a Finding>,
    history: &History,
    stop: Option<&Stop>,
) -> (Outcome, Vec<Violation>) {
    if let Some(reason) = infrastructure(history, stop) {
        return (Outcome::error(reason), Vec::new());
    }
    let mut violations: Vec<Violation> = Vec::new();
    let (mut premises, mut unknown, mut not_asked) = (Vec::new(), Vec::new(), Vec::new());
    for finding in findings {
        match &finding.ruling {
            Ok(()) => {}
            Err(Broken::Violated(found)) => {
                // What is a clause's own violation may be another's broken premise as well.
                for violation in found {
                    if !violations.contains(violation) {
                        violations.push(violation.clone());
                    }
                }
            }
            Err(Broken::Premise { clause, violations }) => {
                let first = violations.first().map_or("", |violation| violation.message.as_str());
                premises.push(format!("premise broken, {clause} is not kept: {first}"));
            }
            Err(Broken::NotReached(reason)) => unknown.push(reason.clone()),
            Err(Broken::NotAsked(reason)) => not_asked.push(reason.clone()),
        }
    }
    // How the driver stopped may be what is behind the last of them.
    let with_stop = |mut reasons: Vec<String>| {
        if let (Some(stop), Some(last)) = (stop, reasons.last_mut()) {
            *last = format!("{last}\n{stop}");
        }
        reasons
    };
    if let Some(first) = violations.first() {
        let reasons = with_stop(vec![first.message.clone()]);
        return (Outcome::of(Verdict::Fail, reasons), violations);
    }
    if !premises.is_empty() {
        return (Outcome::of(Verdict::NotRun, with_stop(premises)), violations);
    }
    // A clause that holds so far is not shown by a case that stopped half way.
    unknown.extend(stop.map(|stop| format!("the case stopped before its end: {stop}")));
    if !unknown.is_empty() {
        return (Outcome::of(Verdict::Error, unknown), violations);
    }
    match not_asked.is_empty() {
        true => (Outcome::pass(), violations),
        false => (Outcome { announced: true, ..Outcome::of(Verdict::NotRun, not_asked) }, violations),
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
