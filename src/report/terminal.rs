//! Plain text for the terminal and for CI logs. Verdicts are words, so that nothing hangs on colour; the last
//! lines say what matters most: counts and the result.

use std::fmt::{self, Write};

use comfy_table::{Table, presets};

use super::{
    Report, Verdict,
    overview::{self, Finding},
};

/// The report as text, ending in a newline.
pub fn terminal(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = write_report(&mut text, report);
    text
}

fn write_report(out: &mut String, report: &Report) -> fmt::Result {
    writeln!(out, "{}\n", matrix(report))?;
    for finding in overview::findings(report, &[Verdict::Fail, Verdict::Flaky]) {
        write_broken(out, &finding)?;
    }
    write_reasons(out, report)?;
    writeln!(out, "slowest cases")?;
    for (profile, case) in overview::slowest(report) {
        writeln!(out, "{:>9}  {}  {}", case.duration_seconds.to_string(), case.id, profile.title())?;
    }
    writeln!(out)?;
    for profile in &report.profiles {
        writeln!(out, "{} {}", profile.title(), profile.version)?;
        for (name, counts) in profile.summary.named() {
            writeln!(out, "  {name:<9} {counts}")?;
        }
    }
    let exit = report.exit();
    let implementation = &report.implementation;
    writeln!(
        out,
        "{} {}: {exit} (exit code {}) in {}",
        implementation.name,
        implementation.version,
        exit.code(),
        report.timings.total_seconds
    )
}

fn matrix(report: &Report) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let titles = report.profiles.iter().map(|profile| profile.title());
    table.set_header(["clause", "tier", "level"].map(str::to_owned).into_iter().chain(titles));
    for row in overview::matrix(report) {
        let facts = [row.clause.id.clone(), row.clause.tier.to_string(), row.clause.level.to_string()];
        let verdict = |verdict: &Option<Verdict>| verdict.map_or("-", Verdict::as_str).to_owned();
        table.add_row(facts.into_iter().chain(row.verdicts.iter().map(verdict)));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn write_broken(out: &mut String, Finding { profile, clause }: &Finding<'_>) -> fmt::Result {
    writeln!(out, "{} {}  {}", clause.id, clause.outcome.verdict, profile.title())?;
    writeln!(out, "  promise: {}", clause.text)?;
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

/// One line for each clause that nobody could judge or that deviates. What is unsupported shows in the matrix
/// and in the other renderings, with its reason.
fn write_reasons(out: &mut String, report: &Report) -> fmt::Result {
    let findings = overview::findings(report, &[Verdict::Error, Verdict::NotRun, Verdict::KnownDeviation]);
    for Finding { profile, clause } in &findings {
        let reason = clause.outcome.reason.as_deref().unwrap_or_default();
        writeln!(out, "{} {}  {}: {reason}", clause.id, clause.outcome.word(), profile.title())?;
    }
    if findings.is_empty() { Ok(()) } else { writeln!(out) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn the_text_of_every_verdict() {
        let _redacted = fixture::redacted();
        insta::assert_snapshot!(terminal(&fixture::report()));
    }
}
