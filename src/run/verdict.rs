//! Only this module turns the findings of a case, and the way its driver stopped, into outcomes.

use conformance_check::binding;
use conformance_contract::clauses::{self, Clause, Feature};
use conformance_contract::ruling::{Broken, Finding};
use conformance_contract::target::Target;
use conformance_contract::verdict::{Outcome, Verdict};
use conformance_contract::violation::{Code, Violation};
use conformance_driver::case::Case;
use conformance_driver::context::{Breach, Stop};
use conformance_expect::schedulers;
use conformance_history::History;
use conformance_report::{CaseResult, Judgement, Probed, precondition_failed};

use super::deviations::{self, DID_NOT_HAPPEN, Deviation, Occurs};
use super::{suites, workload};

const OPERATOR_ENDED: Code = Code::new("operator-ended");

/// The violated clause that stopped the driver, and the message of its violation.
type Culprit = (&'static str, String);

/// Runs the case's check on the history up to the driver's timeout, if any. Adds every violated invariant.
pub fn findings(case: &Case, history: &History) -> Vec<Finding> {
    let mut findings = (case.check)(&history.until_timeout());
    let on_purpose: Vec<_> = case.breaks.iter().map(|(invariant, _)| *invariant).collect();
    let suite = suites::of(history.header.target.workload());
    findings.extend((suite.invariants.broken)(history, &on_purpose));
    findings
}

/// Returns one judgement per clause of the case on the target, and one per other violated clause: an
/// invariant, or a precondition of clauses that are then undecided. A timeout violates the clause that
/// requires the awaited state, unless a check has found the cause.
pub fn judgements(
    case: &Case,
    target: Target,
    history: &History,
    findings: &[Finding],
    stop: Option<&Stop>,
) -> Vec<Judgement> {
    let mut violated = match infrastructure(history, stop) {
        Some(_) => Vec::new(),
        None => violated_preconditions(target, findings),
    };
    let stop_of_case = stop.filter(|_| infrastructure(history, stop).is_none());
    let breach = stop_of_case.and_then(Stop::breach);
    // A violation that a check has found explains the timeout, on a slow machine too.
    let found = stop_of_case
        .filter(|stop| breach.is_some() || stop.is_too_slow())
        .and_then(|_| first_violated(findings.iter().chain(&violated)));
    let culprit = found.or_else(|| {
        let (finding, message) = match breach {
            Some(breach) => (breached(case, target, findings, &breach)?, breach.message),
            None => never_in_time(case, target, stop_of_case?)?,
        };
        let culprit = (finding.clause, message);
        violated.push(finding);
        Some(culprit)
    });
    // A known deviation of a scheduler applies only if gang resources existed.
    let gang_resources_existed =
        || schedulers::of(target).kinds().iter().all(|kind| history.of(kind).next().is_some());
    let is_known = |clause: &str, violations: &[Violation]| {
        let known = deviations::of(case.id, clause, target)?;
        (known.explains(violations) && (violations.is_empty() || gang_resources_existed())).then_some(known)
    };
    let is_deviation = |clause: &str| {
        let mut found = violations_of(clause, findings.iter().chain(&violated)).peekable();
        found.peek().is_some() && found.all(|violations| is_known(clause, violations).is_some())
    };
    let mut clauses = checked_clauses(case, target);
    let is_owed = |id: &str| clauses::clause(id).is_some_and(|clause| target.owes(clause));
    let is_violated = |finding: &&Finding| matches!(finding.ruling, Err(Broken::Violated(_)));
    for finding in violated.iter().chain(findings.iter().filter(is_violated)) {
        if !clauses.contains(&finding.clause) && is_owed(finding.clause) {
            clauses.push(finding.clause);
        }
    }
    clauses
        .into_iter()
        .map(|clause| {
            let restated = clauses::clause(clause).map(|clause| clause.restates).unwrap_or_default();
            let is_about =
                |finding: &&Finding| finding.clause == clause || restated.contains(&finding.clause);
            let mut found = findings.iter().chain(&violated).filter(is_about).peekable();
            let (outcome, violations) = if found.peek().is_none() {
                (Outcome::error("the case's check returned no finding for this clause"), Vec::new())
            } else {
                outcome(found, history, stop, culprit.as_ref())
            };
            // Whether only known deviations violated the clause's preconditions or stopped the driver.
            let is_excused = || {
                let blamed = blamed(findings.iter().filter(is_about), culprit.as_ref());
                !blamed.is_empty() && blamed.into_iter().all(is_deviation)
            };
            let outcome = match is_known(clause, &violations) {
                _ if outcome.verdict == Verdict::NotRun && is_excused() => {
                    Outcome { announced: true, ..outcome }
                }
                Some(known) => outcome.of_known_deviation(known.reason, known.occurs == Occurs::Always),
                None if case.id == workload::ID => {
                    let known = deviations::of_workload(&history.header, clause, &violations);
                    with_known(outcome, known)
                }
                None => outcome,
            };
            Judgement { clause: clause.into(), outcome, violations }
        })
        .collect()
}

/// Adds the known deviation to the reason. The clause stays failed, because a workload only has the symptom.
fn with_known(mut outcome: Outcome, known: Option<&Deviation>) -> Outcome {
    if let (Some(known), Some(last)) = (known, outcome.reasons.last_mut()) {
        *last = format!("{last}\n{}", known.line());
    }
    outcome
}

/// Returns the violation of the clause that requires the awaited state, if the target must satisfy it.
fn breached(case: &Case, target: Target, findings: &[Finding], breach: &Breach) -> Option<Finding> {
    let is_applicable = |clause: &&&str| {
        !findings
            .iter()
            .any(|finding| finding.clause == **clause && matches!(finding.ruling, Err(Broken::NotAsked(_))))
    };
    let clause = match &breach.clause {
        Some(named) => clauses::clause(named),
        None => {
            checked_clauses(case, target).iter().find(is_applicable).and_then(|first| clauses::clause(first))
        }
    };
    let clause =
        clause.filter(|clause| target.owes(clause) || checked_clauses(case, target).contains(&clause.id))?;
    let violation = Violation::new(DID_NOT_HAPPEN, breach.message.clone(), []);
    Some(Finding { clause: clause.id, ruling: Err(violation.into()) })
}

/// Returns the violation of a known deviation that also explains a timeout on a slow machine.
fn never_in_time(case: &Case, target: Target, stop: &Stop) -> Option<(Finding, String)> {
    let known = deviations::of_each_timeout(case.id, target).filter(|_| stop.is_too_slow())?;
    let message = stop.to_string().lines().next().unwrap_or_default().to_owned();
    let violation = Violation::new(DID_NOT_HAPPEN, message.clone(), []);
    Some((Finding { clause: known.clause, ruling: Err(violation.into()) }, message))
}

/// Returns the violations of a clause, including those reported as a violated precondition of another clause.
fn violations_of<'a>(
    id: &str,
    findings: impl Iterator<Item = &'a Finding>,
) -> impl Iterator<Item = &'a [Violation]> {
    findings.filter_map(move |finding| match &finding.ruling {
        Err(Broken::Violated(violations)) if finding.clause == id => Some(violations.as_slice()),
        Err(Broken::Precondition { clause, violations }) if *clause == id => Some(violations.as_slice()),
        _ => None,
    })
}

