//! `dev mutants`: runs the suite on clusters that are broken on purpose, and reports whether it detects the
//! defects. Kubelet mutants run on kind one at a time, the others on local processes, several at a time.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use conformance_contract::clauses::CLAUSES;
use conformance_contract::verdict::Verdict;
use conformance_driver::case::Case;
use conformance_install::schedulers::kai;
use conformance_mutants::{
    Given, Mutant, MutantResult, MutantTier, MutantVerdict, RunFindings, StoredResult, TableError,
};
use conformance_programs::blocking::in_place;
use conformance_report as report;
use conformance_report::{Exit, Report};
use conformance_run::environment::{Environment, Origin, Settings};
use conformance_run::report_document::RunClock;
use conformance_run::run_plan::RunPlan;
use conformance_run::suites;
use futures::{StreamExt, stream};
use sha2::{Digest, Sha256};

use super::args::MutantsArgs;
use super::built_programs::programs;
use super::options::ProviderName;
use super::output::{self, Console};
use super::provider::{self, KindOptions};
use super::request::ProgramRequest;
use super::{Failure, given, run, run_id, unknown};

const RESULT_FILE: &str = "outcome.json";

impl From<TableError> for Failure {
    fn from(error: TableError) -> Self {
        Self::Usage(error.to_string())
    }
}

pub(crate) async fn mutants(args: &MutantsArgs) -> Result<Exit, Failure> {
    let tier = tier(args.provider)?;
    let all = match &args.table {
        Some(file) => given_table(file)?,
        None => tier.mutants()?,
    };
    let programs = ProgramRequest::of(&args.programs)?;
    let chosen = chosen(&all, tier, args, programs.has_kai())?;
    if args.list {
        chosen.iter().for_each(|mutant| output::data(&format!("{:<40}{}", mutant.id, mutant.breaks)));
        if let Some(page) = &args.write {
            write_page(page, &all, &args.report_dir)?;
        }
        return Ok(Exit::Conformant);
    }
    if let Some(selected) = programs.versions.first() {
        return Err(Failure::Usage(format!(
            "--component {}=version:V: mutants run pinned versions and checkouts (src:DIR) only",
            selected.name()
        )));
    }
    if let Some(word) = programs.config_words().first() {
        return Err(Failure::Usage(format!(
            "--scheduler-config {word}: mutants run with the suite's configuration only"
        )));
    }
    let side_by_side = match tier {
        MutantTier::Local => args.side_by_side.get(),
        MutantTier::Kind => 1,
    };
    let wanted = chosen.iter().flat_map(|mutant| mutant.spec(Given::default()).schedulers).collect();
    let console = Console::brief();
    let given = given::schedulers(&programs, &wanted, &console).await?;
    console.end();
    let mut runs = stream::iter(&chosen)
        .map(|mutant| run_one(mutant, tier, args, &programs, &given))
        .buffer_unordered(side_by_side);
    let mut results = Vec::new();
    while let Some(one) = runs.next().await {
        results.push(one?);
    }
    drop(runs);
    for (group, (killed, run)) in conformance_mutants::ratios(&chosen, &results) {
        output::data(&format!("{group:<6}{killed} of {run} killed"));
    }
    let killed = results.iter().filter(|one| one.outcome.verdict == MutantVerdict::Killed).count();
    let equivalent = results.iter().filter(|one| one.outcome.verdict == MutantVerdict::Equivalent).count();
    output::data(&format!("all   {killed} of {} killed", results.len() - equivalent));
    for one in results.iter().filter(|one| !one.outcome.verdict.is_as_expected()) {
        output::data(&format!("{}: {}", one.outcome.verdict.name(), one.id));
    }
    if let Some(page) = &args.write {
        write_page(page, &all, &args.report_dir)?;
    }
    Ok(if killed + equivalent == results.len() { Exit::Conformant } else { Exit::NotConformant })
}

fn given_table(file: &Path) -> Result<Vec<Mutant>, Failure> {
    let name = file.display().to_string();
    let text =
        std::fs::read_to_string(file).map_err(|error| Failure::Usage(format!("--table {name}: {error}")))?;
    Ok(conformance_mutants::table(&name, &text)?)
}

fn tier(provider: ProviderName) -> Result<MutantTier, Failure> {
    match provider {
        ProviderName::Local => Ok(MutantTier::Local),
        ProviderName::Kind => Ok(MutantTier::Kind),
        ProviderName::Existing => Err(Failure::Usage(
            "mutants break clusters that they create themselves: pass --provider local or --provider kind"
                .into(),
        )),
    }
}

