//! Plain text for the terminal and for CI logs, readable without color. Counts and exit code come last.

use std::fmt::{self, Write};

use comfy_table::{Table, presets};
use conformance_contract::clauses::Tier;
use conformance_contract::verdict::Verdict;

use super::matrix::{LEGEND, Row, clause_cell, matrix};
use super::overview::{self, ListedViolation};
use super::reasons::reasons;
use super::{Report, Standing};

/// The report as text with a final newline.
pub fn terminal(report: &Report) -> String {
    let mut text = String::new();
    let _ = write_report(&mut text, report);
    text
}

/// Only failures, errors and the last lines: the result of each target, and the exit code.
pub fn brief_terminal(report: &Report) -> String {
    let mut text = String::new();
    let _ = write_brief(&mut text, report);
    text
}

fn write_brief(out: &mut String, report: &Report) -> fmt::Result {
    write_findings(out, report)?;
    write_reasons(out, report, &[Verdict::Error])?;
    write_results(out, report)?;
    write_end(out, report)
}

fn write_report(out: &mut String, report: &Report) -> fmt::Result {
    write_matrix(out, report)?;
    write_findings(out, report)?;
    let verdicts = [Verdict::Error, Verdict::NotRun, Verdict::KnownDeviation, Verdict::Unsupported];
    write_reasons(out, report, &verdicts)?;
    writeln!(out, "slowest cases")?;
    for (target, case) in overview::slowest(report) {
        writeln!(out, "{:>9}  {}  {}", case.duration_seconds.to_string(), case.label(), target.title())?;
    }
    if !report.timings.critical_path.is_empty() {
        writeln!(out, "critical path: {}", report.timings.critical_path)?;
    }
    write_counts(out, report)?;
    write_results(out, report)?;
    write_features(out, report)?;
    write_end(out, report)
}

fn write_end(out: &mut String, report: &Report) -> fmt::Result {
    if let Some(incomplete) = report.incompleteness() {
        writeln!(out, "{incomplete}")?;
    }
    let exit = report.exit();
    let operator = &report.operator;
    writeln!(
        out,
        "{} {}: {exit} (exit code {}) in {}",
        operator.name,
        operator.version,
        exit.code(),
        report.timings.total_seconds
    )
}

/// The columns are narrow: six targets fit into 80 characters.
fn write_matrix(out: &mut String, report: &Report) -> fmt::Result {
    let sections = matrix(report);
    let rows = || sections.iter().flat_map(|section| &section.rows);
    let mut head = vec!["clause".to_owned(), String::new()];
    head.extend(heads(report));
    head.push(" feature".to_owned());
    let lines = aligned(head, rows().map(|row| cells(row, report.settings.strict)));
    let (head, mut body) = lines.split_at(lines.len() - rows().count());
    for line in head {
        writeln!(out, " {line}")?;
    }
    for section in &sections {
        let (lines, rest) = body.split_at(section.rows.len());
        body = rest;
        writeln!(out, "{}", section.title)?;
        for line in lines {
            writeln!(out, " {line}")?;
        }
    }
    let [verdicts, blank] = LEGEND;
    writeln!(out, "{verdicts}\n{blank}; C: contract, S: scheduling\n")
}

fn cells(row: &Row<'_>, strict: bool) -> Vec<String> {
    let judged_on = match row.clause.judged_on {
        Tier::Contract => "C",
        Tier::Scheduling => "S",
    };
    let feature = row.clause.feature.map(|feature| format!(" {feature}"));
    let outcomes =
        row.results.iter().map(|result| result.map(|clause| clause_cell(clause, strict)).unwrap_or_default());
    let facts = [row.clause.id.clone(), judged_on.to_owned()];
    facts.into_iter().chain(outcomes).chain([feature.unwrap_or_default()]).collect()
}

fn write_counts(out: &mut String, report: &Report) -> fmt::Result {
    let head = ["kept/owed".to_owned()].into_iter().chain(heads(report)).collect();
    let rows = overview::counts(report).map(|(name, counts)| [vec![name.to_owned()], counts].concat());
    writeln!(out)?;
    for line in aligned(head, rows) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)
}

