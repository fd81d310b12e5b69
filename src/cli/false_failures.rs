//! `dev false-failures`: how often the suite fails correct targets, from reports of the reference operator.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use conformance_report as report;
use conformance_report::{Exit, Report};
use serde::Serialize;

use super::args::FalseFailuresArgs;
use super::soak::{self, Done};
use super::{Failure, output};

const PER: f64 = 10_000.0;
/// Chance that a rate above the upper bound gives as few failures as were seen.
const DOUBT: f64 = 0.05;

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Figure {
    runs: usize,
    /// Runs that ended before all their cases did. Their finished cases count.
    incomplete_runs: usize,
    case_results: usize,
    failures: usize,
    by_verdict: BTreeMap<&'static str, usize>,
    per_10000: f64,
    /// Upper bound of the rate with 95 % confidence, if failures are independent.
    at_most_per_10000: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CaseFigure<'a> {
    target: String,
    case: &'a str,
    results: usize,
    failures: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    folders: BTreeMap<String, Figure>,
    all: Figure,
    /// Reports of mutants and of other operators.
    left_out: &'a [PathBuf],
    cases: Vec<CaseFigure<'a>>,
}

pub(crate) fn count(args: &FalseFailuresArgs) -> Result<Exit, Failure> {
    let (mut all, mut left_out, mut folders) = (Vec::new(), Vec::new(), BTreeMap::new());
    for folder in &args.folders {
        let begin = all.len();
        collect(folder, &mut all, &mut left_out)?;
        folders.insert(folder.display().to_string(), Figure::of(&all[begin..]));
    }
    let document = Document { folders, all: Figure::of(&all), left_out: &left_out, cases: by_case(&all) };
    if document.all.case_results == 0 {
        return Err(Failure::Usage("DIR: the folders contain no report of the reference operator".into()));
    }
    for (folder, figure) in &document.folders {
        output::data(&format!("{folder}: {}", figure.line()));
    }
    output::data(&format!("all: {}", document.all.line()));
    output::data(&soak::flakes(&all));
    if !left_out.is_empty() {
        output::say(&format!("reports of mutants and of other operators, left out: {}", left_out.len()));
    }
    let unwritten = |error: &dyn std::fmt::Display| Failure::Infrastructure(error.to_string());
    let text = serde_json::to_string_pretty(&document).map_err(|error| unwritten(&error))?;
    report::write_text(&args.file, &(text + "\n")).map_err(|error| unwritten(&error))?;
    output::say(&format!("wrote {}", args.file.display()));
    Ok(if document.all.failures == 0 { Exit::Conformant } else { Exit::NotConformant })
}

/// Reads the reports below a folder. A folder with a report is one run: reports below it are parts of it.
fn collect(folder: &Path, done: &mut Vec<Done>, left_out: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let usage = |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", folder.display()));
    let file = folder.join("report.json");
    if file.is_file() {
        let report = report::read(&file).map_err(|error| usage(&error))?;
        if is_of_correct_targets(&report) {
            done.push(Done::of(folder.to_owned(), report));
        } else {
            left_out.push(file);
        }
        return Ok(());
    }
    let entries = std::fs::read_dir(folder).map_err(|error| usage(&error))?;
    let mut below: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    below.sort();
    below.iter().try_for_each(|path| collect(path, done, left_out))
}

fn is_of_correct_targets(report: &Report) -> bool {
    let of_mutants = [" dev mutants", " dev mutate"].iter().any(|verb| report.command.contains(verb));
    report.operator.reference && !of_mutants
}

fn by_case(done: &[Done]) -> Vec<CaseFigure<'_>> {
    let mut cases: BTreeMap<(String, &str), (usize, usize)> = BTreeMap::new();
    for (target, result) in done.iter().flat_map(Done::judged) {
        let (results, failures) = cases.entry((target, &result.id)).or_default();
        *results += 1;
        *failures += usize::from(!soak::is_as_expected(result));
    }
    let figure = |((target, case), (results, failures))| CaseFigure { target, case, results, failures };
    cases.into_iter().map(figure).collect()
}

