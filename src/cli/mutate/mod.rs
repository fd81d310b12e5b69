//! `dev mutate`: measures the suite with mutations of the reference operator that a program chose.
//!
//! `operator` is the control plane on which the mutations run. `conformance-mutation` finds the mutations,
//! and decides how each is tried.

mod operator;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use conformance_contract::clauses::Workload;
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::target::Target;
use conformance_driver::case::{Case, Isolation};
use conformance_mutation::baseline::{Baseline, BaselineCase, JsonLines};
use conformance_mutation::compile::{self, BuildFolders, Built};
use conformance_mutation::mutation::{Kind, Mutation};
use conformance_mutation::page::{Measured, page, reservations};
use conformance_mutation::population::Population;
use conformance_mutation::sample::sample;
use conformance_mutation::score::{Share, equivalents, summary};
use conformance_mutation::trial::{Trial, TrialOptions, TrialVerdict, Unusable};
use conformance_mutation::{EQUIVALENT, MutationError, session, workspace};
use conformance_programs::blocking::in_place;
use conformance_report::Exit;

use self::operator::{MutatedOperator, TriedCase};
use crate::args::{MutateArgs, MutateRunArgs, MutateScoreArgs, MutateVerb};
use crate::request::{Cases, Selection, Subject};
use crate::{Failure, output, select};

const SAMPLE_FILE: &str = "sample.json";

impl From<MutationError> for Failure {
    fn from(error: MutationError) -> Self {
        Self::Infrastructure(error.to_string())
    }
}

impl From<Unusable> for Failure {
    fn from(error: Unusable) -> Self {
        Self::Infrastructure(error.to_string())
    }
}

pub(crate) async fn mutate(args: &MutateArgs) -> Result<Exit, Failure> {
    if !workspace().join("Cargo.toml").is_file() {
        return Err(Failure::Usage("mutations need the sources from which this program was built".into()));
    }
    match &args.verb {
        MutateVerb::List => list(),
        MutateVerb::Build => in_place(|| build(&args.folder)).map(|_| Exit::Conformant),
        MutateVerb::Run(run_args) => run(&args.folder, run_args).await,
        MutateVerb::Score(score_args) => score_of(&args.folder, score_args),
    }
}

fn list() -> Result<Exit, Failure> {
    for mutation in Population::read(workspace())?.mutations {
        let line = serde_json::to_string(&mutation).map_err(|error| Failure::Usage(error.to_string()))?;
        output::data(&line);
    }
    Ok(Exit::Conformant)
}

fn copy_of(folder: &Path) -> PathBuf {
    folder.join("operator")
}

fn build(folder: &Path) -> Result<Built, Failure> {
    let copy = copy_of(folder);
    std::fs::create_dir_all(&copy).map_err(|error| Failure::Usage(format!("--output: {error}")))?;
    let copy = copy.canonicalize().map_err(|error| Failure::Usage(format!("--output: {error}")))?;
    let population = Population::read(workspace())?;
    // Compiled dependencies are shared with the build of this program.
    let program = std::env::current_exe().unwrap_or_default();
    let dependencies = program.ancestors().skip(1).find(|folder| folder.join("CACHEDIR.TAG").is_file());
    let folders = BuildFolders { root: workspace(), copy: &copy, dependencies };
    let built = compile::build(&population, &folders, |line| output::say(&line))?;
    for (kind, (dropped, all)) in built.losses() {
        output::say(&format!("{:<20}{dropped} of {all} do not compile", kind.name()));
    }
    for dropped in &built.dropped {
        output::say(&format!(
            "dropped: {} {}: {}",
            dropped.mutation.id, dropped.mutation.change, dropped.error
        ));
    }
    match built.incomplete_kinds().as_slice() {
        [] => Ok(built),
        kinds => {
            let names: Vec<_> = kinds.iter().map(|kind: &Kind| kind.name()).collect();
            Err(Failure::Infrastructure(format!(
                "more than a quarter of the mutations of a kind do not compile: {}",
                names.join(", ")
            )))
        }
    }
}

async fn run(folder: &Path, args: &MutateRunArgs) -> Result<Exit, Failure> {
    let built = in_place(|| build(folder))?;
    let drawn = sample(&built.mutations, args.sample, &args.seed);
    record_sample(folder, args, &built.digest(), &drawn)?;
    let cases = cases(args)?;
    let operator = MutatedOperator::prepare(folder, args, &built, &cases).await?;
    let outcome = try_drawn(folder, args, &drawn, &cases, &operator).await;
    operator.close().await;
    outcome?;
    score_of(folder, &MutateScoreArgs::default())
}

