//! `mutants`: runs the suite on broken clusters and controllers, and reports whether it detected the defect.
//! Mutants of kubelets run with `--provider kind`, each in its own cluster; the others run on local
//! processes, several at a time.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use conformance_cases as cases;
use conformance_contract::clauses::CLAUSES;
use conformance_contract::verdict::Verdict as Judged;
use conformance_driver::case::Case;
use conformance_driver::test_cluster::Thorough;
use conformance_fuzz as generated;
use conformance_install::schedulers::kai;
use conformance_mutants::{Found, Given, Kept, Mutant, Outcome, Place, TableError, Verdict};
use conformance_report as report;
use conformance_report::{Exit, Report};
use conformance_run::environment::{Environment, Origin, Settings};
use conformance_run::runner::{Clock, Plan};
use futures::{StreamExt, stream};
use sha2::{Digest, Sha256};

use super::args::{MutantsArgs, ProviderName};
use super::output::{self, Console};
use super::provider::{self, KindWords};
use super::{Failure, given, programs, run, run_id, select};

/// The saved result of a mutant's run, next to its report.
const KEPT: &str = "outcome.json";

impl From<TableError> for Failure {
    fn from(error: TableError) -> Self {
        Self::Usage(error.to_string())
    }
}

pub(crate) async fn mutants(args: &MutantsArgs) -> Result<Exit, Failure> {
    let place = place(args.provider)?;
    let all = match &args.table {
        Some(file) => given_table(file)?,
        None => place.mutants()?,
    };
    let chosen = chosen(&all, place, args)?;
    if args.list {
        chosen.iter().for_each(|mutant| output::data(&format!("{:<40}{}", mutant.id, mutant.breaks)));
        if let Some(page) = &args.write {
            write_page(page, &all, &args.report_dir)?;
        }
        return Ok(Exit::Conformant);
    }
    given::no_sources(&args.cluster_args, "mutants run the pinned schedulers only")?;
    let side_by_side = match place {
        Place::Local => args.side_by_side.get(),
        Place::Kind => 1,
    };
    let mut runs =
        stream::iter(&chosen).map(|mutant| run_one(mutant, place, args)).buffer_unordered(side_by_side);
    let mut kept = Vec::new();
    while let Some(one) = runs.next().await {
        kept.push(one?);
    }
    drop(runs);
    for (group, (killed, run)) in conformance_mutants::ratios(&chosen, &kept) {
        output::data(&format!("{group:<6}{killed} of {run} killed"));
    }
    let killed = kept.iter().filter(|one| one.outcome.verdict == Verdict::Killed).count();
    let equivalent = kept.iter().filter(|one| one.outcome.verdict == Verdict::Equivalent).count();
    output::data(&format!("all   {killed} of {} killed", kept.len() - equivalent));
    for one in kept.iter().filter(|one| !one.outcome.verdict.is_as_expected()) {
        output::data(&format!("{}: {}", one.outcome.verdict.name(), one.id));
    }
    if let Some(page) = &args.write {
        write_page(page, &all, &args.report_dir)?;
    }
    Ok(if killed + equivalent == kept.len() { Exit::Conformant } else { Exit::NotConformant })
}

fn given_table(file: &Path) -> Result<Vec<Mutant>, Failure> {
    let name = file.display().to_string();
    let text =
        std::fs::read_to_string(file).map_err(|error| Failure::Usage(format!("--table {name}: {error}")))?;
    Ok(conformance_mutants::table(&name, &text)?)
}

fn place(provider: ProviderName) -> Result<Place, Failure> {
    match provider {
        ProviderName::Local => Ok(Place::Local),
        ProviderName::Kind => Ok(Place::Kind),
        ProviderName::Existing => Err(Failure::Usage(
            "mutants break clusters that they create themselves: pass --provider local or --provider kind"
                .into(),
        )),
    }
}