impl Figure {
    fn of(done: &[Done]) -> Self {
        let (mut case_results, mut by_verdict) = (0_usize, BTreeMap::<&'static str, usize>::new());
        for (_, result) in done.iter().flat_map(Done::judged) {
            case_results += 1;
            if !soak::is_as_expected(result) {
                *by_verdict.entry(result.outcome.verdict.as_str()).or_default() += 1;
            }
        }
        let failures: usize = by_verdict.values().sum();
        let per = |failures: f64| failures * PER / f64::max(case_results as f64, 1.0);
        Self {
            runs: done.len(),
            incomplete_runs: done.iter().filter(|one| one.incomplete).count(),
            case_results,
            failures,
            by_verdict,
            per_10000: per(failures as f64),
            at_most_per_10000: per(upper_bound(failures)),
        }
    }

    fn line(&self) -> String {
        let verdicts = self.by_verdict.iter().map(|(verdict, count)| format!(" ({count} {verdict})"));
        format!(
            "runs: {} (incomplete: {}), case results: {}, failures: {}{}: {:.1} per 10,000, at most {:.1} \
             with 95 % confidence",
            self.runs,
            self.incomplete_runs,
            self.case_results,
            self.failures,
            verdicts.collect::<String>(),
            self.per_10000,
            self.at_most_per_10000
        )
    }
}

/// The number of failures that a run of this length has on average, at most, with 95 % confidence. It is 3.0
/// without failures ("rule of three"). A rare failure follows a Poisson distribution.
fn upper_bound(failures: usize) -> f64 {
    let chance_of_as_few = |mean: f64| {
        let mut term = -mean;
        let mut chance = term.exp();
        for count in 1..=failures {
            term += (mean / count as f64).ln();
            chance += term.exp();
        }
        chance
    };
    let seen = failures as f64;
    let (mut low, mut high) = (seen, seen + 4.0 * (seen + 1.0).sqrt());
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if chance_of_as_few(middle) > DOUBT { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use conformance_contract::verdict::Outcome;
    use conformance_report::testing::report as sample;
    use conformance_report::{CaseResult, Features, Judgement, TargetReport};

    use super::*;

    fn run(outcomes: &[Outcome]) -> Report {
        let case = |(number, outcome): (usize, &Outcome)| {
            let judgement =
                Judgement { clause: "AON-01".into(), outcome: outcome.clone(), violations: Vec::new() };
            CaseResult::new(format!("aon/case-{number}"), "", vec![judgement])
        };
        let cases = outcomes.iter().enumerate().map(case).collect();
        let target = TargetReport::new("volcano", None, "v1", Features::default());
        let mut run = sample(vec![target.conclude([].iter(), cases)]);
        run.operator.reference = true;
        run
    }

    fn figure(runs: Vec<Report>) -> Figure {
        let done: Vec<_> = runs.into_iter().map(|run| Done::of("run-0001".into(), run)).collect();
        Figure::of(&done)
    }

    #[rstest::rstest]
    #[case::passed(Outcome::pass(), (1, 0))]
    #[case::failed(Outcome::fail("bound in part"), (1, 1))]
    #[case::error(Outcome::error("no nodes"), (1, 1))]
    #[case::unexpectedly_not_run(Outcome::not_run("no history"), (1, 1))]
    #[case::not_selected(Outcome::not_run_announced("not selected"), (0, 0))]
    #[case::unsupported(Outcome::unsupported("no topology"), (0, 0))]
    fn a_verdict_counts_as_result_and_as_failure(#[case] outcome: Outcome, #[case] expected: (usize, usize)) {
        let figure = figure(vec![run(&[outcome])]);
        assert_eq!((figure.case_results, figure.failures), expected);
    }

    #[test]
    fn a_failure_of_an_incomplete_run_counts_but_not_the_cases_that_did_not_start() {
        let cut =
            run(&[Outcome::fail("bound in part"), Outcome::not_run("interrupted")]).incomplete("killed");
        let figure = figure(vec![cut, run(&[Outcome::pass()])]);
        assert_eq!((figure.runs, figure.incomplete_runs), (2, 1));
        assert_eq!((figure.case_results, figure.failures), (2, 1));
        assert!((figure.per_10000 - 5000.0).abs() < 1e-6, "{figure:?}");
    }

    #[rstest::rstest]
    #[case(0, 2.996)]
    #[case(1, 4.744)]
    #[case(10, 16.962)]
    fn the_upper_bound_is_that_of_a_poisson_distribution(#[case] failures: usize, #[case] expected: f64) {
        assert!((upper_bound(failures) - expected).abs() < 1e-3, "{}", upper_bound(failures));
    }

    #[test]
    fn a_thousand_failures_have_a_bound() {
        assert!((1050.0..1060.0).contains(&upper_bound(1000)), "{}", upper_bound(1000));
    }

    #[test]
    fn mutants_and_parts_of_a_run_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let store = |path: &str, run: &Report| report::write_all(&folder.path().join(path), run).unwrap();
        let passed = run(&[Outcome::pass()]);
        store("soak/run-0001", &passed);
        store("soak/run-0001/part", &passed);
        let mutant = Report { command: "grove-conformance dev mutants half-bound".into(), ..passed.clone() };
        store("mutants/half-bound", &mutant);
        let mut other = passed;
        other.operator.reference = false;
        store("other", &other);
        let (mut done, mut left_out) = (Vec::new(), Vec::new());
        collect(folder.path(), &mut done, &mut left_out).unwrap();
        assert_eq!((done.len(), left_out.len()), (1, 2));
    }
}
