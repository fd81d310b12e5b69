//! What a conformance case is: data that states what it needs, a driver that acts on a cluster, and a judge that
//! reads the history afterwards.

use conformance_cluster::nodes::PODS;
use conformance_contract::clauses::{self, Clause};
use conformance_contract::ruling::Finding;
use conformance_contract::target::Target;
use conformance_history::History;
use conformance_judge::invariants::Invariant;
use futures::future::BoxFuture;

use crate::context::{Stop, TestContext};
use crate::recorder::Keep;

/// A conformance case: a file of a group's folder in `cases/`, with its manifest beside it.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// `group/name`; the name is its file's, with `-` for `_`.
    pub id: &'static str,
    /// One line: what the case shows.
    pub title: &'static str,
    /// The clauses that its judge speaks about.
    pub clauses: &'static [&'static str],
    /// The nodes it is given, and nobody else.
    pub nodes: &'static [Nodes],
    /// The PodCliqueSets of its manifest, one YAML document each.
    pub manifest: &'static str,
    /// Whether it shares its cluster.
    pub isolation: Isolation,
    /// What the clusters of a run must have for it.
    pub needs: &'static [Need],
    /// The targets that it is about; all if there are none. Others keep its clauses by another case.
    pub only: &'static [Target],
    /// The invariants that it breaks on purpose, each with the reason.
    pub breaks: &'static [(Invariant, &'static str)],
    /// What its history records of each version; everything if it says nothing.
    pub keep: Option<Keep>,
    /// Acts.
    pub drive: Drive,
    /// Judges.
    pub judge: Judge,
}

/// What a case does to a cluster.
pub type Drive = for<'a> fn(&'a mut TestContext) -> BoxFuture<'a, Result<(), Stop>>;

/// What it makes of the history.
pub type Judge = fn(&History) -> Vec<Finding>;

/// What not every run's clusters have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nodes with real kubelets.
    Kubelets,
    /// Nodes without: what becomes of containers, or that they never start, is the harness's to say.
    SimulatedNodes,
    /// Nodes whose devices are the harness's to publish, and no kubelet's to prepare.
    Devices,
    /// A cluster of the harness's own, where it may provide volumes.
    Volumes,
    /// The API server's account of who has bound what.
    AuditLog,
    /// More than one scheduler.
    SeveralSchedulers,
    /// The process of that name of the target's scheduler, one that the scheduler does without.
    Process(&'static str),
    /// The reference controller: its configuration is changed.
    ReferenceController,
    /// A backend that can be disabled: the target's own, or beside kube-scheduler the harness's External profile.
    DisableableBackend,
    /// An operator to upgrade from.
    Upgrade,
    /// An operator that acts on PodGangs which no PodCliqueSet controls.
    PodGangsByHand,
    /// An operator that makes gang resources for the target.
    GangResources,
    /// The trainer's KAI plugin as a program of its own, beside the trainer.
    TrainerPlugin,
}

/// Who may be on the cluster at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Everybody: the case keeps to its own namespace and nodes.
    Shared,
    /// Nobody: the case stops, restarts or reconfigures a part of the control plane. It runs on a cluster for such
    /// cases, one at a time, and only where the harness makes clusters of local processes.
    Dedicated,
    /// Nobody: the case runs exclusively on the shared cluster, without the load of others.
    Exclusive,
    /// Nobody: a control plane is made for the case, on which the operator that is replaced runs at first, and ends with
    /// it; one at a time.
    Upgrade,
}

/// Some equal nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nodes {
    /// How many.
    pub count: u32,
    /// GPUs of each.
    pub gpus: u32,
    /// Pods each may hold.
    pub pods: u32,
    /// Their block, unique to the test; racks that say none are all in one.
    pub block: Option<&'static str>,
    /// Their rack, unique to the test.
    pub rack: Option<&'static str>,
    /// 0 if they are there from the beginning; others join when the driver says so ([`TestContext::nodes_join`]).
    pub joining: u32,
    /// Whether an extended resource may replace `pods`, as it must on real kubelets, whose own limit cannot be set.
    pub stand_in: bool,
}

