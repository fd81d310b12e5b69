//! A case is data that states its requirements, a driver, and checks that read the history afterwards.

use conformance_cluster::nodes::{NodeTemplate, PODS};
use conformance_contract::clauses::{self, Clause, Feature, is_known};
use conformance_contract::property::Property;
use conformance_contract::requirements::Requirements;
use conformance_contract::ruling::Finding;
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::Target;
use conformance_facts::invariant::Invariant;
use conformance_history::History;
use futures::future::BoxFuture;

use crate::context::{Stop, TestContext};
use crate::enrichment::Enrichment;
use crate::recorder::Keep;

/// Creates a [`Case`] from `drive` and `check` of the current module. The optional second argument, such as
/// [`restored`](crate::control_plane::restored), runs `drive` and then repairs what it broke.
#[macro_export]
macro_rules! case {
    ($title:literal) => {
        $crate::case::Case::new($title, |test| Box::pin(drive(test)), check)
    };
    ($title:literal, $repaired:ident) => {
        $crate::case::Case::new($title, |test| Box::pin($repaired(test, |test| Box::pin(drive(test)))), check)
    };
}

#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// `GROUP/NAME`, from the names of the folder and the file, with `-` for `_`.
    pub id: &'static str,
    pub title: &'static str,
    pub clauses: &'static [&'static str],
    pub nodes: &'static [Nodes],
    pub manifest: &'static str,
    pub isolation: Isolation,
    pub needs: &'static [Need],
    /// Which targets the case runs on. On the other targets, other cases cover its clauses.
    pub requires: Requirements,
    /// Invariants that the case violates on purpose, each with the reason.
    pub breaks: &'static [(Invariant, &'static str)],
    /// Enrichments that the harness does not apply to the manifest, each with the reason.
    pub left_out: &'static [(Enrichment, &'static str)],
    /// Reduces or skips versions of objects before they are recorded. `None` records all versions unchanged.
    pub keep: Option<Keep>,
    pub drive: Drive,
    pub check: Check,
}

pub type Drive = for<'a> fn(&'a mut TestContext) -> BoxFuture<'a, Result<(), Stop>>;

