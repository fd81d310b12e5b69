//! Schedulers given by the user: `--kai-dir`, `--kai-source` and `--scheduler-source`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use conformance_contract::scheduler::Scheduler;
use conformance_install::schedulers::{self, GivenScheduler, SchedulerSource, in_folder, kai};
use conformance_programs::components::Progress;

use super::Failure;
use super::args::ClusterArgs;

const KAI: &str = "kai-scheduler";

/// The working trees of `--kai-source` and `--scheduler-source`, by the name of the scheduler.
pub(crate) fn sources(args: &ClusterArgs) -> impl Iterator<Item = (&str, &Path)> {
    let kai = args.kai_source.iter().map(|dir| (KAI, dir));
    let others = args.scheduler_sources.iter().map(|(name, dir)| (name.as_str(), dir));
    kai.chain(others).map(|(name, dir)| (name, dir.as_path()))
}

/// Rejects working trees, because the run would not start their programs.
pub(crate) fn no_sources(args: &ClusterArgs, reason: &str) -> Result<(), Failure> {
    match sources(args).next() {
        None => Ok(()),
        Some((name, _)) => Err(Failure::Usage(format!("--scheduler-source {name}: {reason}"))),
    }
}

/// Rejects working trees whose programs a kind cluster would not start. With `by_chart`, Helm installs the
/// schedulers.
pub(crate) fn sources_on_kind(args: &ClusterArgs, by_chart: bool) -> Result<(), Failure> {
    if by_chart {
        return no_sources(args, "with --install helm it is installed from its chart");
    }
    let refused =
        |(name, _): &(&str, &Path)| schedulers::sources().contains(name) && !schedulers::is_deployable(name);
    match sources(args).find(refused) {
        None => Ok(()),
        Some((name, _)) => Err(Failure::Usage(format!(
            "--scheduler-source {name}: it cannot be deployed in a cluster: pass --provider local"
        ))),
    }
}

/// Opens the working trees. None is built before all are open.
pub(crate) async fn opened(args: &ClusterArgs) -> Result<Vec<SchedulerSource>, Failure> {
    let twice = |name: &str, other: &str| {
        Failure::Usage(format!("{name} is given twice: give either a working tree or {other}"))
    };
    let mut opened: Vec<SchedulerSource> = Vec::new();
    for (name, dir) in sources(args) {
        let source = SchedulerSource::open(name, dir).await?;
        if opened.iter().any(|other| other.scheduler() == source.scheduler()) {
            return Err(twice(name, "another"));
        }
        if args.bins.iter().any(|(bin, _)| bin == name) {
            return Err(twice(name, "--bin"));
        }
        if source.scheduler() == kai::SCHEDULER && args.kai_dir.is_some() {
            return Err(twice(name, "--kai-dir (GROVE_CONFORMANCE_KAI_DIR)"));
        }
        opened.push(source);
    }
    Ok(opened)
}

/// The given schedulers among the wanted ones, with their programs. Those of working trees are built.
pub(crate) async fn schedulers(
    args: &ClusterArgs,
    wanted: &BTreeSet<Scheduler>,
    progress: &dyn Progress,
) -> Result<BTreeMap<Scheduler, Arc<GivenScheduler>>, Failure> {
    let sources = opened(args).await?;
    let mut given = BTreeMap::new();
    if let Some(path) = args.kai_dir.as_ref().filter(|_| wanted.contains(&kai::SCHEDULER)) {
        given.extend(in_folder(kai::SCHEDULER, path)?.map(|kai| (kai::SCHEDULER, Arc::new(kai))));
    }
    for source in sources.into_iter().filter(|source| wanted.contains(&source.scheduler())) {
        given.insert(source.scheduler(), Arc::new(source.build(progress).await?));
    }
    Ok(given)
}

/// The user's programs as options for another process of this program: the flag, the text before the path,
/// and the path.
pub(crate) fn flags(args: &ClusterArgs) -> impl Iterator<Item = (&'static str, String, &Path)> {
    let bins = args.bins.iter().map(|(name, file)| ("--bin", format!("{name}="), file.as_path()));
    let kai = args.kai_dir.iter().map(|dir| ("--kai-dir", String::new(), dir.as_path()));
    let sources = sources(args).map(|(name, dir)| ("--scheduler-source", format!("{name}="), dir));
    bins.chain(kai).chain(sources)
}