/// Returns what left a clause undecided: its violated preconditions, or else what stopped the driver.
fn blamed<'a>(findings: impl Iterator<Item = &'a Finding>, culprit: Option<&Culprit>) -> Vec<&'static str> {
    let preconditions = findings.filter_map(|finding| match &finding.ruling {
        Err(Broken::Precondition { clause, .. }) => Some(*clause),
        _ => None,
    });
    let preconditions: Vec<_> = preconditions.collect();
    if preconditions.is_empty() {
        culprit.map(|(clause, _)| *clause).into_iter().collect()
    } else {
        preconditions
    }
}

fn first_violated<'a>(findings: impl Iterator<Item = &'a Finding>) -> Option<Culprit> {
    let mut violated = findings.filter_map(|finding| match &finding.ruling {
        Err(Broken::Violated(violations)) => Some((finding.clause, violations.first()?.message.clone())),
        _ => None,
    });
    violated.next()
}

/// Turns each violated precondition into a finding of its own clause, if the target must satisfy that clause.
fn violated_preconditions(target: Target, findings: &[Finding]) -> Vec<Finding> {
    let is_owed = |id: &str| clauses::clause(id).is_some_and(|clause| target.owes(clause));
    let violated = findings.iter().filter_map(|finding| match finding.ruling {
        Err(Broken::Precondition { clause, ref violations }) if is_owed(clause) => {
            Some(Finding { clause, ruling: Err(Broken::Violated(violations.clone())) })
        }
        _ => None,
    });
    violated.collect()
}

