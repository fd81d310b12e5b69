//! A conformance case: data that states its requirements, a driver that acts on a cluster, and checks that
//! read the history afterwards.

use conformance_cluster::nodes::PODS;
use conformance_contract::clauses::{self, Clause, is_known};
use conformance_contract::ruling::Finding;
use conformance_contract::target::Target;
use conformance_facts::invariant::Invariant;
use conformance_history::History;
use futures::future::BoxFuture;

use crate::context::{Stop, TestContext};
use crate::recorder::Keep;

/// A conformance case: one file in its group's folder in `cases/`, next to its manifest.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// `group/name`: the file name, with `-` for `_`.
    pub id: &'static str,
    pub title: &'static str,
    pub clauses: &'static [&'static str],
    /// Nodes reserved for this case.
    pub nodes: &'static [Nodes],
    /// PodCliqueSets, one YAML document each.
    pub manifest: &'static str,
    pub isolation: Isolation,
    pub needs: &'static [Need],
    /// Restricts the case to these targets; empty means all. Other cases cover its clauses on other targets.
    pub only: &'static [Target],
    /// Invariants that the case breaks on purpose, each with the reason.
    pub breaks: &'static [(Invariant, &'static str)],
    /// Reduces the recorded versions of objects; `None` records everything.
    pub keep: Option<Keep>,
    pub drive: Drive,
    pub judge: Judge,
}

pub type Drive = for<'a> fn(&'a mut TestContext) -> BoxFuture<'a, Result<(), Stop>>;

/// Decides the case's clauses from the history.
pub type Judge = fn(&History) -> Vec<Finding>;

/// Optional capabilities of the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nodes with real kubelets.
    Kubelets,
    /// KWOK nodes, on which the harness sets container statuses.
    SimulatedNodes,
    /// Nodes whose devices the harness publishes, and no kubelet prepares.
    Devices,
    /// A cluster that the harness created, where it may provide volumes.
    Volumes,
    /// The API server's audit log, which shows who bound which pod.
    AuditLog,
    SeveralSchedulers,
    /// The named process of the target's scheduler, which the scheduler can run without.
    Process(&'static str),
    /// The reference operator, because the case changes its configuration.
    ReferenceController,
    /// A backend that can be disabled: the target's own or, with kube-scheduler, the External profile.
    DisableableBackend,
    /// An older release of the operator to upgrade from.
    Upgrade,
    /// An operator that acts on PodGangs that no PodCliqueSet controls.
    PodGangsByHand,
    GangResources,
    /// The trainer's KAI plugin, run as a separate program.
    TrainerPlugin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Any: the case uses only its own namespace and nodes.
    Shared,
    /// None: the case stops, restarts or reconfigures a component of the control plane. These cases run one
    /// at a time on a cluster of their own, and only where the harness creates local control planes.
    Dedicated,
    /// None: the case runs alone on the shared cluster, without load from other cases.
    Exclusive,
    /// None: the case gets its own control plane, which starts with the old operator and ends with the case.
    /// These cases run one at a time.
    Upgrade,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nodes {
    pub count: u32,
    pub gpus: u32,
    /// Pod capacity per node.
    pub pods: u32,
    /// Block label, unique to the test. Racks without a block share one.
    pub block: Option<&'static str>,
    pub rack: Option<&'static str>,
    /// Step at which the nodes join ([`TestContext::nodes_join`]); 0 if they exist from the start.
    pub joining: u32,
    /// Whether an extended resource may replace `pods`, as on real kubelets, whose pod limit is fixed.
    pub stand_in: bool,
}

/// `count` nodes, each with [`PODS`] pods and no GPUs.
pub const fn nodes(count: u32) -> Nodes {
    Nodes { count, gpus: 0, pods: PODS, block: None, rack: None, joining: 0, stand_in: true }
}

impl Nodes {
    #[must_use]
    pub const fn gpus(self, gpus: u32) -> Self {
        Self { gpus, ..self }
    }

    #[must_use]
    pub const fn pods(self, pods: u32) -> Self {
        Self { pods, ..self }
    }

    /// Does not replace `pods` by an extended resource, for a case whose pods request nothing.
    #[must_use]
    pub const fn without_stand_in(self) -> Self {
        Self { stand_in: false, ..self }
    }

    /// Sets the rack. `""` is a label without a value, which is not a domain.
    #[must_use]
    pub const fn rack(self, rack: &'static str) -> Self {
        Self { rack: Some(rack), ..self }
    }

    #[must_use]
    pub const fn block(self, block: &'static str) -> Self {
        Self { block: Some(block), ..self }
    }

    #[must_use]
    pub const fn joining(self, step: u32) -> Self {
        Self { joining: step, ..self }
    }
}

impl Case {
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

    /// Sets the id and the manifest, which the registry derives from the file names.
    #[must_use]
    pub const fn registered(self, id: &'static str, manifest: &'static str) -> Self {
        Self { id, manifest, ..self }
    }

    /// Sets the clauses that the case decides. An unknown id in a constant does not compile.
    #[must_use]
    pub const fn clauses(self, clauses: &'static [&'static str]) -> Self {
        let mut index = 0;
        while index < clauses.len() {
            assert!(is_known(clauses[index]), "the contract has no clause with this id");
            index += 1;
        }
        Self { clauses, ..self }
    }

    #[must_use]
    pub const fn nodes(self, nodes: &'static [Nodes]) -> Self {
        Self { nodes, ..self }
    }

    #[must_use]
    pub const fn isolation(self, isolation: Isolation) -> Self {
        Self { isolation, ..self }
    }

    #[must_use]
    pub const fn needs(self, needs: &'static [Need]) -> Self {
        Self { needs, ..self }
    }

    #[must_use]
    pub const fn only(self, only: &'static [Target]) -> Self {
        Self { only, ..self }
    }

    #[must_use]
    pub const fn breaks(self, breaks: &'static [(Invariant, &'static str)]) -> Self {
        Self { breaks, ..self }
    }

    #[must_use]
    pub const fn keeping(self, keep: Keep) -> Self {
        Self { keep: Some(keep), ..self }
    }

    /// The part of the id before the `/`.
    pub fn group(&self) -> &'static str {
        self.id.split('/').next().unwrap_or(self.id)
    }

    /// Whether `word` is the case's id or its group.
    pub fn is_called(&self, word: &str) -> bool {
        self.id == word || self.group() == word
    }

    /// Whether a clause of the case applies to the target's backend, regardless of the declared features.
    pub fn is_for(&self, target: Target) -> bool {
        let is_meant = self.only.is_empty() || self.only.iter().any(|only| target.is_like(*only));
        is_meant && self.known_clauses().any(|clause| target.concerns(clause))
    }

    /// The clauses that the target must satisfy.
    pub fn clauses_on(&self, target: Target) -> Vec<&'static str> {
        self.known_clauses().filter(|clause| target.owes(clause)).map(|clause| clause.id).collect()
    }

    fn known_clauses(&self) -> impl Iterator<Item = &'static Clause> {
        self.clauses.iter().filter_map(|id| clauses::clause(id))
    }
}
