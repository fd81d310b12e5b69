use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::TARGETS;
use conformance_programs::components::Component;

use super::ALL;
use super::install::Install;

pub fn all() -> impl Iterator<Item = Scheduler> {
    ALL.iter().map(|install| install.scheduler)
}

/// Returns the schedulers that can have a backend, in the order of reports. Others schedule only TrainJobs.
pub fn of_pod_clique_sets() -> impl Iterator<Item = Scheduler> {
    all().filter(|scheduler| TARGETS.iter().any(|target| target.scheduler() == *scheduler))
}

pub fn installation(scheduler: Scheduler) -> &'static Install {
    let found = ALL.iter().find(|install| install.scheduler == scheduler);
    found.unwrap_or_else(|| unreachable!("{} has no description", scheduler.name()))
}

pub(super) fn of_program(name: &str) -> Option<&'static Install> {
    let is_first = |install: &&&Install| install.processes.first().is_some_and(|first| first.name == name);
    ALL.iter().find(is_first).copied()
}

pub fn is_deployable(name: &str) -> bool {
    of_program(name).is_some_and(Install::is_deployable)
}

pub(crate) fn components() -> impl Iterator<Item = &'static Component> {
    ALL.iter().flat_map(|install| install.components())
}
