//! `dev mutate`: measures the suite with machine-made mutations of the reference operator. `operator` runs
//! those that `conformance-mutation` finds, and `samples` stores the results.

mod operator;
mod samples;

use std::path::{Path, PathBuf};
use std::time::Instant;

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
use conformance_mutation::session::{self, Session};
use conformance_mutation::trial::{Trial, TrialOptions, TrialVerdict, Unusable};
use conformance_mutation::{EQUIVALENT, MutationError, workspace};
use conformance_programs::blocking::in_place;
use conformance_report::{Exit, Shard};
use futures::future::try_join_all;
use parking_lot::Mutex;

use self::operator::{MutatedOperator, TriedCase};
use self::samples::{SampleFolder, recorded_baseline};
use crate::args::{
    MutateArgs, MutateBaselineArgs, MutateRunArgs, MutateScoreArgs, MutateSuiteArgs, MutateVerb,
};
use crate::request::{Cases, Selection, Subject};
use crate::{Failure, output, select};

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
        return Err(Failure::Usage(
            "mutations need the sources from which this program was built: build it in a checkout, and keep \
             the checkout"
                .into(),
        ));
    }
    match &args.verb {
        MutateVerb::List => list(),
        MutateVerb::Build => in_place(|| build(&args.folder)).map(|_| Exit::Conformant),
        MutateVerb::Baseline(baseline_args) => record_baseline(&args.folder, baseline_args).await,
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

struct BuiltOperator {
    built: Built,
    /// The digest of the operator's sources.
    sources: String,
}

fn build(folder: &Path) -> Result<BuiltOperator, Failure> {
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
        [] => Ok(BuiltOperator { built, sources: population.digest() }),
        kinds => {
            let names: Vec<_> = kinds.iter().map(|kind: &Kind| kind.name()).collect();
            Err(Failure::Infrastructure(format!(
                "more than a quarter of the mutations of a kind do not compile: {}",
                names.join(", ")
            )))
        }
    }
}

async fn record_baseline(folder: &Path, args: &MutateBaselineArgs) -> Result<Exit, Failure> {
    let built = in_place(|| build(folder))?;
    let cases = cases(&args.suite)?;
    let operators = MutatedOperator::prepare(folder, &args.suite, 1, &built, &cases).await?;
    let outcome = baseline(folder, &built.sources, &cases, &operators, args.shard).await;
    close(operators).await;
    outcome.map(|_| Exit::Conformant)
}

async fn close(operators: Vec<MutatedOperator>) {
    for operator in operators {
        operator.close().await;
    }
}

async fn run(folder: &Path, args: &MutateRunArgs) -> Result<Exit, Failure> {
    let operator = in_place(|| build(folder))?;
    let drawn = sample(&operator.built.mutations, args.sample, &args.seed);
    let samples = SampleFolder::of(folder, args);
    samples.record(args, &operator, &drawn)?;
    let cases = cases(&args.suite)?;
    let side_by_side = args.side_by_side.get();
    let operators = MutatedOperator::prepare(folder, &args.suite, side_by_side, &operator, &cases).await?;
    let outcome = async {
        let baseline = baseline(folder, &operator.sources, &cases, &operators, None).await?;
        try_drawn(&samples, args, &drawn, &baseline, &operators).await
    };
    let outcome = outcome.await;
    close(operators).await;
    outcome?;
    score_of(folder, &MutateScoreArgs { folders: vec![samples.0], write: None })
}

fn cases(args: &MutateSuiteArgs) -> Result<Vec<TriedCase>, Failure> {
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
    samples: &SampleFolder,
    args: &MutateRunArgs,
    drawn: &[Mutation],
    baseline: &Baseline,
    operators: &[MutatedOperator],
) -> Result<(), Failure> {
    let most_cases = (!args.all_cases).then_some(args.most_cases.get());
    let earlier = samples.trials()?;
    let is_finished = |mutation: &Mutation| {
        earlier.iter().any(|trial| trial.id == mutation.id && !trial.is_incomplete(most_cases))
    };
    let mut left = Vec::new();
    for (position, mutation) in drawn.iter().enumerate() {
        if args.shard.is_none_or(|shard| shard.contains(position)) && !is_finished(mutation) {
            left.push(mutation.clone());
        }
    }
    let results = JsonLines(samples.0.join(file_name("results", args.shard)));
    let options = TrialOptions { side_by_side: args.side_by_side.get(), most_cases };
    let begin = Instant::now();
    let session = Session { mutations: &left, baseline, earlier: &earlier, options };
    session::try_all(operators, session, |trials: &[Trial]| {
        trials.iter().for_each(say);
        results.append(trials).map_err(Failure::from)
    })
    .await?;
    if !left.is_empty() {
        let (count, seconds) = (left.len(), begin.elapsed().as_secs_f64());
        let each = seconds / count as f64;
        output::say(&format!("{count} mutations in {seconds:.0} s: {each:.1} s per mutation"));
    }
    Ok(())
}