fn chosen(
    all: &[Mutant],
    tier: MutantTier,
    args: &MutantsArgs,
    has_kai: bool,
) -> Result<Vec<Mutant>, Failure> {
    if let Some(name) = args.names.iter().find(|name| all.iter().all(|mutant| mutant.id != **name)) {
        return Err(unknown_mutant(all, tier, name)?);
    }
    if let Some(id) = args.clause.iter().find(|id| CLAUSES.iter().all(|clause| clause.id != **id)) {
        let known: Vec<_> = CLAUSES.iter().map(|clause| clause.id).collect();
        return Err(unknown::name("clause", id, &known, ""));
    }
    let is_selected = |mutant: &&Mutant| {
        (args.names.is_empty() || args.names.contains(&mutant.id))
            && (args.clause.is_empty() || args.clause.iter().any(|id| mutant.musts().any(|must| must == id)))
    };
    // A mutant that needs KAI's scheduler runs only if the user provides KAI.
    let is_possible = |mutant: &&Mutant| args.list || has_kai || !mutant.needs(kai::SCHEDULER);
    let is_named = |mutant: &&Mutant| args.names.contains(&mutant.id);
    if let Some(mutant) = all.iter().filter(is_named).find(|mutant| !is_possible(mutant)) {
        return Err(Failure::Usage(format!(
            "mutant {} needs KAI: pass --component kai-scheduler=src:DIR",
            mutant.id
        )));
    }
    let selected = sampled(all.iter().filter(is_selected).filter(is_possible).collect(), args);
    let mut chosen = Vec::new();
    for (position, mutant) in selected.into_iter().enumerate() {
        if args.shard.is_none_or(|shard| shard.contains(position)) {
            chosen.push(mutant.clone());
        }
    }
    match (chosen.is_empty(), args.clause.as_slice()) {
        (true, [_, ..]) => Err(Failure::Usage(format!(
            "no mutant must make {} fail: `dev mutants --list` shows all",
            args.clause.join(" or ")
        ))),
        _ => Ok(chosen),
    }
}

/// Samples the mutants by seed: one mutant of each group of clauses, then a second of each, and so on. The
/// sample is in the order of the tables. Equivalent mutants are left out.
fn sampled<'a>(mut mutants: Vec<&'a Mutant>, args: &MutantsArgs) -> Vec<&'a Mutant> {
    let Some(size) = args.sample else { return mutants };
    mutants.retain(|mutant| mutant.equivalent.is_none());
    let mut shuffled = mutants.clone();
    shuffled.sort_by_cached_key(|mutant| Sha256::digest(format!("{}/{}", args.seed, mutant.id)));
    let mut group_sizes: BTreeMap<_, usize> = BTreeMap::new();
    let mut ranked = Vec::new();
    for mutant in shuffled {
        let rank = group_sizes.entry(mutant.groups().into_iter().next()).or_default();
        *rank += 1;
        ranked.push((*rank, &mutant.id));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.truncate(size);
    mutants.retain(|mutant| ranked.iter().any(|(_, id)| **id == mutant.id));
    mutants
}

fn unknown_mutant(all: &[Mutant], tier: MutantTier, name: &str) -> Result<Failure, Failure> {
    for other in MutantTier::ALL.into_iter().filter(|other| *other != tier) {
        if other.mutants()?.iter().any(|mutant| mutant.id == name) {
            return Ok(Failure::Usage(format!(
                "mutant {name} does not run with --provider {}: pass --provider {}",
                tier.name(),
                other.name()
            )));
        }
    }
    let known: Vec<_> = all.iter().map(|mutant| mutant.id.as_str()).collect();
    Ok(unknown::name("mutant", name, &known, ""))
}