/// Writes the sample before anything runs. A resumed run must draw the same sample from the same operator,
/// because the baseline identifies mutations by their numbers.
fn record_sample(
    folder: &Path,
    args: &MutateRunArgs,
    operator: &str,
    drawn: &[Mutation],
) -> Result<(), Failure> {
    let file = folder.join(SAMPLE_FILE);
    let ids: Vec<_> = drawn.iter().map(|mutation| &mutation.id).collect();
    let content = serde_json::json!({
        "seed": args.seed,
        "size": drawn.len(),
        "operator": operator,
        "mutations": ids,
    });
    let text = format!("{content:#}\n");
    match std::fs::read_to_string(&file) {
        Ok(earlier) if earlier != text => Err(Failure::Usage(format!(
            "{}: the folder has results of another sample or another operator: pass another --output",
            file.display()
        ))),
        Ok(_) => Ok(()),
        Err(_) => std::fs::write(&file, text)
            .map_err(|error| Failure::Usage(format!("{}: {error}", file.display()))),
    }
}

fn cases(args: &MutateRunArgs) -> Result<Vec<TriedCase>, Failure> {
    let subject = Subject {
        cases: Cases::Suite(Workload::PodCliqueSets),
        backend: args.backend.clone(),
        features: Vec::new(),
        scope: None,
        versions: vec![Kubernetes::default()],
    };
    let selection = Selection { words: args.words.clone(), ..Selection::default() };
    let plan = select::plan(Kubernetes::default(), &subject, &selection)?;
    let group = conformance_fuzz::GROUP;
    let workloads =
        (1..=args.workloads).filter_map(|seed| conformance_fuzz::case(&format!("{group}/{seed}")));
    let all: Vec<&'static Case> = plan.chosen.into_iter().chain(workloads).collect();
    let mut cases = Vec::new();
    for target in &plan.targets {
        // A case with an upgrade starts a control plane of its own.
        let runs = |case: &&'static Case| case.is_for(*target) && case.isolation != Isolation::Upgrade;
        cases.extend(all.iter().copied().filter(runs).map(|case| tried_case(case, *target)));
    }
    Ok(cases)
}

fn tried_case(case: &'static Case, target: Target) -> TriedCase {
    TriedCase { id: format!("{} on {target}", case.id), case, target }
}

async fn try_drawn(
    folder: &Path,
    args: &MutateRunArgs,
    drawn: &[Mutation],
    cases: &[TriedCase],
    operator: &MutatedOperator,
) -> Result<(), Failure> {
    let baseline = baseline(folder, cases, operator).await?;
    let results = JsonLines(folder.join(results_name(args)));
    let finished: Vec<Trial> = results.read()?;
    let finished: BTreeSet<_> = finished.into_iter().map(|trial| trial.id).collect();
    let mut left = Vec::new();
    for (position, mutation) in drawn.iter().enumerate() {
        let is_here = args.shard.is_none_or(|shard| shard.contains(position));
        if is_here && !finished.contains(&mutation.id) {
            left.push(mutation.clone());
        }
    }
    let options = TrialOptions { side_by_side: args.side_by_side.get(), whole: !args.executing_only };
    session::try_all(operator, &left, &baseline, options, |trials: &[Trial]| {
        trials.iter().for_each(say);
        results.append(trials).map_err(Failure::from)
    })
    .await
}

fn results_name(args: &MutateRunArgs) -> String {
    match args.shard {
        Some(shard) => format!("results-{}.jsonl", shard.to_string().replace('/', "-of-")),
        None => "results.jsonl".into(),
    }
}

/// Runs each case alone without a mutation, unless an earlier run has.
async fn baseline(
    folder: &Path,
    cases: &[TriedCase],
    operator: &MutatedOperator,
) -> Result<Baseline, Failure> {
    let lines = JsonLines(folder.join("baseline.jsonl"));
    let mut known: Vec<BaselineCase> = lines.read()?;
    for (number, case) in cases.iter().enumerate() {
        if known.iter().any(|known| known.id == case.id) {
            continue;
        }
        let mut one = operator.baseline(case).await?;
        if !one.passed {
            // Repeat the case: one that fails in the baseline is not used.
            one = operator.baseline(case).await?;
        }
        output::say(&format!(
            "{} of {}: {} {}, {:.1} s, {} mutations executed",
            number + 1,
            cases.len(),
            case.id,
            if one.passed { "passed" } else { "did not pass" },
            one.seconds,
            one.executed.len()
        ));
        lines.append(std::slice::from_ref(&one))?;
        known.push(one);
    }
    known.retain(|known| cases.iter().any(|case| case.id == known.id));
    Ok(Baseline { cases: known })
}

fn say(trial: &Trial) {
    let verdict = match trial.verdict {
        TrialVerdict::Killed => "killed",
        TrialVerdict::Survived => "survived",
        TrialVerdict::NotExecuted => "not executed",
        TrialVerdict::Trivial => "trivial",
    };
    let by = trial.kill.as_ref().map(|kill| format!(" by {} ({})", kill.case, kill.code));
    output::say(&format!(
        "{verdict:<13}{} {} ({} cases, {:.1} s){}",
        trial.id,
        trial.change,
        trial.cases,
        trial.seconds,
        by.unwrap_or_default()
    ));
}

