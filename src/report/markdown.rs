use std::fmt::{self, Write};

use conformance_contract::verdict::Verdict;

use super::links::clause_link;
use super::matrix::{self, LEGEND, matrix};
use super::overview::{self, ListedViolation};
use super::reasons::reasons;
use super::{ClauseResult, ComponentSource, Exit, Report, Standing};

/// The report as GitHub-flavored Markdown.
pub fn markdown(report: &Report) -> String {
    let mut text = String::new();
    let _ = write_report(&mut text, report);
    text
}

fn write_report(out: &mut String, report: &Report) -> fmt::Result {
    write_head(out, report)?;
    write_summary(out, report)?;
    write_features(out, report)?;
    write_matrix(out, report)?;
    write_violated(out, &overview::findings(report, &[Verdict::Fail, Verdict::Flaky]))?;
    write_reasons(out, report, "Not judged", &[Verdict::Error, Verdict::NotRun])?;
    write_reasons(out, report, "Known deviations", &[Verdict::KnownDeviation])?;
    write_reasons(out, report, "Unsupported", &[Verdict::Unsupported])?;
    write_excepted(out, report)?;
    write_slowest(out, report)?;
    write_how(out, report)
}

fn write_head(out: &mut String, report: &Report) -> fmt::Result {
    let operator = &report.operator;
    let exit = report.exit();
    writeln!(out, "# Conformance of {} {}\n", operator.name, operator.version)?;
    writeln!(
        out,
        "**{}** (exit code {}), {}, suite {}.",
        sentence(exit),
        exit.code(),
        report.date,
        report.suite.version
    )?;
    if let Some(incomplete) = report.incompleteness() {
        writeln!(out, "**{}.**", escaped(&incomplete))?;
    }
    if operator.cluster_admin {
        writeln!(
            out,
            "The operator ran as cluster-admin: permissions that its own roles lack were not detected."
        )?;
    }
    if operator.reference {
        let own = "The operator is this project's reference operator: its results are not Grove's.";
        writeln!(out, "{own}")?;
    }
    Ok(())
}

fn sentence(exit: Exit) -> &'static str {
    match exit {
        Exit::Conformant => "Passed",
        Exit::NotConformant => "Not conformant",
        Exit::Inconclusive | Exit::Usage => "Inconclusive",
    }
}

fn write_summary(out: &mut String, report: &Report) -> fmt::Result {
    writeln!(out, "\n## Summary\n")?;
    let verdicts: Vec<&str> = Verdict::ALL.iter().map(|verdict| verdict.as_str()).collect();
    write_row(out, ["target", "scheduler", "result"].into_iter().chain(verdicts.iter().copied()))?;
    write_rule(out, 3 + verdicts.len())?;
    for target in &report.targets {
        let all = target.summary.all();
        let cells = Verdict::ALL.map(|verdict| all.of(verdict).to_string());
        let headline = target.headline(&report.providers()).to_string();
        write_row(out, [target.title(), target.scheduler(), headline].into_iter().chain(cells))?;
    }
    writeln!(
        out,
        "\n`kept/owed`: clauses that pass, of those that apply. Unsupported clauses do not apply. {CLASSES}\n"
    )?;
    write_row(out, ["kept/owed".to_owned()].into_iter().chain(heads(report)))?;
    write_rule(out, 1 + report.targets.len())?;
    for (name, counts) in overview::counts(report) {
        write_row(out, [name.to_owned()].into_iter().chain(counts))?;
    }
    Ok(())
}

fn write_features(out: &mut String, report: &Report) -> fmt::Result {
    let rows = overview::features(report);
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n## Features\n")?;
    write_row(out, ["feature".to_owned()].into_iter().chain(heads(report)))?;
    write_rule(out, 1 + report.targets.len())?;
    for (feature, cells) in rows {
        let cells = cells.into_iter().map(|standing| match standing {
            Some(failure @ Standing::DeclaredAndNotShown) => format!("**{failure}**"),
            standing => standing.map(|standing| standing.to_string()).unwrap_or_default(),
        });
        write_row(out, [feature.to_string()].into_iter().chain(cells))?;
    }
    Ok(())
}

const CLASSES: &str = "Agnostic (the controller alone), sensitive (the scheduler too) and capability-bound \
    (a declared feature) are the classes of Grove's proposal 592.";