async fn run_one(
    mutant: &Mutant,
    tier: MutantTier,
    args: &MutantsArgs,
    request: &ProgramRequest,
    given: &Given,
) -> Result<StoredResult, Failure> {
    let begin = Instant::now();
    let console = Arc::new(Console::brief());
    let mut spec = mutant.spec(given.clone());
    spec.given.retain(|scheduler, _| spec.schedulers.contains(scheduler));
    // On kind, kubelets start real containers, which takes longer.
    let ((origin, programs), default_scale, concurrency) = match tier {
        MutantTier::Local => ((Origin::Local, programs(request, &spec, &console).await?), 1.0, 16),
        MutantTier::Kind => (provider::kind(request, KindOptions::default(), &spec, &console).await?, 2.0, 4),
    };
    let folder = args.report_dir.join(&mutant.id);
    let which = match (args.quick, args.every_case) {
        (true, _) => " --quick",
        (false, true) => " --every-case",
        (false, false) => "",
    };
    let rules: Vec<_> = spec.rules.values().flatten().cloned().collect();
    let settings = Settings {
        origin,
        scale: args.timeout_scale.unwrap_or(default_scale),
        concurrency,
        short_limits_count: true,
        reproduce: format!("grove-conformance dev mutants{which} --provider {} {}", tier.name(), mutant.id),
        ..Settings::local(run_id(), programs, spec, folder.clone())
    };
    let generated = mutant.cases.iter().filter_map(|id| conformance_fuzz::case(id));
    let is_run = |case: &&Case| match (args.quick, args.every_case) {
        (true, _) => suites::is_quick(case.id) && mutant.runs_with_all(case),
        (false, true) => mutant.runs_with_all(case),
        (false, false) => mutant.runs(case),
    };
    let (chosen, left_out) = suites::cases().chain(generated).partition(is_run);
    let clauses = CLAUSES.to_vec();
    let plan =
        RunPlan { targets: vec![mutant.target], chosen, left_out, skipped: Vec::new(), shard: None, clauses };
    let clock = RunClock { begin, building: Duration::ZERO };
    let environment = Arc::new(Environment::new(settings));
    let report = run::execute(&environment, &plan, &console, clock).await?;
    run::close(&environment).await;
    console.end();
    let unwritten = |error: &dyn std::fmt::Display| Failure::Infrastructure(error.to_string());
    in_place(|| report::write_all(&folder, &report)).map_err(|error| unwritten(&error))?;
    let idle = rules.into_iter().filter(|rule| rule.applied.times() == 0).map(|rule| rule.name);
    let findings = RunFindings { idle_rules: idle.collect(), ..findings(&report) };
    let mut relevant = findings.clone();
    // Cases that are not about the defect may also fail. Their clauses are listed and do not count.
    let is_broad = args.every_case || args.quick;
    relevant.failed.retain(|id| !is_broad || mutant.equivalent.is_some() || mutant.allows(id));
    let outcome = MutantResult { failed: findings.failed, ..mutant.evaluate(&relevant) };
    let result = StoredResult { id: mutant.id.clone(), outcome, seconds: begin.elapsed().as_secs_f64() };
    let text = serde_json::to_string_pretty(&result).map_err(|error| unwritten(&error))?;
    std::fs::write(folder.join(RESULT_FILE), text).map_err(|error| unwritten(&error))?;
    say(mutant, &result);
    Ok(result)
}

fn findings(report: &Report) -> RunFindings {
    let mut found = RunFindings::default();
    for clause in report.targets.iter().flat_map(|target| &target.clauses) {
        let id = clause.id.clone();
        match clause.outcome.verdict {
            Verdict::Fail => found.failed.push(id),
            Verdict::Pass => found.passed.push(id),
            Verdict::Error => found.errors.push((id, clause.outcome.reason().unwrap_or_default())),
            _ => {}
        }
    }
    found
}

fn say(mutant: &Mutant, result: &StoredResult) {
    let StoredResult { outcome, seconds, .. } = result;
    let head = format!("{:<9}{:<40}{} ({seconds:.0} s)", outcome.verdict.name(), mutant.id, mutant.breaks);
    output::data(&format!("{head}\n         failed: {}", outcome.failed.join(" ")));
    for reason in &outcome.reasons {
        output::data(&format!("         {reason}"));
    }
}

