use conformance_contract::clauses::Source;
use conformance_report::matrix::{self, Row};
use conformance_report::overview::{self, ListedViolation};
use conformance_report::reasons::reasons;
use conformance_report::{ClauseResult, Outcome, Report, Seconds, TargetReport, Verdict, published};

use super::cases::Addresses;
use super::filters::{Facts, class_name, facts};

pub(super) struct Finding<'a> {
    pub(super) number: usize,
    pub(super) target: String,
    pub(super) facts: Facts,
    pub(super) clause: &'a ClauseResult,
    pub(super) promise: String,
    pub(super) word: String,
    pub(super) reason: Option<String>,
    pub(super) violations: Vec<FoundIn<'a>>,
    pub(super) artifacts: Option<&'a str>,
}

pub(super) struct FoundIn<'a> {
    pub(super) case: &'a str,
    pub(super) address: Option<String>,
    pub(super) code: &'a str,
    pub(super) message: &'a str,
    pub(super) proof: Vec<String>,
}

pub(super) struct Group<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) clauses: Vec<Clause<'a>>,
}

pub(super) struct Clause<'a> {
    pub(super) result: &'a ClauseResult,
    pub(super) promise: String,
    pub(super) facts: Facts,
    pub(super) class: &'static str,
    pub(super) published: Option<String>,
    pub(super) sources: Vec<(String, Option<String>)>,
    pub(super) cells: Vec<Option<Cell>>,
    pub(super) judged: Vec<Judged<'a>>,
}

pub(super) struct Cell {
    pub(super) word: String,
    pub(super) verdict: &'static str,
}

pub(super) struct Judged<'a> {
    pub(super) target: String,
    pub(super) cell: Cell,
    pub(super) reason: Option<String>,
    pub(super) cases: Vec<(&'a str, String, Cell)>,
    pub(super) seconds: Seconds,
    pub(super) violations: Vec<FoundIn<'a>>,
    pub(super) reproduce: Option<&'a str>,
}

pub(super) struct ReasonGroup {
    pub(super) title: &'static str,
    pub(super) rows: Vec<(String, String, String)>,
}

impl Cell {
    pub(super) fn of(outcome: &Outcome) -> Self {
        Self { word: matrix::cell(outcome), verdict: outcome.verdict.as_str() }
    }
}

fn violations<'a>(
    number: usize,
    target: &TargetReport,
    clause: &'a ClauseResult,
    addresses: &Addresses,
) -> Vec<FoundIn<'a>> {
    let found = clause.violations.iter().map(|violation| FoundIn {
        case: &violation.case,
        address: target
            .cases
            .iter()
            .any(|case| case.label() == violation.case)
            .then(|| addresses.of_case(number, &violation.case)),
        code: violation.code.as_str(),
        message: &violation.message,
        proof: violation.proof.iter().map(ToString::to_string).collect(),
    });
    found.collect()
}

pub(super) fn findings<'a>(report: &'a Report, addresses: &Addresses) -> Vec<Finding<'a>> {
    let number_of = |target: &TargetReport| report.targets.iter().position(|one| std::ptr::eq(one, target));
    let found = overview::findings(report, &[Verdict::Fail, Verdict::Flaky]).into_iter();
    let found = found.map(|ListedViolation { target, clause }| {
        let number = number_of(target).unwrap_or_default();
        Finding {
            number,
            target: target.title(),
            facts: facts(clause),
            clause,
            promise: prose(&clause.requirement),
            word: matrix::cell(&clause.outcome),
            reason: clause.reason_beyond_violations(),
            violations: violations(number, target, clause, addresses),
            artifacts: clause.artifacts.as_deref().filter(|path| is_relative(path)),
        }
    });
    found.collect()
}

/// Converts a text of the contract to HTML. The contract puts names between backticks.
pub(super) fn prose(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let parts = escaped.split('`').enumerate().map(|(part, text)| match part % 2 {
        0 => text.to_owned(),
        _ => format!("<code>{text}</code>"),
    });
    parts.collect()
}

/// Whether the path is relative. The page links to no other paths.
pub(super) fn is_relative(path: &str) -> bool {
    !path.starts_with(['/', '\\']) && !path.contains(':')
}

pub(super) fn groups<'a>(report: &'a Report, addresses: &Addresses) -> Vec<Group<'a>> {
    let groups = matrix::matrix(report).into_iter().map(|section| Group {
        id: section.id,
        title: section.title,
        clauses: section.rows.iter().map(|row| clause(report, row, addresses)).collect(),
    });
    groups.collect()
}

fn clause<'a>(report: &'a Report, row: &Row<'a>, addresses: &Addresses) -> Clause<'a> {
    let id = &row.clause.id;
    let judged = report.targets.iter().enumerate().filter_map(|(number, target)| {
        let clause = target.clauses.iter().find(|clause| clause.id == *id)?;
        let cases = clause.cases.iter().filter_map(|case| {
            let result = target.cases.iter().find(|result| result.label() == *case)?;
            let judgement = result.clauses.iter().find(|judgement| judgement.clause == *id);
            let outcome = judgement.map_or(&result.outcome, |judgement| &judgement.outcome);
            Some((case.as_str(), addresses.of_case(number, case), Cell::of(outcome)))
        });
        Some(Judged {
            target: target.title(),
            cell: Cell::of(&clause.outcome),
            reason: clause.reason_beyond_violations(),
            cases: cases.collect(),
            seconds: clause.duration_seconds,
            violations: violations(number, target, clause, addresses),
            reproduce: clause.reproduce.as_deref(),
        })
    });
    let sources = row.clause.sources.iter().map(|source| (Source(source).name(), Source(source).address()));
    Clause {
        result: row.clause,
        promise: prose(&row.clause.requirement),
        facts: facts(row.clause),
        class: class_name(row.clause.class),
        published: published(id),
        sources: sources.collect(),
        cells: row.results.iter().map(|result| result.map(|clause| Cell::of(&clause.outcome))).collect(),
        judged: judged.collect(),
    }
}

pub(super) fn reason_groups(report: &Report) -> Vec<ReasonGroup> {
    let groups = [
        ("Not judged", vec![Verdict::Error, Verdict::NotRun]),
        ("Known deviations", vec![Verdict::KnownDeviation]),
        ("Unsupported", vec![Verdict::Unsupported]),
    ];
    let groups = groups.into_iter().map(|(title, verdicts)| ReasonGroup {
        title,
        rows: reasons(report, &verdicts)
            .iter()
            .map(|reason| {
                let why = reason.outcome.reason().unwrap_or_default();
                (matrix::cell(reason.outcome), why, reason.lines(report).join("; "))
            })
            .collect(),
    });
    groups.filter(|group| !group.rows.is_empty()).collect()
}
