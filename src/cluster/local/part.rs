//! The processes that a control plane can have, in the order in which they are started.

use conformance_contract::scheduler::Scheduler;

use crate::schedulers::installation;

/// A process of the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// etcd.
    Etcd,
    /// kube-apiserver.
    Apiserver,
    /// kube-scheduler.
    KubeScheduler,
    /// Volcano's vc-scheduler.
    VolcanoScheduler,
    /// Koordinator's koord-scheduler.
    KoordScheduler,
    /// KAI's scheduler.
    KaiScheduler,
    /// KAI's binder, which binds what its scheduler has decided.
    KaiBinder,
    /// KAI's podgrouper, which makes PodGroups for pods that nobody else has grouped.
    KaiPodGrouper,
    /// KWOK, the kubelets.
    Kwok,
    /// kube-controller-manager.
    ControllerManager,
    /// The controller under test.
    Controller,
}

impl Part {
    /// All of them, in the order in which they are started. A cluster has those that its specification asks for:
    /// [`super::ClusterSpec::parts`].
    pub const ALL: [Self; 11] = [
        Self::Etcd,
        Self::Apiserver,
        Self::KubeScheduler,
        Self::VolcanoScheduler,
        Self::KoordScheduler,
        Self::KaiScheduler,
        Self::KaiBinder,
        Self::KaiPodGrouper,
        Self::Kwok,
        Self::ControllerManager,
        Self::Controller,
    ];

    /// The program's name, which is its log's and its kubeconfig's name too.
    pub fn program(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Apiserver => "kube-apiserver",
            Self::KubeScheduler => "kube-scheduler",
            Self::VolcanoScheduler => "vc-scheduler",
            Self::KoordScheduler => "koord-scheduler",
            Self::KaiScheduler => "kai-scheduler",
            Self::KaiBinder => "kai-binder",
            Self::KaiPodGrouper => "kai-podgrouper",
            Self::Kwok => "kwok",
            Self::ControllerManager => "kube-controller-manager",
            Self::Controller => "grove-backend-controller",
        }
    }

    /// Path on the health port of a scheduler's process that answers 200 once it works. kube-scheduler's would need a
    /// port with TLS of its own; it is ready before anybody has made a pod.
    pub fn health(self) -> Option<&'static str> {
        match self {
            Self::VolcanoScheduler | Self::KoordScheduler => Some("/healthz"),
            Self::KaiScheduler | Self::KaiBinder => Some("/metrics"),
            Self::KaiPodGrouper => Some("/readyz"),
            _ => None,
        }
    }

    /// The scheduler that it is a process of.
    pub fn scheduler(self) -> Option<Scheduler> {
        Scheduler::ALL.into_iter().find(|scheduler| installation(*scheduler).parts.contains(&self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_start() {
        assert!(Part::ALL.is_sorted());
    }

    #[test]
    fn every_process_of_a_scheduler_knows_it() {
        let known: Vec<_> = Part::ALL.into_iter().filter_map(Part::scheduler).collect();
        use Scheduler::{Kai, Koordinator, Kube, Volcano};
        assert_eq!(known, [Kube, Volcano, Koordinator, Kai, Kai, Kai]);
    }
}