pub type Check = fn(&History) -> Vec<Finding>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Kubelets,
    /// Nodes that KWOK simulates, so that the harness can set container statuses.
    SimulatedNodes,
    /// Simulated nodes, so that the harness can publish devices in ResourceSlices. No kubelet prepares them.
    Devices,
    /// A cluster that the harness created, because only there may the harness create volumes.
    Volumes,
    /// The audit log of the API server, which shows the client that bound each pod.
    AuditLog,
    SeveralSchedulers,
    /// A process of the target's scheduler that is absent in some installations.
    Process(&'static str),
    /// The reference operator, because the case changes the configuration of the operator.
    ReferenceController,
    /// A backend that the case can disable: the target's own or, for kube-scheduler, External.
    DisableableBackend,
    Upgrade,
    PodGangsByHand,
    GangResources,
    TrainerPlugin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Any other case, because the case uses only its own namespace and nodes.
    Shared,
    /// No other case, because the case changes a component: one at a time on a local control plane.
    Dedicated,
    /// No other case: the case runs alone on the shared cluster, without load from other cases.
    Exclusive,
    /// No other case. Each such case has its own control plane, one after the other.
    Upgrade,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nodes {
    pub count: u32,
    pub gpus: u32,
    pub pods: u32,
    /// Racks without a block share a default block.
    pub block: Option<&'static str>,
    pub rack: Option<&'static str>,
    /// Step at which the nodes join ([`TestContext::add_nodes`]); 0 if they exist from the start.
    pub joining: u32,
    /// Whether an extended resource may replace `pods` as the limit: on real nodes the kubelet fixes `pods`.
    pub stand_in: bool,
    pub template: Option<&'static NodeTemplate>,
}

pub const fn nodes(count: u32) -> Nodes {
    Nodes { count, gpus: 0, pods: PODS, block: None, rack: None, joining: 0, stand_in: true, template: None }
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

    /// For pods that request no resources: no extended resource may replace `pods` as the limit.
    #[must_use]
    pub const fn without_stand_in(self) -> Self {
        Self { stand_in: false, ..self }
    }

    /// Sets the rack label. An empty value sets the label without a value, which is not a topology domain.
    #[must_use]
    pub const fn rack(self, rack: &'static str) -> Self {
        Self { rack: Some(rack), ..self }
    }

    #[must_use]
    pub const fn block(self, block: &'static str) -> Self {
        Self { block: Some(block), ..self }
    }

    #[must_use]
    pub const fn like(self, template: &'static NodeTemplate) -> Self {
        Self { template: Some(template), pods: template.pods, ..self }
    }

    #[must_use]
    pub const fn joining(self, step: u32) -> Self {
        Self { joining: step, ..self }
    }
}

impl Case {
    pub const fn new(title: &'static str, drive: Drive, check: Check) -> Self {
        Self {
            id: "",
            title,
            clauses: &[],
            nodes: &[],
            manifest: "",
            isolation: Isolation::Shared,
            needs: &[],
            requires: Requirements::NONE,
            breaks: &[],
            left_out: &[],
            keep: None,
            drive,
            check,
        }
    }

    #[must_use]
    pub const fn registered(self, id: &'static str, manifest: &'static str) -> Self {
        Self { id, manifest, ..self }
    }

    /// Sets the clauses. In a constant, an unknown id is a compile error.
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
    pub const fn on(self, scheduler: Scheduler) -> Self {
        Self { requires: Requirements { scheduler: Some(scheduler), ..self.requires }, ..self }
    }

    /// Excludes a scheduler on which another case covers the clauses.
    #[must_use]
    pub const fn except(self, scheduler: Scheduler) -> Self {
        Self { requires: Requirements { except: Some(scheduler), ..self.requires }, ..self }
    }

    /// Requires this gang scope of kube-scheduler, for a case about this scope.
    #[must_use]
    pub const fn in_scope(self, scope: &'static str) -> Self {
        Self { requires: Requirements { scope: Some(scope), ..self.requires }, ..self }
    }

    #[must_use]
    pub const fn with_feature(self, feature: Feature) -> Self {
        Self { requires: Requirements { feature: Some(feature), ..self.requires }, ..self }
    }

    #[must_use]
    pub const fn with(self, properties: &'static [Property]) -> Self {
        Self { requires: Requirements { properties, ..self.requires }, ..self }
    }

    #[must_use]
    pub const fn breaks(self, breaks: &'static [(Invariant, &'static str)]) -> Self {
        Self { breaks, ..self }
    }

    #[must_use]
    pub const fn leaving_out(self, left_out: &'static [(Enrichment, &'static str)]) -> Self {
        Self { left_out, ..self }
    }

    #[must_use]
    pub const fn keeping(self, keep: Keep) -> Self {
        Self { keep: Some(keep), ..self }
    }

    pub fn group(&self) -> &'static str {
        self.id.split('/').next().unwrap_or(self.id)
    }

    pub fn is_called(&self, word: &str) -> bool {
        self.id == word || self.group() == word
    }

    /// Whether the case runs on the target, regardless of the features that the operator under test declares.
    pub fn is_for(&self, target: Target) -> bool {
        self.requires.why_unmet(target).is_none()
            && self.known_clauses().any(|clause| target.is_subject_to(clause))
    }

    pub fn clauses_on(&self, target: Target) -> Vec<&'static str> {
        self.known_clauses().filter(|clause| target.owes(clause)).map(|clause| clause.id).collect()
    }

    fn known_clauses(&self) -> impl Iterator<Item = &'static Clause> {
        self.clauses.iter().filter_map(|id| clauses::clause(id))
    }
}