fn write_matrix(out: &mut String, report: &Report) -> fmt::Result {
    writeln!(out, "\n## Clauses\n\n{}\n", LEGEND.join(" "))?;
    let head = ["clause", "judged on", "level", "feature", "sources"].map(str::to_owned);
    write_row(out, head.into_iter().chain(heads(report)).chain(["requirement".to_owned()]))?;
    write_rule(out, 6 + report.targets.len())?;
    for section in matrix(report) {
        let blank = vec![String::new(); 4 + report.targets.len()];
        let (id, title) = (format!("**{}**", section.id), format!("**{}**", section.title));
        write_row(out, [vec![id], blank, vec![title]].concat())?;
        for row in section.rows {
            let clause = row.clause;
            let facts = [
                clause_link(&clause.id),
                clause.judged_on.to_string(),
                clause.level.to_string(),
                clause.feature.map(|feature| feature.to_string()).unwrap_or_default(),
                clause.sources.join(", "),
            ];
            let cell = |clause: &ClauseResult| cell(clause, report.settings.strict);
            let verdicts = row.results.iter().map(|result| result.map(cell).unwrap_or_default());
            write_row(out, facts.into_iter().chain(verdicts).chain([clause.requirement.clone()]))?;
        }
    }
    Ok(())
}

fn heads(report: &Report) -> impl Iterator<Item = String> {
    report.targets.iter().map(|target| target.head().join(" "))
}

fn cell(clause: &ClauseResult, strict: bool) -> String {
    let word = matrix::clause_cell(clause, strict);
    if clause.exit(strict) == Exit::Conformant { word } else { format!("**{word}**") }
}