/// Returns the clauses of the case that the target must satisfy or is known to violate.
pub fn checked_clauses(case: &Case, target: Target) -> Vec<&'static str> {
    let owed = if case.is_for(target) { case.clauses_on(target) } else { Vec::new() };
    case.clauses
        .iter()
        .copied()
        .filter(|clause| owed.contains(clause) || is_known_to_break(case, clause, target))
        .collect()
}

/// Whether a known deviation lists the clause, which the operator's declaration must not exclude.
fn is_known_to_break(case: &Case, id: &str, target: Target) -> bool {
    let lacks = |feature: Feature| target.lacks_by_declaration(feature);
    let is_excluded = |clause: &Clause| {
        let undeclared = target.undeclared(clause);
        undeclared.is_some_and(|feature| lacks(feature) || lacks(Feature::GangScheduling))
            || target.leaves_to_another_program(clause)
    };
    deviations::of(case.id, id, target).is_some() && !clauses::clause(id).is_some_and(is_excluded)
}

/// Gives each clause that the case checks on the target this outcome, or *unsupported* if there is none.
pub fn result_without_run(case: &Case, target: Target, outcome: &Outcome) -> CaseResult {
    let clauses = checked_clauses(case, target);
    if clauses.is_empty() {
        return unsupported(case, target);
    }
    let result = CaseResult::without_running(case.id, case.title, clauses, outcome);
    with_excluded(case, target, result)
}

pub fn interrupted(case: &Case, target: Target) -> Vec<Judgement> {
    let judgement = |clause: &'static str| Judgement {
        clause: clause.into(),
        outcome: conformance_report::interrupted(),
        violations: Vec::new(),
    };
    checked_clauses(case, target).into_iter().map(judgement).collect()
}

pub fn unsupported(case: &Case, target: Target) -> CaseResult {
    let known = case.clauses.iter().filter_map(|id| clauses::clause(id));
    let applicable = known.filter(|clause| target.is_subject_to(clause));
    let judgements = applicable.map(|clause| not_promised(clause, target)).collect();
    CaseResult { attempts: 0, ..CaseResult::new(case.id, case.title, judgements) }
}

fn not_promised(clause: &Clause, target: Target) -> Judgement {
    let outcome = Outcome::unsupported(target.why_not_owed(clause).unwrap_or_default());
    Judgement { clause: clause.id.into(), outcome, violations: Vec::new() }
}

/// Adds, as unsupported, the clauses that the declaration excludes although it declares their feature.
pub(crate) fn with_excluded(case: &Case, target: Target, mut result: CaseResult) -> CaseResult {
    let is_excluded = |clause: &&Clause| {
        target.is_subject_to(clause)
            && clause.feature.is_none_or(|feature| target.declares(feature))
            && !target.owes(clause)
            && !result.clauses.iter().any(|judgement| judgement.clause == clause.id)
    };
    let known = case.clauses.iter().filter_map(|id| clauses::clause(id));
    let excluded: Vec<_> = known.filter(is_excluded).map(|clause| not_promised(clause, target)).collect();
    result.clauses.extend(excluded);
    result
}