fn chosen(all: &[Mutant], place: Place, args: &MutantsArgs) -> Result<Vec<Mutant>, Failure> {
    if let Some(name) = args.names.iter().find(|name| all.iter().all(|mutant| mutant.id != **name)) {
        return Err(not_here(all, place, name)?);
    }
    if let Some(id) = args.clause.iter().find(|id| CLAUSES.iter().all(|clause| clause.id != **id)) {
        let known: Vec<_> = CLAUSES.iter().map(|clause| clause.id).collect();
        return Err(select::unknown("clause", id, &known, ""));
    }
    let is_meant = |mutant: &&Mutant| {
        (args.names.is_empty() || args.names.contains(&mutant.id))
            && (args.clause.is_empty() || args.clause.iter().any(|id| mutant.musts().any(|must| must == id)))
    };
    // Mutants that need KAI itself are skipped unless --kai-dir is given.
    let is_possible =
        |mutant: &&Mutant| args.list || args.cluster_args.kai_dir.is_some() || !mutant.needs(kai::SCHEDULER);
    let meant = sampled(all.iter().filter(is_meant).filter(is_possible).collect(), args);
    let of_shard = meant.into_iter().enumerate();
    let of_shard = of_shard.filter(|(place, _)| args.shard.is_none_or(|shard| shard.holds(*place)));
    let chosen: Vec<_> = of_shard.map(|(_, mutant)| mutant.clone()).collect();
    match (chosen.is_empty(), args.clause.as_slice()) {
        (true, [_, ..]) => Err(Failure::Usage(format!(
            "no mutant must make {} fail: `mutants --list` shows all",
            args.clause.join(" or ")
        ))),
        _ => Ok(chosen),
    }
}

/// A sample of the requested size, chosen by its seed, in the order of the tables: one of each group of
/// clauses, then a second of each, and so on. Equivalent mutants are left out.
fn sampled<'a>(mut meant: Vec<&'a Mutant>, args: &MutantsArgs) -> Vec<&'a Mutant> {
    let Some(size) = args.sample else { return meant };
    meant.retain(|mutant| mutant.equivalent.is_none());
    let mut by_chance = meant.clone();
    by_chance.sort_by_cached_key(|mutant| Sha256::digest(format!("{}/{}", args.seed, mutant.id)));
    let mut of_group: BTreeMap<_, usize> = BTreeMap::new();
    let ranked = by_chance.into_iter().map(|mutant| {
        let rank = of_group.entry(mutant.groups().into_iter().next()).or_default();
        *rank += 1;
        (*rank, &mutant.id)
    });
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.truncate(size);
    meant.retain(|mutant| ranked.iter().any(|(_, id)| **id == mutant.id));
    meant
}

fn not_here(all: &[Mutant], place: Place, name: &str) -> Result<Failure, Failure> {
    for other in Place::ALL.into_iter().filter(|other| *other != place) {
        if other.mutants()?.iter().any(|mutant| mutant.id == name) {
            return Ok(Failure::Usage(format!(
                "mutant {name} does not run with --provider {}: pass --provider {}",
                place.name(),
                other.name()
            )));
        }
    }
    let known: Vec<_> = all.iter().map(|mutant| mutant.id.as_str()).collect();
    Ok(select::unknown("mutant", name, &known, ""))
}

async fn run_one(mutant: &Mutant, place: Place, args: &MutantsArgs) -> Result<Kept, Failure> {
    let begin = Instant::now();
    let talk = Arc::new(Console::brief());
    let wanted = mutant.spec(Given::default()).schedulers;
    let spec = mutant.spec(given::schedulers(&args.cluster_args, &wanted, talk.as_ref()).await?);
    // On kind, containers really start, on two cores.
    let ((origin, programs), usual_scale, concurrency) = match place {
        Place::Local => ((Origin::Local, programs(&args.cluster_args, &spec, &talk).await?), 1.0, 16),
        Place::Kind => {
            (provider::kind(&args.cluster_args, KindWords::default(), &spec, &talk).await?, 2.0, 4)
        }
    };
    let folder = args.report_dir.join(&mutant.id);
    let every_case = if args.every_case { " --every-case" } else { "" };
    let rules: Vec<_> = spec.rules.values().flatten().cloned().collect();
    let settings = Settings {
        run: run_id(),
        programs,
        spec,
        origin,
        implementation: None,
        scale: args.timeout_scale.unwrap_or(usual_scale),
        concurrency,
        grows: false,
        dedicated: BTreeMap::new(),
        retries: 0,
        probe_undeclared: false,
        short_limits_count: true,
        later_life_on: None,
        strict: false,
        thorough: Thorough::default(),
        out: folder.clone(),
        keep: false,
        reproduce: format!("grove-conformance mutants{every_case} --provider {} {}", place.name(), mutant.id),
    };
    let generated = mutant.cases.iter().filter_map(|id| generated::case(id));
    let is_run = |case: &&Case| if args.every_case { mutant.runs_with_all(case) } else { mutant.runs(case) };
    let (chosen, left_out) = cases::all().chain(generated).partition(is_run);
    let clauses = CLAUSES.to_vec();
    let plan = Plan { targets: vec![mutant.target], chosen, left_out, share: None, clauses };
    let clock = Clock { begin, building: Duration::ZERO };
    let environment = Arc::new(Environment::new(settings));
    let report = run::execute(&environment, &plan, &talk, clock).await?;
    run::close(environment).await;
    talk.end();
    let unwritten = |error: &dyn std::fmt::Display| Failure::Infrastructure(error.to_string());
    report::write_all(&folder, &report).map_err(|error| unwritten(&error))?;
    let idle = rules.into_iter().filter(|rule| rule.applied.times() == 0).map(|rule| rule.name);
    let all_found = Found { idle_rules: idle.collect(), ..found(&report) };
    let mut judged = all_found.clone();
    // With every case, some clauses fail that are only indirectly related to the defect.
    judged.red.retain(|id| !args.every_case || mutant.equivalent.is_some() || mutant.allows(id));
    let outcome = Outcome { red: all_found.red, ..mutant.judge(&judged) };
    let kept = Kept { id: mutant.id.clone(), outcome, seconds: begin.elapsed().as_secs_f64() };
    let text = serde_json::to_string_pretty(&kept).map_err(|error| unwritten(&error))?;
    std::fs::write(folder.join(KEPT), text).map_err(|error| unwritten(&error))?;
    say(mutant, &kept);
    Ok(kept)
}

