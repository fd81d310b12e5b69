//! `dev soak --runs N`: repeats the same run to find flaky cases. Finished runs stay in a folder, and the
//! next start continues there, so that an interruption loses no finished run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use conformance_contract::verdict::Verdict;
use conformance_programs::blocking::in_place;
use conformance_report as report;
use conformance_report::{CaseResult, Exit, Report, TargetReport};
use conformance_run::interruption::Interruption;

use super::args::SoakArgs;
use super::output;
use super::request::Request;
use super::{Failure, run};

const FOLDER: &str = "soak";
const TABLE: &str = "flakes.md";

pub(crate) struct Done {
    folder: PathBuf,
    exit: Exit,
    pub(crate) incomplete: bool,
    targets: Vec<TargetReport>,
}

impl Done {
    pub(crate) fn of(folder: PathBuf, report: Report) -> Self {
        Self { folder, exit: report.exit(), incomplete: report.incomplete, targets: report.targets }
    }

    /// The results of the cases that ran, or that should have run.
    pub(crate) fn judged(&self) -> impl Iterator<Item = (String, &CaseResult)> {
        self.results().filter(move |(_, result)| match result.outcome.verdict {
            Verdict::Unsupported => false,
            Verdict::NotRun => !result.outcome.announced && !self.incomplete,
            Verdict::Pass | Verdict::KnownDeviation | Verdict::Fail | Verdict::Flaky | Verdict::Error => true,
        })
    }

    fn results(&self) -> impl Iterator<Item = (String, &CaseResult)> {
        self.targets.iter().flat_map(|target| target.cases.iter().map(|result| (target.title(), result)))
    }
}

/// Repeats the run until the folder has `--runs` complete runs. Prints the cases that did not always pass.
pub(crate) async fn soak(args: SoakArgs, interruption: &Arc<Interruption>) -> Result<Exit, Failure> {
    let wanted: usize = args.runs.get();
    let request = Request::of_soak(args)?;
    let folder = request.output.folder.join(FOLDER);
    std::fs::create_dir_all(&folder).map_err(unusable(&folder))?;
    let mut done = in_place(|| done(&folder));
    if !done.is_empty() {
        output::say(&format!("complete runs that are already in {}: {}", folder.display(), done.len()));
    }
    // Without --seed, every soak uses other seeds. Each run prints its seed.
    let now = || u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or_default();
    let first_seed = request.execution.seed.unwrap_or_else(now);
    while done.len() < wanted && !interruption.is_requested() {
        let number = next(&done);
        let run_folder = folder.join(format!("run-{number:04}"));
        let seed = first_seed.wrapping_add(number as u64);
        // An interrupted run may have left files.
        let _ = std::fs::remove_dir_all(&run_folder);
        output::say(&format!("run {} of {wanted}, --seed {seed}", done.len() + 1));
        let begin = Instant::now();
        let before = load();
        let mut one = request.clone();
        one.output.folder.clone_from(&run_folder);
        one.execution.seed = Some(seed);
        run::run(&one, interruption).await?;
        let file = run_folder.join("report.yaml");
        let report = report::read(&file).map_err(|error| Failure::Infrastructure(error.to_string()))?;
        if report.incomplete {
            break;
        }
        output::say(&format!(
            "{} in {:.0} s, load {before} before and {} after",
            report.exit(),
            begin.elapsed().as_secs_f64(),
            load()
        ));
        let one = Done::of(run_folder, report);
        remove_passed_histories(&one);
        done.push(one);
        let text = table(&done);
        std::fs::write(folder.join(TABLE), &text).map_err(unusable(&folder))?;
    }
    output::data(&table(&done));
    if done.len() < wanted {
        return Ok(Exit::Inconclusive);
    }
    Ok(done.iter().map(|one| one.exit).max().unwrap_or(Exit::Inconclusive))
}

fn unusable(folder: &Path) -> impl Fn(std::io::Error) -> Failure + '_ {
    move |error| Failure::Infrastructure(format!("{}: {error}", folder.display()))
}

fn done(folder: &Path) -> Vec<Done> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    let read = |folder: PathBuf| {
        let report = report::read(&folder.join("report.yaml")).ok()?;
        (!report.incomplete).then(|| Done::of(folder, report))
    };
    folders.into_iter().filter_map(read).collect()
}

