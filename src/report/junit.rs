//! JUnit XML for CI systems: one testsuite per target, one testcase per case.
//!
//! The XML agrees with the exit code. A verdict that leads to exit code 1 is a failure, and a verdict that
//! leads to exit code 3 is an error. Any other verdict except pass is skipped, with its reason. The title and
//! clauses of a case are in its output, because the schema of Jenkins' xUnit plugin (checked in the tests)
//! allows no properties of a testcase. A clause without a case gets a testcase, so that its error is visible.

use std::time::Duration;

use conformance_contract::verdict::{Outcome, Verdict};
use quick_junit::{NonSuccessKind, Property, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::{CaseResult, ClauseResult, Exit, Report, TargetReport, exit_code};

/// The report as JUnit XML.
pub fn junit(report: &Report) -> Result<String, SerializeError> {
    let mut document = quick_junit::Report::new("grove-conformance");
    document.set_time(report.timings.total_seconds.into());
    document.add_test_suites(report.targets.iter().map(|target| suite(report, target)));
    let text = document.to_string()?;
    // The schema has no `skipped` on the root. quick-junit passes two characters that XML 1.0 forbids.
    let skipped = format!(" skipped=\"{}\"", document.skipped);
    Ok(text.replacen(&skipped, "", 1).replace(['\u{fffe}', '\u{ffff}'], ""))
}

fn suite(report: &Report, target: &TargetReport) -> TestSuite {
    let mut suite = TestSuite::new(target.title());
    let operator = &report.operator;
    suite.add_properties([
        Property::new("operator", format!("{} {}", operator.name, operator.version)),
        Property::new("kubernetes", report.provider.kubernetes_version.as_str()),
        Property::new("provider", report.provider_names().join(" and ")),
        Property::new("scheduler", target.version.as_str()),
        Property::new("suite", report.suite.version.as_str()),
        Property::new("result", target.headline(&report.providers()).to_string()),
    ]);
    if let Some(incomplete) = report.incompleteness() {
        suite.add_property(Property::new("incomplete", incomplete));
    }
    let time = target.cases.iter().map(|case| Duration::from(case.duration_seconds)).sum();
    suite.set_time(time);
    suite.add_test_cases(target.cases.iter().map(|case| test_case(target, case)));
    let without_case = target.clauses.iter().filter(|clause| clause.cases.is_empty());
    suite.add_test_cases(
        without_case
            .filter(|clause| exit_code([&clause.outcome]) != Exit::Conformant)
            .map(|clause| test_case_of_clause(target, clause)),
    );
    suite
}

fn test_case(target: &TargetReport, case: &CaseResult) -> TestCase {
    let mut status = status(&case.outcome);
    if case.outcome.verdict != Verdict::Pass {
        status.set_description(description(target, case));
    }
    let mut test_case = TestCase::new(case.label(), status);
    test_case.set_classname(target.title()).set_time(case.duration_seconds.into());
    let clauses: Vec<_> = case.clauses.iter().map(|judgement| judgement.clause.as_str()).collect();
    test_case.set_system_out(format!("{}\nclauses: {}", case.title, clauses.join(" ")));
    test_case
}

fn test_case_of_clause(target: &TargetReport, clause: &ClauseResult) -> TestCase {
    let mut status = status(&clause.outcome);
    // GitLab shows the text of the element, not its message.
    status.set_description(clause.outcome.reason().unwrap_or_default());
    let mut test_case = TestCase::new(clause.id.as_str(), status);
    test_case.set_classname(target.title());
    test_case
}

fn status(outcome: &Outcome) -> TestCaseStatus {
    let mut status = match (exit_code([outcome]), outcome.verdict) {
        (_, Verdict::Pass) => return TestCaseStatus::success(),
        (Exit::NotConformant, _) => TestCaseStatus::non_success(NonSuccessKind::Failure),
        (Exit::Inconclusive | Exit::Usage, _) => TestCaseStatus::non_success(NonSuccessKind::Error),
        (Exit::Conformant, _) => TestCaseStatus::skipped(),
    };
    status.set_type(outcome.verdict.as_str());
    status.set_message(outcome.reason().unwrap_or_default());
    status
}

fn description(target: &TargetReport, case: &CaseResult) -> String {
    let mut lines = Vec::new();
    for judgement in &case.clauses {
        let reason = judgement.outcome.reason().unwrap_or_else(|| "kept".into());
        lines.push(format!("{} {}: {reason}", judgement.clause, judgement.outcome.verdict));
    }
    let violations = target.clauses.iter().flat_map(|clause| &clause.violations);
    for violation in violations.filter(|violation| violation.case == case.label()) {
        lines.push(violation.message.clone());
        lines.extend(violation.proof.iter().map(|proof| format!("  {proof}")));
    }
    lines.extend(case.reproduce.iter().map(|command| format!("reproduce: {command}")));
    lines.extend(case.artifacts.iter().map(|folder| format!("artifacts: {folder}")));
    lines.join("\n")
}

#[cfg(test)]
#[path = "junit_tests.rs"]
mod tests;
