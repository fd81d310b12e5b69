//! The data of the page's templates. All values are final text or numbers: a template only arranges them.

mod cases;
mod clauses;
mod filters;
mod targets;

use std::time::Duration;

use askama::Template;
use conformance_report::{CaseResult, Exit, Report, Seconds, TargetReport, matrix, overview};

use self::cases::{Addresses, Case, Negatives, Slow, group_of, negatives, slowest};
use self::clauses::{Finding, Group, ReasonGroup, findings, groups, reason_groups};
use self::filters::{Filters, facts_of_case};
use self::targets::{Shown, Target, features};
use super::chart::{Chart, Share, Span, shares};
use super::pack::Packed;
use super::policy::{SCRIPT, STYLE, policy};

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
    targets: Vec<Target>,
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

/// `packed` has the sheet of each case, in the same order as `cases`.
pub(super) fn render(
    report: &Report,
    cases: &[(usize, &TargetReport, &CaseResult)],
    packed: Vec<Packed>,
) -> Result<String, askama::Error> {
    let spans = cases.iter().zip(&packed).enumerate().filter_map(|(index, ((_, _, case), packed))| {
        let (length, overhead) =
            (case.duration_seconds.into(), case.overhead_seconds.unwrap_or_default().into());
        packed.begin.map(|begin| Span { case: index, begin, length, overhead })
    });
    let chart = Chart::of(report, spans.collect());
    let addresses = Addresses::of(report);
    let rows = cases.iter().zip(packed).enumerate().map(|(number, ((index, target, case), packed))| Case {
        number,
        address: addresses.of_case(*index, &case.label()),
        label: case.label(),
        target: target.title(),
        head: target.head().join(" "),
        target_number: *index,
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

fn warnings(report: &Report) -> Vec<String> {
    let mut warnings: Vec<String> =
        report.incompleteness().into_iter().map(|text| format!("{text}.")).collect();
    if report.operator.cluster_admin {
        warnings.push(
            "The operator ran as cluster-admin: permissions that its own roles lack were not detected."
                .to_owned(),
        );
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