fn next(done: &[Done]) -> usize {
    let is_taken = |number: usize| {
        let name = format!("run-{number:04}");
        done.iter().any(|one| one.folder.file_name().is_some_and(|taken| taken == name.as_str()))
    };
    (1..).find(|number| !is_taken(*number)).unwrap_or(1)
}

/// Returns the system load, which affects every measured time.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}

pub(crate) fn is_as_expected(result: &CaseResult) -> bool {
    match result.outcome.verdict {
        Verdict::Pass | Verdict::KnownDeviation | Verdict::Unsupported => true,
        Verdict::NotRun => result.outcome.announced,
        Verdict::Fail | Verdict::Flaky | Verdict::Error => false,
    }
}

/// Removes the histories of cases that passed, because the disk cannot hold those of many runs.
fn remove_passed_histories(one: &Done) {
    let passed = one.results().filter(|(_, result)| is_as_expected(result));
    for artifacts in passed.filter_map(|(_, result)| result.artifacts.as_ref()) {
        let _ = std::fs::remove_dir_all(one.folder.join(artifacts));
    }
}

#[derive(Default)]
struct Flake {
    tries: usize,
    verdicts: BTreeMap<&'static str, usize>,
    reason: String,
    histories: Vec<String>,
}

fn table(done: &[Done]) -> String {
    let conformant = done.iter().filter(|one| one.exit == Exit::Conformant).count();
    format!("Runs: {}, conformant: {conformant}.\n\n{}", done.len(), flakes(done))
}

/// The cases that did not pass in every run, as a Markdown table.
pub(crate) fn flakes(done: &[Done]) -> String {
    let mut flakes: BTreeMap<(String, &str), Flake> = BTreeMap::new();
    for one in done {
        for (target, result) in one.judged() {
            let flake = flakes.entry((target, &result.id)).or_default();
            flake.tries += 1;
            if is_as_expected(result) {
                continue;
            }
            *flake.verdicts.entry(result.outcome.verdict.as_str()).or_default() += 1;
            let reason = result.outcome.reason().unwrap_or_default();
            flake.reason = reason.lines().next().unwrap_or_default().replace('|', "\\|");
            let run = one.folder.file_name().unwrap_or_default().to_string_lossy();
            flake.histories.extend(result.artifacts.as_ref().map(|folder| format!("{run}/{folder}")));
        }
    }
    flakes.retain(|_, flake| !flake.verdicts.is_empty());
    if flakes.is_empty() {
        return "No case was flaky.\n".into();
    }
    let head = "| target | case | not passed | first line of the last reason | histories |";
    let mut text = format!("{head}\n|---|---|---|---|---|\n");
    for ((target, case), flake) in flakes {
        let verdicts = flake.verdicts.iter().map(|(verdict, count)| format!("{count} {verdict}"));
        let verdicts = verdicts.collect::<Vec<_>>().join(", ");
        let (tries, reason, histories) = (flake.tries, flake.reason, flake.histories.join("<br>"));
        let _ = writeln!(text, "| {target} | {case} | {verdicts} of {tries} | {reason} | {histories} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance_contract::verdict::Outcome;
    use conformance_report::{Features, Judgement};

    fn one(number: usize, outcome: Outcome) -> Done {
        let judgement = Judgement { clause: "AON-01".into(), outcome, violations: Vec::new() };
        let mut result = CaseResult::new("aon/exact-fit-bound", "", vec![judgement]);
        result.artifacts = Some("artifacts/volcano/aon-exact-fit-bound".into());
        let target = TargetReport::new("volcano", None, "v1", Features::default());
        let targets = vec![target.conclude([].iter(), vec![result])];
        let folder = format!("soak/run-{number:04}").into();
        Done { folder, exit: Exit::NotConformant, incomplete: false, targets }
    }

    #[test]
    fn the_next_run_gets_the_lowest_free_number() {
        assert_eq!(next(&[]), 1);
        assert_eq!(next(&[one(1, Outcome::pass()), one(3, Outcome::pass())]), 2);
    }

    #[test]
    fn a_case_that_failed_once_is_in_the_table() {
        let text = table(&[one(1, Outcome::pass()), one(2, Outcome::fail("bound in part\nsecond line"))]);
        let row = "| volcano | aon/exact-fit-bound | 1 fail of 2 | bound in part | run-0002/artifacts/volcano/aon-exact-fit-bound |";
        assert!(text.contains(row), "{text}");
        assert!(table(&[one(1, Outcome::pass())]).contains("No case was flaky."));
    }
}