/// `count` nodes with [`PODS`] pods and no GPU each.
pub const fn nodes(count: u32) -> Nodes {
    Nodes { count, gpus: 0, pods: PODS, block: None, rack: None, joining: 0, stand_in: true }
}

impl Nodes {
    /// With that many GPUs each.
    #[must_use]
    pub const fn gpus(self, gpus: u32) -> Self {
        Self { gpus, ..self }
    }

    /// With room for that many pods each.
    #[must_use]
    pub const fn pods(self, pods: u32) -> Self {
        Self { pods, ..self }
    }

    /// Without an extended resource in place of `pods`: for a case whose pods request nothing.
    #[must_use]
    pub const fn without_stand_in(self) -> Self {
        Self { stand_in: false, ..self }
    }

    /// In this rack; `""` is a label without a value, which is no domain.
    #[must_use]
    pub const fn rack(self, rack: &'static str) -> Self {
        Self { rack: Some(rack), ..self }
    }

    /// In this block.
    #[must_use]
    pub const fn block(self, block: &'static str) -> Self {
        Self { block: Some(block), ..self }
    }

    /// Joining as the driver's `step`, not there from the beginning.
    #[must_use]
    pub const fn joining(self, step: u32) -> Self {
        Self { joining: step, ..self }
    }
}

impl Case {
    /// A case without clauses and without nodes, on a shared cluster.
    pub const fn new(title: &'static str, drive: Drive, judge: Judge) -> Self {
        Self {
            id: "",
            title,
            clauses: &[],
            nodes: &[],
            manifest: "",
            isolation: Isolation::Shared,
            needs: &[],
            only: &[],
            breaks: &[],
            keep: None,
            drive,
            judge,
        }
    }

    /// Under this id, with the text of this manifest: what the registry knows by the names of its files.
    #[must_use]
    pub const fn registered(self, id: &'static str, manifest: &'static str) -> Self {
        Self { id, manifest, ..self }
    }

    /// Judging these clauses.
    #[must_use]
    pub const fn clauses(self, clauses: &'static [&'static str]) -> Self {
        Self { clauses, ..self }
    }

    /// On these nodes.
    #[must_use]
    pub const fn nodes(self, nodes: &'static [Nodes]) -> Self {
        Self { nodes, ..self }
    }

    /// With less company, or none.
    #[must_use]
    pub const fn isolation(self, isolation: Isolation) -> Self {
        Self { isolation, ..self }
    }

    /// Where the clusters have this.
    #[must_use]
    pub const fn needs(self, needs: &'static [Need]) -> Self {
        Self { needs, ..self }
    }

    /// About these targets only.
    #[must_use]
    pub const fn only(self, only: &'static [Target]) -> Self {
        Self { only, ..self }
    }

    /// Breaking these invariants on purpose, each for this reason.
    #[must_use]
    pub const fn breaks(self, breaks: &'static [(Invariant, &'static str)]) -> Self {
        Self { breaks, ..self }
    }

    /// With a history that records no more of each version than this leaves.
    #[must_use]
    pub const fn keeping(self, keep: Keep) -> Self {
        Self { keep: Some(keep), ..self }
    }

    /// The group: the part of the id before the `/`.
    pub fn group(&self) -> &'static str {
        self.id.split('/').next().unwrap_or(self.id)
    }

    /// Whether a word means it: its id, or its group.
    pub fn is_called(&self, word: &str) -> bool {
        self.id == word || self.group() == word
    }

    /// Whether it says anything about a target: some clause is its backend's to keep, if it declares the feature.
    pub fn is_for(&self, target: Target) -> bool {
        let is_meant = self.only.is_empty() || self.only.iter().any(|only| target.is_like(*only));
        is_meant && self.known_clauses().any(|clause| target.concerns(clause))
    }

    /// The clauses that it judges on a target.
    pub fn clauses_on(&self, target: Target) -> Vec<&'static str> {
        self.known_clauses().filter(|clause| target.owes(clause)).map(|clause| clause.id).collect()
    }

    fn known_clauses(&self) -> impl Iterator<Item = &'static Clause> {
        self.clauses.iter().filter_map(|id| clauses::clause(id))
    }
}
