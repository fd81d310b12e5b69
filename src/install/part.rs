use conformance_contract::scheduler::Scheduler;

use crate::schedulers::{self, Install, SchedulerProcess};
use crate::trainer;

/// In the order of restarts. In a new cluster, only kube-scheduler starts before KWOK, the others after it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    Etcd,
    Apiserver,
    OfScheduler(ProcessId),
    /// Acts as the kubelets.
    Kwok,
    ControllerManager,
    /// A process that runs TrainJobs, by its index in the trainer's processes.
    OfTrainer(u8),
    Controller,
}

/// A process of a scheduler, by its index in the descriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId {
    install: usize,
    process: usize,
}

impl ProcessId {
    fn all() -> impl Iterator<Item = Self> {
        let count = |install: usize| schedulers::ALL[install].processes.len();
        (0..schedulers::ALL.len())
            .flat_map(move |install| (0..count(install)).map(move |process| Self { install, process }))
    }

    fn install(self) -> &'static Install {
        schedulers::ALL[self.install]
    }

    fn process(self) -> &'static SchedulerProcess {
        &self.install().processes[self.process]
    }
}

impl Part {
    pub const KUBE_SCHEDULER: Self = Self::OfScheduler(ProcessId { install: 0, process: 0 });

    pub const JOB_SET: Self = Self::OfTrainer(0);
    pub const TRAINER: Self = Self::OfTrainer(1);
    pub const TRAINER_PLUGIN: Self = Self::OfTrainer(2);
    pub const OF_TRAINER: [Self; 3] = [Self::JOB_SET, Self::TRAINER, Self::TRAINER_PLUGIN];

    /// In the order of restarts. [`crate::cluster_spec::ClusterSpec::parts`] returns those of one cluster.
    pub fn all() -> impl Iterator<Item = Self> {
        let before = [Self::Etcd, Self::Apiserver];
        let nodes = [Self::Kwok, Self::ControllerManager];
        let schedulers = ProcessId::all().map(Self::OfScheduler);
        before.into_iter().chain(schedulers).chain(nodes).chain(Self::OF_TRAINER).chain([Self::Controller])
    }

    pub fn of_scheduler(scheduler: Scheduler) -> impl Iterator<Item = Self> {
        ProcessId::all().filter(move |id| id.install().scheduler == scheduler).map(Self::OfScheduler)
    }

    /// The program's name, which is also the name of its log and kubeconfig.
    pub fn program(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Apiserver => "kube-apiserver",
            Self::OfScheduler(id) => id.process().name,
            Self::OfTrainer(index) => trainer::PROCESSES[usize::from(index)].name,
            Self::Kwok => "kwok",
            Self::ControllerManager => "kube-controller-manager",
            Self::Controller => "grove-backend-controller",
        }
    }

    pub fn user(self) -> Option<&'static str> {
        self.process().map(|process| process.user)
    }

    pub fn is_of_trainer(self) -> bool {
        matches!(self, Self::OfTrainer(_))
    }

    pub fn process(self) -> Option<&'static SchedulerProcess> {
        match self {
            Self::OfTrainer(index) => trainer::PROCESSES.get(usize::from(index)),
            _ => self.described().map(|(_, process)| process),
        }
    }

    pub fn scheduler(self) -> Option<Scheduler> {
        self.described().map(|(install, _)| install.scheduler)
    }

    pub fn described(self) -> Option<(&'static Install, &'static SchedulerProcess)> {
        match self {
            Self::OfScheduler(id) => Some((id.install(), id.process())),
            Self::Etcd
            | Self::Apiserver
            | Self::Kwok
            | Self::ControllerManager
            | Self::OfTrainer(_)
            | Self::Controller => None,
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
    fn parts_are_sorted_and_have_different_logs() {
        let all: Vec<_> = Part::all().collect();
        assert!(all.is_sorted(), "{all:?}");
        let programs: BTreeSet<_> = all.iter().map(|part| part.program()).collect();
        assert_eq!(programs.len(), all.len(), "two parts have the same log");
    }

    #[test]
    fn schedulers_come_between_the_api_server_and_the_nodes() {
        let all: Vec<_> = Part::all().map(Part::program).collect();
        let of_schedulers = schedulers::ALL.iter().flat_map(|install| install.processes);
        let of_schedulers: Vec<_> = of_schedulers.map(|process| process.name).collect();
        assert_eq!(all[..2], ["etcd", "kube-apiserver"]);
        let others = [
            "kwok",
            "kube-controller-manager",
            "jobset",
            "trainer-controller-manager",
            "trainer-kai-plugin",
            "grove-backend-controller",
        ];
        assert_eq!(all[2..all.len() - others.len()], of_schedulers);
        assert_eq!(all[all.len() - others.len()..], others);
        assert_eq!(of_schedulers[..3], ["kube-scheduler", "vc-scheduler", "koord-scheduler"]);
    }

    #[test]
    fn a_part_belongs_to_the_scheduler_that_it_was_found_by() {
        for scheduler in schedulers::all() {
            let parts: Vec<_> = Part::of_scheduler(scheduler).collect();
            assert!(parts.iter().all(|part| part.scheduler() == Some(scheduler)), "{parts:?}");
        }
        assert_eq!(Part::KUBE_SCHEDULER.scheduler(), Some(Scheduler::KUBE));
        assert_eq!(Part::KUBE_SCHEDULER.program(), "kube-scheduler");
    }
}