fn write_violated(out: &mut String, violated: &[ListedViolation<'_>]) -> fmt::Result {
    if violated.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n## Broken")?;
    for ListedViolation { target, clause } in violated {
        writeln!(
            out,
            "\n### {} on {}: {}\n",
            clause_link(&clause.id),
            target.title(),
            clause.outcome.verdict
        )?;
        writeln!(out, "> {}\n", escaped(&clause.requirement))?;
        if let Some(reason) = clause.reason_beyond_violations() {
            writeln!(out, "{}\n", escaped(&reason))?;
        }
        for violation in &clause.violations {
            writeln!(out, "- `{}`: {}", violation.case, escaped(&violation.message))?;
            for proof in &violation.proof {
                writeln!(out, "  - {}", escaped(&proof.to_string()))?;
            }
        }
        if let Some(command) = &clause.reproduce {
            writeln!(out, "- reproduce: `{command}`")?;
        }
        if let Some(folder) = &clause.artifacts {
            writeln!(out, "- artifacts: [{folder}]({folder})")?;
        }
    }
    Ok(())
}

fn write_reasons(out: &mut String, report: &Report, heading: &str, verdicts: &[Verdict]) -> fmt::Result {
    let reasons = reasons(report, verdicts);
    if reasons.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n## {heading}\n")?;
    write_row(out, ["verdict", "reason", "clauses"])?;
    write_rule(out, 3)?;
    for reason in reasons {
        let why = reason.outcome.reason().unwrap_or_default();
        write_row(out, [reason.outcome.word(), why, reason.lines(report).join("; ")])?;
    }
    Ok(())
}

fn write_excepted(out: &mut String, report: &Report) -> fmt::Result {
    let cases =
        || report.targets.iter().flat_map(|target| target.cases.iter().map(move |case| (target, case)));
    if cases().all(|(_, case)| case.excepted_writes.is_empty()) {
        return Ok(());
    }
    writeln!(out, "\n## Idle writes that do not count\n")?;
    write_row(out, ["case", "target", "writer", "object", "writes"])?;
    write_rule(out, 5)?;
    for (target, case) in cases() {
        for excepted in &case.excepted_writes {
            let (writer, object) = (excepted.writer.clone(), excepted.object.clone());
            let count = excepted.count.to_string();
            write_row(out, [format!("`{}`", case.label()), target.title(), writer, object, count])?;
        }
    }
    Ok(())
}

fn write_slowest(out: &mut String, report: &Report) -> fmt::Result {
    writeln!(out, "\n## Slowest cases\n")?;
    write_row(out, ["case", "target", "duration"])?;
    write_rule(out, 3)?;
    for (target, case) in overview::slowest(report) {
        write_row(out, [format!("`{}`", case.label()), target.title(), case.duration_seconds.to_string()])?;
    }
    Ok(())
}

fn write_how(out: &mut String, report: &Report) -> fmt::Result {
    let (provider, settings, timings) = (&report.provider, &report.settings, &report.timings);
    writeln!(out, "\n## How it was run\n")?;
    writeln!(out, "- command: `{}`", report.command)?;
    for provider in std::iter::once(provider).chain(&report.other_providers) {
        writeln!(out, "- provider: {}, Kubernetes {}", provider.name, provider.kubernetes_version)?;
        if !provider.feature_gates.is_empty() {
            let gates: Vec<String> =
                provider.feature_gates.iter().map(|(name, on)| format!("{name}={on}")).collect();
            writeln!(out, "- feature gates: {}", gates.join(", "))?;
        }
    }
    for target in report.targets.iter().filter(|target| !target.features.declared.is_empty()) {
        writeln!(
            out,
            "- declared, not seen, on {}: {}",
            target.title(),
            target.features.declared.join(", ")
        )?;
    }
    write!(out, "- timeouts × {}, cases at once: {}", settings.timeout_scale, settings.concurrency)?;
    match settings.seed {
        Some(seed) => writeln!(out, ", seed {seed}")?,
        None => writeln!(out)?,
    }
    let (build, ready, total) = (timings.build_seconds, timings.cluster_ready_seconds, timings.total_seconds);
    writeln!(out, "- build {build}, cluster ready {ready}, total {total}")?;
    if !timings.processor_seconds.is_empty() {
        writeln!(out, "- processor time: {}", timings.processor_seconds)?;
    }
    if !timings.peak_memory.is_empty() {
        writeln!(out, "- memory at most: {}", timings.peak_memory)?;
    }
    if !timings.critical_path.is_empty() {
        writeln!(out, "- critical path: {}", timings.critical_path)?;
    }
    writeln!(out)?;
    write_row(out, ["component", "version", "digest"])?;
    write_rule(out, 3)?;
    for component in &report.components {
        let version = match (&component.chart, component.source) {
            (Some(chart), _) => format!("{}, chart {chart}", component.version),
            (None, ComponentSource::Version) => format!("{}, not the pinned version", component.version),
            (None, _) => component.version.clone(),
        };
        write_row(out, [&component.name, &version, &component.digest])?;
    }
    Ok(())
}

pub(super) fn write_row(out: &mut String, cells: impl IntoIterator<Item = impl AsRef<str>>) -> fmt::Result {
    for cell in cells {
        write!(out, "| {} ", escaped(cell.as_ref()).replace('|', r"\|"))?;
    }
    writeln!(out, "|")
}

pub(super) fn write_rule(out: &mut String, columns: usize) -> fmt::Result {
    writeln!(out, "{}|", "|---".repeat(columns))
}

/// Escapes a text to one line without HTML outside of `code`, because reasons quote webhooks and schedulers.
pub(super) fn escaped(text: &str) -> String {
    let line = text.replace(['\n', '\r'], " ");
    let parts = line.split('`').enumerate().map(|(part, text)| match part % 2 {
        0 => text.replace('<', "&lt;"),
        _ => text.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_text_of_every_verdict() {
        let _redacted = fixture::redacted();
        insta::assert_snapshot!(markdown(&fixture::report()));
    }

    #[test]
    fn the_text_of_all_backends() {
        let _redacted = fixture::redacted();
        insta::assert_snapshot!(markdown(&fixture::all_backends()));
    }

    #[test]
    fn the_head_shows_that_a_run_was_interrupted() {
        let _redacted = fixture::redacted();
        let text = markdown(&fixture::interrupted());
        insta::assert_snapshot!(text.lines().take(5).collect::<Vec<_>>().join("\n"), @r"
        # Conformance of grove-backend-controller 0.1.0

        **Inconclusive** (exit code 3), 2026-12-01T10:00:42Z, suite [suite version].
        **Incomplete: interrupted (SIGINT); 1 of 10 cases did not end.**
        The operator is this project's reference operator: its results are not Grove's.
        ");
    }

    #[test]
    fn a_helm_chart_is_shown_after_its_version() {
        let mut report = fixture::report();
        report.components[1].chart = Some("volcano-1.14.1 (https://example.org/charts)".to_owned());
        let text = markdown(&report);
        let row = "| kube-scheduler | v1.36.4, chart volcano-1.14.1 (https://example.org/charts) |";
        assert!(text.contains(row), "{text}");
    }

    #[test]
    fn a_version_that_is_not_pinned_is_marked() {
        let mut report = fixture::report();
        report.components[1].source = ComponentSource::Version;
        let text = markdown(&report);
        assert!(text.contains("| kube-scheduler | v1.36.4, not the pinned version |"), "{text}");
    }

    #[test]
    fn quoted_reasons_do_not_break_the_tables() {
        let mut row = String::new();
        write_row(&mut row, ["a|b", "got <nil>\nin `<pcs>-<i>`"]).unwrap();
        assert_eq!(row, "| a\\|b | got &lt;nil> in `<pcs>-<i>` |\n");
    }
}