fn write_results(out: &mut String, report: &Report) -> fmt::Result {
    for target in &report.targets {
        let (headline, counts) = (target.headline(&report.providers()), target.summary.all());
        writeln!(out, "{} {}: {headline} ({counts})", target.title(), target.scheduler())?;
    }
    Ok(())
}

fn write_features(out: &mut String, report: &Report) -> fmt::Result {
    for target in &report.targets {
        let evidence = target.evidence();
        for standing in
            [Standing::DeclaredAndNotShown, Standing::ShownAndNotDeclared, Standing::DeclaredAndShown]
        {
            let names: Vec<_> = evidence
                .iter()
                .filter(|found| found.standing == standing)
                .map(|found| found.name.to_string())
                .collect();
            if !names.is_empty() {
                writeln!(out, "{} {standing}: {}", target.title(), names.join(", "))?;
            }
        }
    }
    Ok(())
}

fn heads(report: &Report) -> impl Iterator<Item = String> {
    report.targets.iter().map(|target| target.head().join("\n"))
}

/// Aligns the columns, with one space between them. A head may have several lines, a row has one.
fn aligned(head: Vec<String>, rows: impl Iterator<Item = Vec<String>>) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(head).add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

fn write_findings(out: &mut String, report: &Report) -> fmt::Result {
    for finding in overview::findings(report, &[Verdict::Fail, Verdict::Flaky]) {
        write_violated(out, &finding)?;
    }
    Ok(())
}

fn write_violated(out: &mut String, ListedViolation { target, clause }: &ListedViolation<'_>) -> fmt::Result {
    writeln!(out, "{} {}  {}", clause.id, clause.outcome.verdict, target.title())?;
    writeln!(out, "  requirement: {}", clause.requirement)?;
    if let Some(reason) = clause.reason_beyond_violations() {
        writeln!(out, "  reason: {reason}")?;
    }
    for violation in &clause.violations {
        writeln!(out, "  {}: {}", violation.case, violation.message)?;
        for proof in &violation.proof {
            writeln!(out, "    {proof}")?;
        }
    }
    if let Some(command) = &clause.reproduce {
        writeln!(out, "  reproduce: {command}")?;
    }
    if let Some(folder) = &clause.artifacts {
        writeln!(out, "  artifacts: {folder}")?;
    }
    writeln!(out)
}

/// Writes each reason once, the most important first, with all its clauses.
fn write_reasons(out: &mut String, report: &Report, verdicts: &[Verdict]) -> fmt::Result {
    let reasons = reasons(report, verdicts);
    for reason in &reasons {
        let why = reason.outcome.reason().unwrap_or_default();
        writeln!(out, "{}: {why}", reason.outcome.word())?;
        for line in reason.lines(report) {
            writeln!(out, "  {line}")?;
        }
    }
    if reasons.is_empty() { Ok(()) } else { writeln!(out) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_text_of_every_verdict() {
        let _redacted = fixture::redacted();
        insta::assert_snapshot!(terminal(&fixture::report()));
    }

    #[test]
    fn the_brief_text_of_every_verdict() {
        let _redacted = fixture::redacted();
        insta::assert_snapshot!(brief_terminal(&fixture::report()));
    }

    #[test]
    fn the_text_of_all_backends() {
        let _redacted = fixture::redacted();
        insta::assert_snapshot!(terminal(&fixture::all_backends()));
    }

    #[test]
    fn the_text_of_an_interrupted_run() {
        let text = terminal(&fixture::interrupted());
        let end = text.lines().rev().take(2).collect::<Vec<_>>();
        assert_eq!(
            end,
            [
                "grove-backend-controller 0.1.0: inconclusive (exit code 3) in 41.2 s",
                "Incomplete: interrupted (SIGINT); 1 of 10 cases did not end",
            ]
        );
    }

    #[test]
    fn the_matrix_of_six_targets_fits_a_narrow_terminal() {
        let mut text = String::new();
        write_matrix(&mut text, &fixture::all_backends()).unwrap();
        let widest = text.lines().max_by_key(|line| line.len()).unwrap();
        assert!(widest.len() <= 80, "{widest}");
    }
}
