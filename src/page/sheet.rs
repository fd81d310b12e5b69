//! The sheet of a case: its results and its timeline. Proofs link to events of the timeline.

use conformance_contract::clauses::clause;
use conformance_report::{CaseResult, Proof, TargetReport, Violation, matrix};
use serde::Serialize;

use super::timeline::{FoundViolation, Timeline};

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Sheet<'a> {
    case: String,
    title: &'a str,
    target: String,
    verdict: &'static str,
    word: String,
    reasons: &'a [String],
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    overhead: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    negative: Option<f64>,
    attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    reproduce: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifacts: Option<&'a str>,
    judgements: Vec<JudgedClause<'a>>,
    violations: Vec<Found<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<Timeline<'a>>,
}

#[derive(Debug, Serialize)]
struct JudgedClause<'a> {
    clause: &'a str,
    text: &'a str,
    verdict: &'static str,
    word: String,
    reasons: &'a [String],
}

#[derive(Debug, Serialize)]
struct Found<'a> {
    clause: &'a str,
    code: &'a str,
    message: &'a str,
    proof: Vec<Observation>,
}

#[derive(Debug, Serialize)]
struct Observation {
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<usize>,
}

impl Observation {
    fn of(proof: &Proof, timeline: Option<&Timeline<'_>>) -> Self {
        let event = timeline.and_then(|of| of.find(&proof.kind, &proof.name, &proof.resource_version));
        Self { text: proof.to_string(), event }
    }
}

pub(crate) fn violations<'a>(target: &'a TargetReport, case: &CaseResult) -> Vec<FoundViolation<'a>> {
    let all =
        target.clauses.iter().flat_map(|of| of.violations.iter().map(move |found| (of.id.as_str(), found)));
    all.filter(|(_, violation): &(&str, &Violation)| violation.case == case.label()).collect()
}

impl<'a> Sheet<'a> {
    pub(crate) fn of(
        target: &'a TargetReport,
        case: &'a CaseResult,
        found: &[FoundViolation<'a>],
        timeline: Option<Timeline<'a>>,
        missing: Option<String>,
    ) -> Self {
        let text = |id: &str| {
            let listed = target.clauses.iter().find(|clause| clause.id == id);
            let listed = listed.map(|clause| clause.requirement.as_str());
            listed.or(clause(id).map(|clause| clause.requirement)).unwrap_or_default()
        };
        let judgements = case.clauses.iter().map(|judgement| JudgedClause {
            clause: &judgement.clause,
            text: text(&judgement.clause),
            verdict: judgement.outcome.verdict.as_str(),
            word: matrix::cell(&judgement.outcome),
            reasons: &judgement.outcome.reasons,
        });
        let violations = found.iter().map(|(clause, violation)| Found {
            clause,
            code: violation.code.as_str(),
            message: &violation.message,
            proof: violation.proof.iter().map(|proof| Observation::of(proof, timeline.as_ref())).collect(),
        });
        Self {
            case: case.label(),
            title: &case.title,
            target: target.title(),
            verdict: case.outcome.verdict.as_str(),
            word: matrix::cell(&case.outcome),
            reasons: &case.outcome.reasons,
            seconds: case.duration_seconds.into(),
            overhead: case.overhead_seconds.map(f64::from),
            negative: case.negative_verdict_seconds.map(f64::from),
            attempts: case.attempts,
            reproduce: case.reproduce.as_deref(),
            artifacts: case.artifacts.as_deref(),
            judgements: judgements.collect(),
            violations: violations.collect(),
            missing,
            timeline,
        }
    }

    /// The sheet of the answer to a question. It judges no clause.
    pub(crate) fn of_answer(
        id: &str,
        question: &'a str,
        scheduler: &str,
        word: &str,
        details: &'a [String],
        timeline: Result<Timeline<'a>, String>,
    ) -> Self {
        let (timeline, missing) = match timeline {
            Ok(timeline) => (Some(timeline), None),
            Err(missing) => (None, Some(missing)),
        };
        Self {
            case: id.to_owned(),
            title: question,
            target: scheduler.to_owned(),
            verdict: "answered",
            word: word.to_owned(),
            reasons: details,
            seconds: timeline.as_ref().map_or(0.0, |timeline| timeline.length as f64 / 1000.0),
            attempts: 1,
            missing,
            timeline,
            ..Self::default()
        }
    }
}

pub(crate) fn without_timeline<'a>(target: &'a TargetReport, case: &'a CaseResult) -> Sheet<'a> {
    let missing = format!(
        "left out to keep the page small; it is in {}/history.jsonl",
        case.artifacts.as_deref().unwrap_or("the artifacts")
    );
    Sheet::of(target, case, &violations(target, case), None, Some(missing))
}
