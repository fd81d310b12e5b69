//! The data of the page's templates. All values are final text or numbers: a template only arranges them.

use std::collections::BTreeSet;
use std::time::Duration;

use askama::Template;
use conformance_contract::clauses::{Class, Feature, Source, Tier, group};
use conformance_report::matrix::{self, Row};
use conformance_report::overview::{self, ListedViolation};
use conformance_report::reasons::reasons;
use conformance_report::{
    CaseResult, ClauseResult, Exit, Outcome, Report, Seconds, Standing, TargetReport, Verdict, published,
};

use super::chart::{Chart, Share, Span, shares};
use super::pack::Packed;
use super::policy::{SCRIPT, STYLE, policy};

/// Number of cases in the list of the slowest.
const SLOWEST: usize = 15;

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    policy: String,
    style: &'static str,
    script: &'static str,
    report: &'a Report,
    result: &'static str,
    result_class: &'static str,
    exit_code: u8,
    warnings: Vec<String>,
    targets: Vec<Target<'a>>,
    counts: Vec<(&'static str, Vec<String>)>,
    features: Vec<(String, Vec<Option<Shown>>)>,
    filters: Filters,
    findings: Vec<Finding<'a>>,
    groups: Vec<Group<'a>>,
    reasons: Vec<ReasonGroup>,
    cases: Vec<Case<'a>>,
    slowest: Vec<Slow>,
    chart: Chart,
    chart_height: usize,
    chart_rows: usize,
    shares: [(&'static str, Vec<Share>); 2],
    negatives: Option<Negatives>,
}

struct Target<'a> {
    title: String,
    head: String,
    version: &'a str,
    headline: String,
    kept: usize,
    owed: usize,
    segments: Vec<Segment>,
}

/// The share of a verdict in a target's clauses. `x` and `width` are in percent.
struct Segment {
    verdict: &'static str,
    count: usize,
    x: f64,
    width: f64,
}

/// The result of a feature on one target.
struct Shown {
    word: String,
    is_red: bool,
    clauses: Vec<String>,
}

/// The choices of the filter, with counts for verdicts.
struct Filters {
    verdicts: Vec<(&'static str, usize)>,
    tiers: Vec<&'static str>,
    classes: Vec<&'static str>,
    levels: Vec<String>,
    features: Vec<Feature>,
}

struct Finding<'a> {
    number: usize,
    target: String,
    facts: Facts,
    clause: &'a ClauseResult,
    promise: String,
    word: String,
    reason: Option<String>,
    violations: Vec<FoundIn<'a>>,
    artifacts: Option<&'a str>,
}

struct FoundIn<'a> {
    case: &'a str,
    address: Option<String>,
    code: &'a str,
    message: &'a str,
    proof: Vec<String>,
}

/// The values by which a row is filtered, in addition to its text.
struct Facts {
    tiers: String,
    levels: String,
    verdict: &'static str,
}

struct Group<'a> {
    id: &'a str,
    title: &'a str,
    clauses: Vec<Clause<'a>>,
}

/// A row of the matrix and the view of its clause.
struct Clause<'a> {
    result: &'a ClauseResult,
    promise: String,
    facts: Facts,
    class: &'static str,
    published: Option<String>,
    sources: Vec<(String, Option<String>)>,
    cells: Vec<Option<Cell>>,
    judged: Vec<Judged<'a>>,
}

struct Cell {
    word: String,
    verdict: &'static str,
}

struct Judged<'a> {
    target: String,
    cell: Cell,
    reason: Option<String>,
    cases: Vec<(&'a str, String, Cell)>,
    seconds: Seconds,
    violations: Vec<FoundIn<'a>>,
    reproduce: Option<&'a str>,
}

struct ReasonGroup {
    title: &'static str,
    rows: Vec<(String, String, String)>,
}

struct Case<'a> {
    number: usize,
    address: String,
    label: String,
    target: String,
    head: String,
    target_number: usize,
    result: &'a CaseResult,
    facts: Facts,
    word: String,
    reason: Option<String>,
    sheet: String,
}

struct Slow {
    address: String,
    case: String,
    head: String,
    seconds: Seconds,
    overhead: Option<Seconds>,
    negative: Option<Seconds>,
    width: f64,
}

/// Times to prove that nothing happens.
struct Negatives {
    count: usize,
    median: Seconds,
    most: Seconds,
}