fn file_name(name: &str, shard: Option<Shard>) -> String {
    match shard {
        Some(shard) => format!("{name}-{}.jsonl", shard.to_string().replace('/', "-of-")),
        None => format!("{name}.jsonl"),
    }
}

/// Runs each case alone without a mutation, unless an earlier run has. Each control plane runs one at a time.
async fn baseline(
    folder: &Path,
    sources: &str,
    cases: &[TriedCase],
    operators: &[MutatedOperator],
    shard: Option<Shard>,
) -> Result<Baseline, Failure> {
    let mut known = recorded_baseline(folder, sources)?;
    known.retain(|known| cases.iter().any(|case| case.id == known.id));
    let is_missing = |(position, case): &(usize, &TriedCase)| {
        shard.is_none_or(|shard| shard.contains(*position)) && !known.iter().any(|known| known.id == case.id)
    };
    let missing: Vec<_> = cases.iter().enumerate().filter(is_missing).map(|(_, case)| case).collect();
    let lines = JsonLines(folder.join(file_name("baseline", shard)));
    let (queue, recorded) = (Mutex::new(missing.iter()), Mutex::new(Vec::new()));
    let (queue, recorded, lines, count) = (&queue, &recorded, &lines, missing.len());
    let recording = operators.iter().map(|operator| async move {
        loop {
            let Some(case) = queue.lock().next() else { return Ok::<_, Failure>(()) };
            let mut one = operator.baseline(case).await?;
            if !one.passed {
                // Repeat the case: one that fails in the baseline is not used.
                one = operator.baseline(case).await?;
            }
            lines.append(std::slice::from_ref(&one))?;
            recorded.lock().push(one.clone());
            say_recorded(&one, recorded.lock().len(), count);
        }
    });
    try_join_all(recording).await?;
    known.append(&mut recorded.lock());
    Ok(Baseline { cases: known })
}

fn say_recorded(one: &BaselineCase, number: usize, count: usize) {
    let BaselineCase { id, seconds, passed, executed, .. } = one;
    let outcome = if *passed { "passed" } else { "did not pass" };
    let executed = executed.len();
    output::say(&format!(
        "{number} of {count}: {id} {outcome}, {seconds:.1} s, {executed} mutations executed"
    ));
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
        "{verdict:<13}{} {} ({} cases, {} timeouts, {} left out, {:.1} s){}",
        trial.id,
        trial.change,
        trial.cases,
        trial.timeouts,
        trial.left_out,
        trial.seconds,
        by.unwrap_or_default()
    ));
}

fn score_of(folder: &Path, args: &MutateScoreArgs) -> Result<Exit, Failure> {
    let folders = if args.folders.is_empty() {
        SampleFolder::all_in(folder)?
    } else {
        args.folders.iter().cloned().map(SampleFolder).collect()
    };
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

fn print_score(folder: &SampleFolder) -> Result<Measured, Failure> {
    let (recorded, trials) = (folder.recorded()?, folder.trials()?);
    let root = folder.root()?;
    let built = Built::read(&copy_of(&root))?;
    let executed = Baseline { cases: recorded_baseline(&root, &recorded.sources)? }.executed();
    let is_missed = |mutation: &&Mutation| !executed.contains(&mutation.number);
    let missed = built.mutations.iter().filter(is_missed).count();
    let not_executed = Share { part: missed, whole: built.mutations.len() };
    let equivalents = equivalents(EQUIVALENT);
    let (seed, size, tried) = (recorded.seed, recorded.mutations.len(), trials.len());
    output::data(&format!("sample: {tried} of {size} mutations tried, seed {seed:?}"));
    output::data(summary(&trials, &equivalents, &built.mutations, &executed).trim_end());
    let measured = Measured { seed, size, trials, not_executed };
    for reservation in reservations(&measured, &equivalents) {
        output::data(&reservation);
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: MutateRunArgs,
    }

    #[test]
    fn shards_write_their_own_results() {
        assert_eq!(file_name("results", None), "results.jsonl");
        assert_eq!(file_name("results", "2/4".parse().ok()), "results-2-of-4.jsonl");
    }

    #[test]
    fn every_case_on_every_target_has_a_name_of_its_own() {
        let args = Line::parse_from(["run", "--workloads", "3"]).args;
        let cases = cases(&args.suite).unwrap();
        let ids: BTreeSet<_> = cases.iter().map(|case| &case.id).collect();
        assert_eq!(ids.len(), cases.len());
        let targets: BTreeSet<_> = cases.iter().map(|case| case.target.to_string()).collect();
        assert!(targets.len() > 1, "{targets:?}");
        let workloads = cases.iter().filter(|case| case.case.group() == conformance_fuzz::GROUP);
        assert_eq!(workloads.count(), 3 * targets.len());
        assert!(cases.iter().all(|case| case.case.isolation != Isolation::Upgrade));
    }
}