fn found(report: &Report) -> Found {
    let mut found = Found::default();
    for clause in report.targets.iter().flat_map(|target| &target.clauses) {
        let id = clause.id.clone();
        match clause.outcome.verdict {
            Judged::Fail => found.red.push(id),
            Judged::Pass => found.kept.push(id),
            Judged::Error => found.errors.push((id, clause.outcome.reason().unwrap_or_default())),
            _ => {}
        }
    }
    found
}

fn say(mutant: &Mutant, kept: &Kept) {
    let Kept { outcome, seconds, .. } = kept;
    let head = format!("{:<9}{:<40}{} ({seconds:.0} s)", outcome.verdict.name(), mutant.id, mutant.breaks);
    output::data(&format!("{head}\n         failed: {}", outcome.red.join(" ")));
    for why in &outcome.because {
        output::data(&format!("         {why}"));
    }
}

fn write_page(page: &Path, all: &[Mutant], folder: &Path) -> Result<(), Failure> {
    let last = |mutant: &Mutant| {
        let text = std::fs::read_to_string(folder.join(&mutant.id).join(KEPT)).ok()?;
        serde_json::from_str::<Kept>(&text).ok()
    };
    let kept: Vec<_> = all.iter().filter_map(last).collect();
    std::fs::write(page, conformance_mutants::report(all, &kept))
        .map_err(|error| Failure::Usage(format!("--write {}: {error}", page.display())))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser;
    use fake_gpu_plugin as device_plugin;

    use super::*;

    /// The faults of the reference operator. Only a build for mutants contains them.
    const FAULTS: &str = include_str!("../../reference/operator/src/faults.txt");

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: MutantsArgs,
    }

    fn chosen_by(words: &[&str]) -> Result<Vec<String>, String> {
        let args = Line::parse_from(["mutants"].iter().chain(words)).args;
        let place = place(args.provider).map_err(|failure| failure.to_string())?;
        let chosen =
            chosen(&place.mutants().unwrap(), place, &args).map_err(|failure| failure.to_string())?;
        Ok(chosen.into_iter().map(|mutant| mutant.id).collect())
    }

    #[test]
    fn every_fault_is_known_to_its_program() {
        let is_listed = |fault: &str| FAULTS.lines().any(|line| line.starts_with(&format!("{fault}: ")));
        for mutant in Place::ALL.into_iter().flat_map(|place| place.mutants().unwrap()) {
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
    fn a_mutant_is_run_at_its_own_place() {
        assert_eq!(chosen_by(&["restless"]), Ok(vec!["restless".to_owned()]));
        let on_kind = chosen_by(&["--provider", "kind", "every-replica-leads"]);
        assert_eq!(on_kind, Ok(vec!["every-replica-leads".to_owned()]));
        let elsewhere = "mutant every-replica-leads does not run with --provider local: pass --provider kind";
        assert_eq!(chosen_by(&["every-replica-leads"]), Err(elsewhere.to_owned()));
        let unknown = chosen_by(&["restles"]).unwrap_err();
        assert!(unknown.contains("did you mean \"restless\"?"), "{unknown}");
    }

    #[test]
    fn a_seed_chooses_a_sample() {
        let of = |seed| chosen_by(&["--sample", "12", "--seed", seed]).unwrap();
        assert_eq!(of("a").len(), 12);
        assert_eq!(of("a"), of("a"));
        assert_ne!(of("a"), of("b"));
    }

    #[test]
    fn a_sample_is_of_all_groups() {
        let all = Place::Local.mutants().unwrap();
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
    fn clauses_and_shards_choose() {
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
