//! `dev tests`: which cases `cargo test` runs on which targets, and why.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use conformance_contract::target::{TARGETS, Target};
use conformance_driver::case::Case;
use conformance_install::catalogue::components_for;
use conformance_mutants::MutantTier;
use conformance_mutants::cargo_test::{self, Reason};
use conformance_report as report;
use conformance_report::Exit;
use conformance_run::run_plan::runs_locally;
use conformance_run::suites;

use super::args::TestsArgs;
use super::list::table;
use super::{Failure, output};

/// Tests that take at least as many seconds are listed one by one.
const LONG: f64 = 10.0;

struct TargetTest {
    target: Target,
    case: &'static Case,
    seconds: f64,
    /// Why `cargo test` runs the case. `None` if only `ci/full` runs it.
    reason: Option<Reason>,
    /// The mutants that no other case of their target kills.
    kills_alone: Vec<String>,
}

pub(crate) fn tests(args: &TestsArgs) -> Result<Exit, Failure> {
    let tests = all(&measured(args.report.as_deref())?)?;
    output::data(&by_target(&tests));
    output::data(&format!("\n{}", long(&tests)));
    Ok(Exit::Conformant)
}

fn measured(path: Option<&Path>) -> Result<BTreeMap<(String, String), f64>, Failure> {
    let Some(path) = path else { return Ok(BTreeMap::new()) };
    let report = report::read(path).map_err(|error| Failure::Usage(error.to_string()))?;
    let mut seconds = BTreeMap::new();
    for target in report.targets {
        let name = target.title();
        for case in target.cases.into_iter().filter(|case| case.attempts > 0) {
            seconds.insert((name.clone(), case.id), f64::from(case.duration_seconds));
        }
    }
    Ok(seconds)
}

fn all(measured: &BTreeMap<(String, String), f64>) -> Result<Vec<TargetTest>, Failure> {
    let killed = killed_by_one_case()?;
    let mut tests = Vec::new();
    for target in TARGETS {
        for case in suites::cases().filter(|case| runs_locally(case, target)) {
            let measured = measured.get(&(target.to_string(), case.id.to_owned())).copied();
            let kills = killed.iter().filter(|(on, id, _)| (*on, *id) == (target, case.id));
            tests.push(TargetTest {
                target,
                case,
                seconds: measured.unwrap_or_else(|| suites::usual_length(case.id).as_secs_f64()),
                reason: cargo_test::reason(case, target)?,
                kills_alone: kills.map(|(_, _, mutant)| mutant.clone()).collect(),
            });
        }
    }
    Ok(tests)
}

fn killed_by_one_case() -> Result<Vec<(Target, &'static str, String)>, Failure> {
    let mut killed = Vec::new();
    for mutant in MutantTier::Local.mutants()? {
        let decides = |case: &&Case| mutant.runs(case) && mutant.musts().any(|id| case.clauses.contains(&id));
        let cases: Vec<_> = suites::cases().filter(decides).collect();
        if let [only] = cases.as_slice() {
            killed.push((mutant.target, only.id, mutant.id.clone()));
        }
    }
    Ok(killed)
}

fn by_target(tests: &[TargetTest]) -> String {
    let mut table = table(["TARGET", "DEFAULT", "BACKEND", "MUTANT", "CI/FULL ONLY", "PROGRAMS"]);
    let reasons = Reason::ALL.map(Some).into_iter().chain([None]);
    let row = |name: String, tests: &[&TargetTest], programs: String| {
        let cells = reasons.clone().map(|reason| {
            let found = tests.iter().filter(|test| test.reason == reason);
            format!("{} ({:.0} s)", found.clone().count(), found.fold(0.0, |sum, test| sum + test.seconds))
        });
        [name].into_iter().chain(cells).chain([programs]).collect::<Vec<_>>()
    };
    for target in TARGETS {
        let of_target: Vec<_> = tests.iter().filter(|test| test.target == target).collect();
        let scheduler = BTreeSet::from([target.scheduler()]);
        let programs = components_for(target.kubernetes(), &scheduler, false).map(|component| component.name);
        table.add_row(row(target.to_string(), &of_target, programs.collect::<Vec<_>>().join(" ")));
    }
    table.add_row(row("all".into(), &tests.iter().collect::<Vec<_>>(), String::new()));
    table.to_string()
}

fn long(tests: &[TargetTest]) -> String {
    let mut long: Vec<_> = tests.iter().filter(|test| test.seconds >= LONG).collect();
    long.sort_by_key(|test| Reverse((test.seconds * 1000.0) as u64));
    let mut table = table(["TEST", "SECONDS", "RUN FOR", "ONLY IT KILLS"]);
    for test in long {
        table.add_row([
            format!("{} on {}", test.case.id, test.target),
            format!("{:.0}", test.seconds),
            test.reason.map_or("ci/full", Reason::name).to_owned(),
            test.kills_alone.join(" "),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_has_its_measured_seconds_and_its_mutants() {
        let key = (Target::KOORDINATOR.to_string(), "koord/layers".to_owned());
        let tests = all(&BTreeMap::from([(key, 17.0)])).unwrap();
        let test = tests
            .iter()
            .find(|test| test.target == Target::KOORDINATOR && test.case.id == "koord/layers")
            .unwrap();
        assert_eq!((test.seconds, test.reason), (17.0, Some(Reason::Default)));
        assert!(test.kills_alone.iter().any(|id| id == "koordinator-level-taken-for-another"));
        let line = long(&tests).lines().find(|line| line.contains("koord/layers")).unwrap().to_owned();
        assert!(line.contains("17") && line.contains("default") && line.contains("koordinator-"), "{line}");
    }

    #[test]
    fn each_target_has_a_row_with_its_scheduler() {
        let table = by_target(&all(&BTreeMap::new()).unwrap());
        for target in TARGETS {
            assert!(table.contains(&target.to_string()), "{target}: {table}");
        }
        assert!(table.contains("vc-scheduler"), "{table}");
    }

    #[test]
    fn a_report_that_does_not_exist_is_a_usage_error() {
        assert!(matches!(measured(Some(Path::new("/none.yaml"))), Err(Failure::Usage(_))));
    }
}