fn score_of(folder: &Path, args: &MutateScoreArgs) -> Result<Exit, Failure> {
    let folders = if args.folders.is_empty() { vec![folder.to_owned()] } else { args.folders.clone() };
    let mut samples = Vec::new();
    for folder in &folders {
        samples.push(print_score(folder)?);
    }
    if let Some(file) = &args.write {
        std::fs::write(file, page(&samples, &equivalents(EQUIVALENT)))
            .map_err(|error| Failure::Usage(format!("--write {}: {error}", file.display())))?;
    }
    Ok(Exit::Conformant)
}

fn print_score(folder: &Path) -> Result<Measured, Failure> {
    let (seed, size, trials) = recorded(folder)?;
    let built = Built::read(&copy_of(folder))?;
    let cases = JsonLines(folder.join("baseline.jsonl")).read()?;
    let executed = Baseline { cases }.executed();
    let is_missed = |mutation: &&Mutation| !executed.contains(&mutation.number);
    let missed = built.mutations.iter().filter(is_missed).count();
    let not_executed = Share { part: missed, whole: built.mutations.len() };
    let equivalents = equivalents(EQUIVALENT);
    let tried = trials.len();
    output::data(&format!("sample: {tried} of {size} mutations tried, seed {seed:?}"));
    output::data(summary(&trials, &equivalents, &built.mutations, &executed).trim_end());
    let measured = Measured { seed, size, trials, not_executed };
    for reservation in reservations(&measured, &equivalents) {
        output::data(&reservation);
    }
    Ok(measured)
}

fn recorded(folder: &Path) -> Result<(String, usize, Vec<Trial>), Failure> {
    let failed = |error: std::io::Error| Failure::Usage(format!("{}: {error}", folder.display()));
    let mut trials: Vec<Trial> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("results") && name.ends_with(".jsonl") {
            trials.extend(JsonLines(path).read::<Trial>()?);
        }
    }
    trials.sort_by_key(|trial| trial.number);
    trials.dedup_by(|one, other| one.id == other.id);
    let sample = std::fs::read_to_string(folder.join(SAMPLE_FILE)).map_err(failed)?;
    let sample: serde_json::Value =
        serde_json::from_str(&sample).map_err(|error| Failure::Usage(format!("{SAMPLE_FILE}: {error}")))?;
    let seed = sample["seed"].as_str().unwrap_or_default().to_owned();
    let size = sample["mutations"].as_array().map_or(0, Vec::len);
    Ok((seed, size, trials))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: MutateRunArgs,
    }

    fn args(words: &[&str]) -> MutateRunArgs {
        Line::parse_from(["run"].iter().chain(words)).args
    }

    #[test]
    fn a_resumed_run_has_the_same_sample() {
        let folder = tempfile::tempdir().unwrap();
        let first = args(&["--seed", "a"]);
        assert!(record_sample(folder.path(), &first, "1", &[]).is_ok());
        assert!(record_sample(folder.path(), &first, "1", &[]).is_ok());
        for (seed, operator) in [("b", "1"), ("a", "2")] {
            let other = record_sample(folder.path(), &args(&["--seed", seed]), operator, &[]);
            let failure = other.unwrap_err().to_string();
            assert!(failure.contains("results of another sample"), "{failure}");
        }
    }

    #[test]
    fn the_results_of_all_shards_count_once() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let line = |id: &str, number: u32| {
            let trial = serde_json::json!({
                "id": id, "number": number, "kind": "boolean", "change": "",
                "verdict": "killed", "cases": 1, "seconds": 1.0,
            });
            format!("{trial}\n")
        };
        write("results-1-of-2.jsonl", &(line("b", 2) + &line("a", 1)));
        write("results-2-of-2.jsonl", &line("b", 2));
        write(SAMPLE_FILE, r#"{"seed": "s", "mutations": ["a", "b", "c"]}"#);
        let (seed, size, trials) = recorded(folder.path()).unwrap();
        let ids: Vec<_> = trials.iter().map(|trial| trial.id.as_str()).collect();
        assert_eq!((seed.as_str(), size, ids), ("s", 3, vec!["a", "b"]));
    }

    #[test]
    fn shards_write_their_own_results() {
        assert_eq!(results_name(&args(&[])), "results.jsonl");
        assert_eq!(results_name(&args(&["--shard", "2/4"])), "results-2-of-4.jsonl");
    }

    #[test]
    fn every_case_on_every_target_has_a_name_of_its_own() {
        let cases = cases(&args(&["--workloads", "3"])).unwrap();
        let ids: BTreeSet<_> = cases.iter().map(|case| &case.id).collect();
        assert_eq!(ids.len(), cases.len());
        let targets: BTreeSet<_> = cases.iter().map(|case| case.target.to_string()).collect();
        assert!(targets.len() > 1, "{targets:?}");
        let workloads = cases.iter().filter(|case| case.case.group() == conformance_fuzz::GROUP);
        assert_eq!(workloads.count(), 3 * targets.len());
        assert!(cases.iter().all(|case| case.case.isolation != Isolation::Upgrade));
    }
}
