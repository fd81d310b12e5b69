//! Schedulers that the user provides: KAI in a folder, and checkouts (`--component NAME=src:DIR`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use conformance_contract::scheduler::Scheduler;
use conformance_install::schedulers::{GivenScheduler, SchedulerSource, in_folder, kai};
use conformance_programs::components::Progress;

use super::Failure;
use super::request::ProgramRequest;

pub(crate) async fn opened(programs: &ProgramRequest) -> Result<Vec<SchedulerSource>, Failure> {
    let mut opened: Vec<SchedulerSource> = Vec::new();
    for (name, dir) in &programs.checkouts {
        opened.push(SchedulerSource::open(name, dir).await?);
    }
    Ok(opened)
}

pub(crate) async fn schedulers(
    programs: &ProgramRequest,
    wanted: &BTreeSet<Scheduler>,
    progress: &dyn Progress,
) -> Result<BTreeMap<Scheduler, Arc<GivenScheduler>>, Failure> {
    let checkouts = opened(programs).await?;
    let mut given = BTreeMap::new();
    if let Some(path) = programs.kai_folder.as_ref().filter(|_| wanted.contains(&kai::SCHEDULER)) {
        given.extend(in_folder(kai::SCHEDULER, path)?.map(|kai| (kai::SCHEDULER, Arc::new(kai))));
    }
    for checkout in checkouts.into_iter().filter(|checkout| wanted.contains(&checkout.scheduler())) {
        given.insert(checkout.scheduler(), Arc::new(checkout.build(progress).await?));
    }
    Ok(given)
}