pub(super) fn render(
    report: &Report,
    cases: &[(usize, &TargetReport, &CaseResult)],
    packed: Vec<Packed>,
) -> Result<String, askama::Error> {
    let spans = cases.iter().zip(&packed).enumerate().filter_map(|(place, ((_, _, case), packed))| {
        let (length, overhead) =
            (case.duration_seconds.into(), case.overhead_seconds.unwrap_or_default().into());
        packed.begin.map(|begin| Span { case: place, begin, length, overhead })
    });
    let chart = Chart::of(report, spans.collect());
    let addresses = Addresses::of(report);
    let rows = cases.iter().zip(packed).enumerate().map(|(number, ((of, target, case), packed))| Case {
        number,
        address: addresses.of_case(*of, &case.label()),
        label: case.label(),
        target: target.title(),
        head: target.head().join(" "),
        target_number: *of,
        result: case,
        facts: facts_of_case(target, case),
        word: matrix::cell(&case.outcome),
        reason: case.outcome.reason(),
        sheet: packed.text,
    });
    let exit = report.exit();
    let (result, result_class) = match exit {
        Exit::Conformant => ("Passed", "pass"),
        Exit::NotConformant => ("Not conformant", "fail"),
        Exit::Inconclusive | Exit::Usage => ("Inconclusive", "error"),
    };
    let titles: Vec<String> = report.targets.iter().map(TargetReport::title).collect();
    let page = Page {
        policy: policy(SCRIPT),
        style: STYLE,
        script: SCRIPT,
        report,
        result,
        result_class,
        exit_code: exit.code(),
        warnings: warnings(report),
        targets: report.targets.iter().map(|target| Target::of(target, report)).collect(),
        counts: overview::counts(report).collect(),
        features: features(report),
        filters: Filters::of(report),
        findings: findings(report, &addresses),
        groups: groups(report, &addresses),
        reasons: reason_groups(report),
        cases: rows.collect(),
        slowest: slowest(cases, &addresses),
        chart_height: chart.rows * 14 + 20,
        chart_rows: chart.rows,
        chart,
        shares: [
            ("By group", shares(report, |_, id| group_of(id))),
            ("By target", shares(report, |number, _| titles[number].clone())),
        ],
        negatives: negatives(cases),
    };
    page.render()
}

/// The group of a case, with its title.
fn group_of(case: &str) -> String {
    let id = case.split_once('/').map_or(case, |(group, _)| group).to_uppercase();
    let title = group(&format!("{id}-01")).map(|group| format!(": {}", group.title)).unwrap_or_default();
    format!("{id}{title}")
}

/// Addresses of cases in the page. Target titles are unique unless the report was edited; then the first one
/// is used.
struct Addresses(Vec<String>);

impl Addresses {
    fn of(report: &Report) -> Self {
        Self(report.targets.iter().map(|target| slug(&target.title())).collect())
    }

    fn of_case(&self, target: usize, label: &str) -> String {
        format!("case:{}/{}", self.0[target], label.replace(' ', "-"))
    }
}

fn slug(title: &str) -> String {
    let words = title.split(|of: char| !of.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

fn warnings(report: &Report) -> Vec<String> {
    let mut warnings: Vec<String> =
        report.incompleteness().into_iter().map(|said| format!("{said}.")).collect();
    if report.operator.cluster_admin {
        warnings
            .push("The operator ran as cluster-admin: what its own roles lack was not found out.".to_owned());
    }
    if report.operator.reference {
        let own = "The operator is this project's reference operator: its results are not Grove's.";
        warnings.push(own.to_owned());
    }
    if report.targets.is_empty() {
        warnings.push("The report has no target: nothing was judged.".to_owned());
    }
    warnings
}

impl<'a> Target<'a> {
    fn of(target: &'a TargetReport, report: &Report) -> Self {
        let all = target.summary.all();
        let total = all.total().max(1) as f64;
        let (mut segments, mut x) = (Vec::new(), 0.0);
        for verdict in Verdict::ALL {
            let count = all.of(verdict);
            let width = 100.0 * count as f64 / total;
            if count > 0 {
                segments.push(Segment { verdict: verdict.as_str(), count, x, width });
            }
            x += width;
        }
        Self {
            title: target.title(),
            head: target.head().join(" "),
            version: &target.version,
            headline: target.headline(&report.providers()).to_string(),
            kept: all.pass,
            owed: all.total() - all.unsupported,
            segments,
        }
    }
}

fn features(report: &Report) -> Vec<(String, Vec<Option<Shown>>)> {
    let evidence: Vec<_> = report.targets.iter().map(TargetReport::evidence).collect();
    let rows = overview::features(report).into_iter().map(|(feature, _)| {
        let cells = evidence.iter().map(|of| {
            of.iter().find(|of| of.name == feature).map(|of| Shown {
                word: of.standing.to_string(),
                is_red: of.standing == Standing::DeclaredAndNotShown,
                clauses: of.clauses.clone(),
            })
        });
        (feature.to_string(), cells.collect())
    });
    rows.collect()
}

fn class_name(class: Class) -> &'static str {
    match class {
        Class::Agnostic => "agnostic",
        Class::Sensitive => "sensitive",
        Class::CapabilityBound => "capability-bound",
        Class::BackendSpecific => "backend-specific",
    }
}

fn tier_name(tier: Tier) -> &'static str {
    match tier {
        Tier::Contract => "contract",
        Tier::Scheduling => "scheduling",
    }
}