fn write_page(page: &Path, all: &[Mutant], folder: &Path) -> Result<(), Failure> {
    let stored = |mutant: &Mutant| {
        let text = std::fs::read_to_string(folder.join(&mutant.id).join(RESULT_FILE)).ok()?;
        serde_json::from_str::<StoredResult>(&text).ok()
    };
    let results: Vec<_> = all.iter().filter_map(stored).collect();
    std::fs::write(page, conformance_mutants::report(all, &results))
        .map_err(|error| Failure::Usage(format!("--write {}: {error}", page.display())))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser;
    use fake_gpu_plugin as device_plugin;

    use super::*;

    /// The faults that only a build for mutants contains.
    const FAULTS: &str = include_str!("../../reference/operator/src/faults.txt");

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: MutantsArgs,
    }

    fn chosen_by(words: &[&str]) -> Result<Vec<String>, String> {
        let args = Line::parse_from(["mutants"].iter().chain(words)).args;
        let tier = tier(args.provider).map_err(|failure| failure.to_string())?;
        let chosen =
            chosen(&tier.mutants().unwrap(), tier, &args, false).map_err(|failure| failure.to_string())?;
        Ok(chosen.into_iter().map(|mutant| mutant.id).collect())
    }

    #[test]
    fn every_fault_of_a_mutant_exists_in_its_program() {
        let is_listed = |fault: &str| FAULTS.lines().any(|line| line.starts_with(&format!("{fault}: ")));
        for mutant in MutantTier::ALL.into_iter().flat_map(|tier| tier.mutants().unwrap()) {
            let spec = mutant.spec(Given::default());
            let upgraded = spec.upgrade.iter().flat_map(|upgrade| &upgrade.faults);
            for fault in spec.controller.faults.iter().chain(upgraded) {
                assert!(is_listed(fault), "{}: {fault}", mutant.id);
            }
            for fault in &spec.gpu_plugin_faults {
                assert!(fault.parse::<device_plugin::Fault>().is_ok(), "{}: {fault}", mutant.id);
            }
        }
    }

    #[test]
    fn a_mutant_runs_only_with_its_provider() {
        assert_eq!(chosen_by(&["restless"]), Ok(vec!["restless".to_owned()]));
        let on_kind = chosen_by(&["--provider", "kind", "every-replica-leads"]);
        assert_eq!(on_kind, Ok(vec!["every-replica-leads".to_owned()]));
        let elsewhere = "mutant every-replica-leads does not run with --provider local: pass --provider kind";
        assert_eq!(chosen_by(&["every-replica-leads"]), Err(elsewhere.to_owned()));
        let all = MutantTier::Local.mutants().unwrap();
        let of_kai = all.iter().find(|mutant| mutant.needs(kai::SCHEDULER)).unwrap();
        let without_kai = chosen_by(&[&of_kai.id]).unwrap_err();
        assert!(without_kai.contains("pass --component kai-scheduler=src:DIR"), "{without_kai}");
        let unknown = chosen_by(&["restles"]).unwrap_err();
        assert!(unknown.contains("did you mean \"restless\"?"), "{unknown}");
    }

    #[test]
    fn the_seed_determines_the_sample() {
        let sample = |seed| chosen_by(&["--sample", "12", "--seed", seed]).unwrap();
        assert_eq!(sample("a").len(), 12);
        assert_eq!(sample("a"), sample("a"));
        assert_ne!(sample("a"), sample("b"));
    }

    #[test]
    fn a_sample_has_mutants_of_all_groups() {
        let all = MutantTier::Local.mutants().unwrap();
        let group = |id: &String| {
            let mutant = all.iter().find(|mutant| mutant.id == *id).unwrap();
            mutant.groups().into_iter().next().map(str::to_owned)
        };
        let groups: BTreeSet<_> = all.iter().map(|mutant| group(&mutant.id)).collect();
        let groups = groups.into_iter().flatten().count();
        let sample = chosen_by(&["--sample", &groups.to_string()]).unwrap();
        let sampled: BTreeSet<_> = sample.iter().map(group).collect();
        assert_eq!(sampled.len(), groups, "{sample:?}");
    }

    #[test]
    fn mutants_are_selected_by_clause_and_shard() {
        let of_clause = chosen_by(&["--clause", "GANG-11"]).unwrap();
        assert!(
            of_clause.contains(&"restless".to_owned()) && !of_clause.contains(&"early-ungating".to_owned())
        );
        let all = chosen_by(&[]).unwrap();
        let mut shards: Vec<_> = ["1/3", "2/3", "3/3"]
            .into_iter()
            .flat_map(|shard| chosen_by(&["--shard", shard]).unwrap())
            .collect();
        shards.sort();
        let mut wanted = all.clone();
        wanted.sort();
        assert_eq!(shards, wanted, "each once");
        assert!(chosen_by(&["--clause", "GANG-99"]).unwrap_err().contains("unknown clause"));
        assert!(chosen_by(&["--clause", "EXT-03"]).unwrap_err().contains("no mutant must make EXT-03 fail"));
    }
}
