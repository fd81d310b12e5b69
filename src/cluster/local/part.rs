//! The processes that a control plane can have, in the order in which they are started.

use conformance_contract::scheduler::Scheduler;

use super::ClusterSpec;
use crate::ClusterError;
use crate::schedulers::{self, Command, Install, ProcessHome, SchedulerProcess};

/// A process of the control plane. In their order they are started.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// etcd.
    Etcd,
    /// kube-apiserver.
    Apiserver,
    /// One of a scheduler.
    OfScheduler(ProcessId),
    /// KWOK, the kubelets.
    Kwok,
    /// kube-controller-manager.
    ControllerManager,
    /// The controller under test.
    Controller,
}

/// Which process of which scheduler: its place among the descriptions, in whose order schedulers are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId {
    install: usize,
    process: usize,
}

impl ProcessId {
    fn all() -> impl Iterator<Item = Self> {
        schedulers::ALL
            .iter()
            .enumerate()
            .flat_map(|(install, of)| (0..of.processes.len()).map(move |process| Self { install, process }))
    }

    fn install(self) -> &'static Install {
        schedulers::ALL[self.install]
    }

    fn process(self) -> &'static SchedulerProcess {
        &self.install().processes[self.process]
    }

    /// Writes its configuration and says how it is started.
    pub(super) fn start(self, place: &ProcessHome, spec: &ClusterSpec) -> Result<Command, ClusterError> {
        (self.process().start)(place, spec)
    }
}

impl Part {
    /// kube-scheduler, which every cluster has.
    pub const KUBE_SCHEDULER: Self = Self::OfScheduler(ProcessId { install: 0, process: 0 });

    /// All of them, in the order in which they are started. A cluster has those that its specification asks for:
    /// [`super::ClusterSpec::parts`].
    pub fn all() -> impl Iterator<Item = Self> {
        let before = [Self::Etcd, Self::Apiserver];
        let after = [Self::Kwok, Self::ControllerManager, Self::Controller];
        before.into_iter().chain(ProcessId::all().map(Self::OfScheduler)).chain(after)
    }

    /// The processes of a scheduler, in the order in which they are started.
    pub fn of_scheduler(scheduler: Scheduler) -> impl Iterator<Item = Self> {
        ProcessId::all().filter(move |id| id.install().scheduler == scheduler).map(Self::OfScheduler)
    }

    /// The program's name, which is its log's and its kubeconfig's name too.
    pub fn program(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Apiserver => "kube-apiserver",
            Self::OfScheduler(id) => id.process().name,
            Self::Kwok => "kwok",
            Self::ControllerManager => "kube-controller-manager",
            Self::Controller => "grove-backend-controller",
        }
    }

    /// As whom a process of a scheduler asks the API server.
    pub fn user(self) -> Option<&'static str> {
        self.described().map(|(_, process)| process.user)
    }

    /// The scheduler that it is a process of.
    pub fn scheduler(self) -> Option<Scheduler> {
        self.described().map(|(install, _)| install.scheduler)
    }

    /// What is known of it, if it is a scheduler's.
    pub(crate) fn described(self) -> Option<(&'static Install, &'static SchedulerProcess)> {
        match self {
            Self::OfScheduler(id) => Some((id.install(), id.process())),
            Self::Etcd | Self::Apiserver | Self::Kwok | Self::ControllerManager | Self::Controller => None,
        }
    }
}

impl std::fmt::Debug for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.program())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_order_is_that_of_the_start() {
        let all: Vec<_> = Part::all().collect();
        assert!(all.is_sorted(), "{all:?}");
        let programs: BTreeSet<_> = all.iter().map(|part| part.program()).collect();
        assert_eq!(programs.len(), all.len(), "each has a log of its own");
    }

    #[test]
    fn schedulers_are_started_between_the_api_server_and_the_nodes() {
        let all: Vec<_> = Part::all().map(Part::program).collect();
        let theirs = schedulers::ALL.iter().flat_map(|install| install.processes);
        let theirs: Vec<_> = theirs.map(|process| process.name).collect();
        assert_eq!(all[..2], ["etcd", "kube-apiserver"]);
        assert_eq!(all[2..all.len() - 3], theirs);
        assert_eq!(all[all.len() - 3..], ["kwok", "kube-controller-manager", "grove-backend-controller"]);
        assert_eq!(theirs[..3], ["kube-scheduler", "vc-scheduler", "koord-scheduler"]);
    }

    #[test]
    fn every_process_of_a_scheduler_knows_it() {
        for scheduler in schedulers::all() {
            let parts: Vec<_> = Part::of_scheduler(scheduler).collect();
            assert!(parts.iter().all(|part| part.scheduler() == Some(scheduler)), "{parts:?}");
        }
        assert_eq!(Part::KUBE_SCHEDULER.scheduler(), Some(Scheduler::KUBE));
        assert_eq!(Part::KUBE_SCHEDULER.program(), "kube-scheduler");
    }
}
