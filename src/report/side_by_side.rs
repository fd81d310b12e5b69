//! Reports of several runs side by side: what each of them kept (`report page`), and which verdicts two runs do not share
//! (`report compare`).

use std::fmt::{self, Write};

use conformance_contract::clauses::CLAUSES;
use conformance_contract::verdict::{Outcome, Verdict};

use super::markdown::{escaped, write_row, write_rule};
use super::matrix;
use super::{ProfileReport, Report};

/// The longest reason that a page quotes.
const QUOTED: usize = 240;

/// A clause on which two runs do not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The profile of both.
    pub profile: String,
    /// The clause, or all of them where one run does not have the profile.
    pub clause: String,
    /// Its verdict in each, with the reason; `None` where it is not said.
    pub outcomes: [Option<Outcome>; 2],
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |outcome: &Option<Outcome>| match outcome {
            None => "nothing".to_owned(),
            Some(outcome) => match outcome.reason() {
                None => outcome.word(),
                Some(reason) => format!("{} ({})", outcome.word(), cut(&reason)),
            },
        };
        let [one, other] = &self.outcomes;
        write!(f, "{} on {}: {}, {}", self.clause, self.profile, said(one), said(other))
    }
}

/// The clauses whose verdict is not the same in both reports, profile by profile, in the order of the first.
pub fn compare(one: &Report, other: &Report) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut profiles: Vec<String> =
        one.profiles.iter().chain(&other.profiles).map(ProfileReport::title).collect();
    profiles.dedup();
    let mut seen = Vec::new();
    for title in profiles {
        if seen.contains(&title) {
            continue;
        }
        seen.push(title.clone());
        let both = [one, other].map(|report| report.profiles.iter().find(|profile| profile.title() == title));
        let mut ids: Vec<&str> = Vec::new();
        for clause in both.iter().flatten().flat_map(|profile| &profile.clauses) {
            if !ids.contains(&clause.id.as_str()) {
                ids.push(&clause.id);
            }
        }
        for id in ids {
            let outcomes = both.map(|profile| outcome(profile?, id).cloned());
            let [first, second] = outcomes.each_ref().map(|outcome| outcome.as_ref().map(alike));
            if first != second {
                differences.push(Difference { profile: title.clone(), clause: id.to_owned(), outcomes });
            }
        }
    }
    differences
}

/// A verdict as it is compared: one that is known to break now and then is as good kept as broken.
fn alike(outcome: &Outcome) -> String {
    match outcome.verdict {
        Verdict::KnownDeviation => Outcome::pass().word(),
        _ => outcome.word(),
    }
}

fn outcome<'a>(profile: &'a ProfileReport, id: &str) -> Option<&'a Outcome> {
    profile.clauses.iter().find(|clause| clause.id == id).map(|clause| &clause.outcome)
}

/// What the runs kept, as Markdown: a row per profile, the clauses that not all of them kept, and why.
pub fn page(reports: &[Report]) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = write_page(&mut text, reports);
    text
}

fn write_page(out: &mut String, reports: &[Report]) -> fmt::Result {
    let columns: Vec<_> = reports
        .iter()
        .flat_map(|report| report.profiles.iter().map(move |profile| (report, profile)))
        .collect();
    write_runs(out, &columns)?;
    write_clauses(out, &columns)?;
    for (number, (report, profile)) in columns.iter().enumerate() {
        write_broken(out, number + 1, report, profile)?;
    }
    Ok(())
}

type Column<'a> = (&'a Report, &'a ProfileReport);

fn write_runs(out: &mut String, columns: &[Column<'_>]) -> fmt::Result {
    let verdicts = Verdict::ALL.iter().map(|verdict| verdict.as_str());
    write_row(
        out,
        ["", "operator", "profile", "scheduler"].into_iter().chain(verdicts).chain(["seconds", "date"]),
    )?;
    write_rule(out, 6 + Verdict::ALL.len())?;
    for (number, (report, profile)) in columns.iter().enumerate() {
        let operator = &report.implementation;
        let commit =
            operator.commit.as_deref().map(|commit| format!(" ({})", &commit[..commit.len().min(8)]));
        let counts = Verdict::ALL.map(|verdict| profile.summary.all().of(verdict).to_string());
        let facts = [
            (number + 1).to_string(),
            format!("{} {}{}", operator.name, operator.version, commit.unwrap_or_default()),
            profile.title(),
            profile.version.clone(),
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
        columns.iter().filter_map(|(_, profile)| outcome(profile, id)).any(|outcome| {
            !(matches!(outcome.verdict, Verdict::Pass | Verdict::Unsupported) || outcome.announced)
        })
    };
    let mut rows = CLAUSES.iter().filter(|clause| is_told(clause.id)).peekable();
    if rows.peek().is_none() {
        return writeln!(out, "\nEvery clause that was judged is kept.");
    }
    writeln!(out, "\nThe clauses that one of them did not keep; CAPITALS decide the exit code.\n")?;
    let numbers = (1..=columns.len()).map(|number| number.to_string());
    write_row(out, ["clause".to_owned()].into_iter().chain(numbers).chain(["promise".to_owned()]))?;
    write_rule(out, 2 + columns.len())?;
    for clause in rows {
        let cells = columns.iter().map(|(_, profile)| outcome(profile, clause.id).map(matrix::cell));
        let cells = cells.map(Option::unwrap_or_default);
        write_row(out, [clause.id.to_owned()].into_iter().chain(cells).chain([clause.text.to_owned()]))?;
    }
    Ok(())
}

fn write_broken(out: &mut String, number: usize, report: &Report, profile: &ProfileReport) -> fmt::Result {
    let mut broken = profile.clauses.iter().filter(|clause| matrix::is_red(&clause.outcome)).peekable();
    if broken.peek().is_none() {
        return Ok(());
    }
    let operator = &report.implementation;
    writeln!(out, "\n## {number}. {} {} on {}\n", operator.name, operator.version, profile.title())?;
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
    fn a_run_is_like_itself() {
        assert_eq!(compare(&fixture::all_backends(), &fixture::all_backends()), []);
    }

    #[test]
    fn another_verdict_and_a_profile_that_is_missing_are_differences() {
        let (one, mut other) = (fixture::report(), fixture::report());
        other.profiles[0].clauses[0].outcome = Outcome::fail("admitted\nlate");
        let said: Vec<_> = compare(&one, &other).iter().map(ToString::to_string).collect();
        assert_eq!(said, ["ADM-01 on default-scheduler: pass, fail (admitted)"]);
        other.profiles[0].clauses[0].outcome = Outcome::pass();
        let gone = other.profiles.pop().unwrap();
        let missing = compare(&one, &other);
        assert_eq!(missing.len(), gone.clauses.len());
        assert!(missing.iter().all(|difference| difference.outcomes[1].is_none()));
    }

    #[test]
    fn the_page_of_two_runs() {
        let _redacted = fixture::redacted();
        let mut other = fixture::report();
        other.implementation.commit = Some("0123456789abcdef".into());
        other.profiles.truncate(1);
        insta::assert_snapshot!(page(&[fixture::report(), other]));
    }
}