impl Filters {
    fn of(report: &Report) -> Self {
        let clauses = || report.targets.iter().flat_map(|target| &target.clauses);
        let count = |verdict: Verdict| clauses().filter(|clause| clause.outcome.verdict == verdict).count();
        let classes = [Class::Agnostic, Class::Sensitive, Class::CapabilityBound, Class::BackendSpecific];
        let levels: BTreeSet<_> = clauses().map(|clause| clause.level).collect();
        let features: BTreeSet<_> = clauses().filter_map(|clause| clause.feature).collect();
        Self {
            verdicts: Verdict::ALL
                .into_iter()
                .map(|verdict| (verdict.as_str(), count(verdict)))
                .filter(|(_, count)| *count > 0)
                .collect(),
            tiers: vec![tier_name(Tier::Contract), tier_name(Tier::Scheduling)],
            classes: classes.into_iter().map(class_name).collect(),
            levels: levels.iter().map(ToString::to_string).collect(),
            features: features.into_iter().collect(),
        }
    }
}

fn facts(clause: &ClauseResult) -> Facts {
    Facts {
        tiers: format!("{} {}", tier_name(clause.judged_on), class_name(clause.class)),
        levels: match clause.feature {
            Some(feature) => format!("{} {feature}", clause.level),
            None => clause.level.to_string(),
        },
        verdict: clause.outcome.verdict.as_str(),
    }
}

fn facts_of_case(target: &TargetReport, case: &CaseResult) -> Facts {
    let judged = |id: &str| target.clauses.iter().find(|clause| clause.id == id);
    let all: Vec<Facts> = case.clauses.iter().filter_map(|of| judged(&of.clause)).map(facts).collect();
    let words = |of: fn(&Facts) -> &str| {
        let words: BTreeSet<&str> = all.iter().flat_map(|facts| of(facts).split(' ')).collect();
        words.into_iter().collect::<Vec<_>>().join(" ")
    };
    Facts {
        tiers: words(|facts| &facts.tiers),
        levels: words(|facts| &facts.levels),
        verdict: case.outcome.verdict.as_str(),
    }
}

impl Cell {
    fn of(outcome: &Outcome) -> Self {
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

fn findings<'a>(report: &'a Report, addresses: &Addresses) -> Vec<Finding<'a>> {
    let number = |target: &TargetReport| report.targets.iter().position(|one| std::ptr::eq(one, target));
    let found = overview::findings(report, &[Verdict::Fail, Verdict::Flaky]).into_iter();
    let found = found.map(|ListedViolation { target, clause }| {
        let number = number(target).unwrap_or_default();
        Finding {
            number,
            target: target.title(),
            facts: facts(clause),
            clause,
            promise: prose(&clause.requirement),
            word: matrix::cell(&clause.outcome),
            reason: clause.reason_beyond_violations(),
            violations: violations(number, target, clause, addresses),
            artifacts: clause.artifacts.as_deref().filter(|path| is_beside(path)),
        }
    });
    found.collect()
}

/// Converts a clause's text to HTML. The contract puts names between backticks.
fn prose(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let parts = escaped.split('`').enumerate().map(|(part, text)| match part % 2 {
        0 => text.to_owned(),
        _ => format!("<code>{text}</code>"),
    });
    parts.collect()
}

/// Whether a path is relative. The page links to no other paths.
fn is_beside(path: &str) -> bool {
    !path.starts_with(['/', '\\']) && !path.contains(':')
}

fn groups<'a>(report: &'a Report, addresses: &Addresses) -> Vec<Group<'a>> {
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

fn reason_groups(report: &Report) -> Vec<ReasonGroup> {
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

fn slowest(cases: &[(usize, &TargetReport, &CaseResult)], addresses: &Addresses) -> Vec<Slow> {
    let mut ran: Vec<_> = cases.iter().filter(|(_, _, case)| case.attempts > 0).collect();
    ran.sort_by_key(|(_, _, case)| std::cmp::Reverse(case.duration_seconds));
    let most = ran.first().map_or(1.0, |(_, _, case)| f64::from(case.duration_seconds)).max(0.001);
    let slow = ran.into_iter().take(SLOWEST).map(|(number, target, case)| Slow {
        address: addresses.of_case(*number, &case.label()),
        case: case.label(),
        head: target.head().join(" "),
        seconds: case.duration_seconds,
        overhead: case.overhead_seconds,
        negative: case.negative_verdict_seconds,
        width: 100.0 * f64::from(case.duration_seconds) / most,
    });
    slow.collect()
}

fn negatives(cases: &[(usize, &TargetReport, &CaseResult)]) -> Option<Negatives> {
    let mut times: Vec<Seconds> =
        cases.iter().filter_map(|(_, _, case)| case.negative_verdict_seconds).collect();
    times.sort();
    Some(Negatives { count: times.len(), median: *times.get(times.len() / 2)?, most: *times.last()? })
}

impl Page<'_> {
    #[expect(clippy::unused_self, reason = "templates call methods")]
    fn time(&self, duration: &Duration) -> String {
        Seconds::from(*duration).to_string()
    }

    fn seconds(&self, duration: &Option<Duration>) -> String {
        duration.map_or_else(|| "unknown".to_owned(), |duration| self.time(&duration))
    }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
