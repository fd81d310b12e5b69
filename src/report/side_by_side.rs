//! Reports of several runs side by side: what each of them kept (`report side-by-side`).

use std::fmt::{self, Write};

use conformance_contract::clauses::CLAUSES;
use conformance_contract::verdict::{Outcome, Verdict};

use super::markdown::{escaped, write_row, write_rule};
use super::matrix;
use super::{Report, TargetReport};

/// The longest reason that is quoted.
const QUOTED: usize = 240;

fn outcome<'a>(target: &'a TargetReport, id: &str) -> Option<&'a Outcome> {
    target.clauses.iter().find(|clause| clause.id == id).map(|clause| &clause.outcome)
}

/// What the runs kept, as Markdown: a row per target, the clauses that not all of them kept, and why.
pub fn side_by_side(reports: &[Report]) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = write_runs_and_clauses(&mut text, reports);
    text
}

fn write_runs_and_clauses(out: &mut String, reports: &[Report]) -> fmt::Result {
    let columns: Vec<_> =
        reports.iter().flat_map(|report| report.targets.iter().map(move |target| (report, target))).collect();
    write_runs(out, &columns)?;
    write_clauses(out, &columns)?;
    for (number, (report, target)) in columns.iter().enumerate() {
        write_broken(out, number + 1, report, target)?;
    }
    Ok(())
}

type Column<'a> = (&'a Report, &'a TargetReport);

fn write_runs(out: &mut String, columns: &[Column<'_>]) -> fmt::Result {
    let verdicts = Verdict::ALL.iter().map(|verdict| verdict.as_str());
    write_row(
        out,
        ["", "operator", "target", "scheduler"].into_iter().chain(verdicts).chain(["seconds", "date"]),
    )?;
    write_rule(out, 6 + Verdict::ALL.len())?;
    for (number, (report, target)) in columns.iter().enumerate() {
        let operator = &report.operator;
        let commit =
            operator.commit.as_deref().map(|commit| format!(" ({})", &commit[..commit.len().min(8)]));
        let counts = Verdict::ALL.map(|verdict| target.summary.all().of(verdict).to_string());
        let facts = [
            (number + 1).to_string(),
            format!("{} {}{}", operator.name, operator.version, commit.unwrap_or_default()),
            target.title(),
            target.version.clone(),
        ];
        let total = format!("{:.0}", std::time::Duration::from(report.timings.total_seconds).as_secs_f64());
        let date = report.date.strftime("%Y-%m-%d").to_string();
        write_row(out, facts.into_iter().chain(counts).chain([total, date]))?;
    }
    Ok(())
}

/// The clauses that one of them did not keep, or was not asked about for want of a premise.
fn write_clauses(out: &mut String, columns: &[Column<'_>]) -> fmt::Result {
    let is_told = |id: &str| {
        columns.iter().filter_map(|(_, target)| outcome(target, id)).any(|outcome| {
            !(matches!(outcome.verdict, Verdict::Pass | Verdict::Unsupported) || outcome.announced)
        })
    };
    let mut rows = CLAUSES.iter().filter(|clause| is_told(clause.id)).peekable();
    if rows.peek().is_none() {
        return writeln!(out, "\nEvery clause that was judged is kept.");
    }
    writeln!(out, "\nThe clauses that one of them did not keep; CAPITALS decide the exit code.\n")?;
    let numbers = (1..=columns.len()).map(|number| number.to_string());
    write_row(out, ["clause".to_owned()].into_iter().chain(numbers).chain(["requirement".to_owned()]))?;
    write_rule(out, 2 + columns.len())?;
    for clause in rows {
        let cells = columns.iter().map(|(_, target)| outcome(target, clause.id).map(matrix::cell));
        let cells = cells.map(Option::unwrap_or_default);
        write_row(
            out,
            [clause.id.to_owned()].into_iter().chain(cells).chain([clause.requirement.to_owned()]),
        )?;
    }
    Ok(())
}

fn write_broken(out: &mut String, number: usize, report: &Report, target: &TargetReport) -> fmt::Result {
    let mut broken = target.clauses.iter().filter(|clause| matrix::is_red(&clause.outcome)).peekable();
    if broken.peek().is_none() {
        return Ok(());
    }
    let operator = &report.operator;
    writeln!(out, "\n## {number}. {} {} on {}\n", operator.name, operator.version, target.title())?;
    for clause in broken {
        let reason = clause.outcome.reason().unwrap_or_default();
        let first = reason.lines().next().unwrap_or_default();
        let case = clause.violations.first().map(|violation| format!(" `{}`:", violation.case));
        let verdict = clause.outcome.verdict;
        writeln!(out, "- {} ({verdict}):{} {}", clause.id, case.unwrap_or_default(), escaped(&cut(first)))?;
    }
    Ok(())
}

/// At most so much of a reason.
fn cut(reason: &str) -> String {
    let line = reason.lines().next().unwrap_or_default();
    match line.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn two_runs_side_by_side() {
        let mut other = fixture::report();
        other.operator.commit = Some("0123456789abcdef".into());
        other.targets.truncate(1);
        let text = side_by_side(&[fixture::report(), other.clone()]);
        assert!(text.contains("| 3 | grove-backend-controller 0.1.0 (01234567) |"), "{text}");
        let red: Vec<_> =
            other.targets[0].clauses.iter().filter(|clause| matrix::is_red(&clause.outcome)).collect();
        assert!(!red.is_empty());
        let (_, of_other) = text.split_once("\n## 3. ").unwrap();
        for clause in red {
            assert!(of_other.contains(&format!("- {} ({})", clause.id, clause.outcome.verdict)), "{text}");
            assert!(text.contains(&format!("\n| {} |", clause.id)), "{text}");
        }
    }

    #[test]
    fn runs_that_kept_all_have_nothing_to_tell() {
        let mut kept = fixture::report();
        for clause in kept.targets.iter_mut().flat_map(|target| &mut target.clauses) {
            clause.outcome = Outcome::pass();
        }
        assert!(side_by_side(&[kept]).ends_with("Every clause that was judged is kept.\n"));
    }
}