/// The target as if the operator declared the features of the case. `None` if the backend cannot have them.
pub(crate) fn as_if_declared(case: &Case, target: Target) -> Option<Target> {
    let undeclared = case.clauses.iter().filter_map(|id| target.undeclared(clauses::clause(id)?));
    let features: Vec<_> = undeclared.filter(|feature| target.lacks_by_declaration(*feature)).collect();
    let as_if = target.as_if_declared(&features);
    (!checked_clauses(case, as_if).is_empty()).then_some(as_if)
}

/// Records the verdicts of a probe. The case's clauses stay unsupported.
pub(crate) fn probed(unsupported: CaseResult, found: CaseResult) -> CaseResult {
    if found.attempts == 0 || found.is_interrupted() {
        return unsupported;
    }
    let probed = |judgement: &Judgement| Probed {
        clause: judgement.clause.clone(),
        verdict: judgement.outcome.verdict,
    };
    CaseResult {
        probed: found.clauses.iter().map(probed).collect(),
        clauses: unsupported.clauses,
        outcome: unsupported.outcome,
        ..found
    }
}

pub fn is_contract(clause: &str) -> bool {
    clauses::clause(clause).is_some_and(Target::is_contract)
}

pub fn is_expected(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Pass | Verdict::KnownDeviation)
}

fn infrastructure(history: &History, stop: Option<&Stop>) -> Option<String> {
    // A failing cluster proves nothing about a backend.
    if let Some(Stop::Cluster(error)) = stop {
        return Some(error.to_string());
    }
    // A gap may hide events, such as the deletion of an object.
    if let Some(gap) = history.gaps().next() {
        let (kind, reason) = (&gap.kind, &gap.reason);
        return Some(format!(
            "the watch of {kind} has a gap ({reason}): events may be missing from the history"
        ));
    }
    // Pods on other nodes make the case's arithmetic wrong.
    match binding::on_own_nodes(history) {
        Err(Broken::Violated(violations)) => violations.into_iter().next().map(|violation| violation.message),
        _ => None,
    }
}

/// The first of these decides: infrastructure, violation, violated precondition, exited operator, early stop.
fn outcome<'a>(
    findings: impl Iterator<Item = &'a Finding>,
    history: &History,
    stop: Option<&Stop>,
    culprit: Option<&Culprit>,
) -> (Outcome, Vec<Violation>) {
    if let Some(reason) = infrastructure(history, stop) {
        return (Outcome::error(reason), Vec::new());
    }
    let mut violations: Vec<Violation> = Vec::new();
    let (mut preconditions, mut unknown, mut not_asked) = (Vec::new(), Vec::new(), Vec::new());
    for finding in findings {
        match &finding.ruling {
            Ok(()) => {}
            Err(Broken::Violated(found)) => {
                // Another finding may report the same violation as a precondition.
                for violation in found {
                    if !violations.contains(violation) {
                        violations.push(violation.clone());
                    }
                }
            }
            Err(Broken::Precondition { clause, violations }) => {
                let first = violations.first().map_or("", |violation| violation.message.as_str());
                preconditions.push(precondition_failed(clause, first));
            }
            Err(Broken::NotReached(reason)) => unknown.push(reason.clone()),
            Err(Broken::NotAsked(reason)) => not_asked.push(reason.clone()),
        }
    }
    // Append the driver's stop to the last reason, because it may explain that reason.
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
    if !preconditions.is_empty() {
        return (Outcome::of(Verdict::NotRun, with_stop(preconditions)), violations);
    }
    if let Some(stop @ Stop::OperatorEnded(_)) = stop {
        let ended = Violation::new(OPERATOR_ENDED, stop.to_string(), []);
        return (Outcome::of(Verdict::Fail, vec![ended.message.clone()]), vec![ended]);
    }
    // A clause without a violation is not proven if the case stopped early.
    unknown.extend(stop.map(|stop| format!("the case stopped early: {stop}")));
    if let (Some((clause, message)), false) = (culprit, unknown.is_empty()) {
        return (
            Outcome::of(Verdict::NotRun, with_stop(vec![precondition_failed(clause, message)])),
            violations,
        );
    }
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
#[cfg(test)]
#[path = "timeout_tests.rs"]
mod timeout_tests;
