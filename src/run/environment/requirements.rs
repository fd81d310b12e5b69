//! What the clusters of a run lack for a case, in words for the report.

use std::sync::Arc;

use conformance_cluster::ClusterError;
use conformance_cluster::local::{EXTERNAL_SCHEDULER, Part};
use conformance_cluster::operator::Operator;
use conformance_contract::clauses::{self, Feature};
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::Target;
use conformance_driver::case::{Case, Isolation, Need};
use conformance_driver::test_cluster::TestCluster;

use super::{Environment, Origin, Settings};

/// Core clauses whose cases ask for a topology constraint to be admitted, which is for operators that honour it.
const OF_TOPOLOGY: [&str; 1] = ["ADM-07"];

impl Environment {
    /// Whether KAI itself is in the clusters of this run, from a folder or by its chart.
    fn has_kai(&self) -> bool {
        match &self.settings.origin {
            Origin::Kind(kind) => kind.release(Scheduler::Kai).is_some(),
            Origin::Local | Origin::Up(_) | Origin::Existing { .. } => self.settings.spec.kai.is_some(),
        }
    }

    /// Whether the operator has the External profile that the harness gives to the reference controller.
    fn has_external_profile(&self) -> bool {
        let has = |operator: &Arc<Operator>| operator.description.backends.contains_key(EXTERNAL_SCHEDULER);
        self.settings.spec.operator.as_ref().is_none_or(has)
    }

    /// Why a clause is not asked: the operator declares its features, and the clause's is not among them.
    pub(crate) fn undeclared(&self, clause: &str, target: Target) -> Option<String> {
        let of_topology = OF_TOPOLOGY.contains(&clause).then_some(Feature::TopologyRequired);
        let feature = clauses::clause(clause)?.feature().or(of_topology)?;
        self.settings.spec.operator.as_ref()?.undeclared(target.backend(), feature)
    }

    /// Why nothing can be said about a target's scheduler: it is not in the clusters of this run. What the API server
    /// alone shows is judged all the same.
    pub(super) fn absent(&self, target: Target) -> Option<&'static str> {
        let missing = target.scheduler() == Scheduler::Kai && !self.has_kai();
        missing.then_some(
            "KAI binaries not found (--kai-dir): a stand-in binds the pods, one by one, and only what the API server \
             shows is judged",
        )
    }

    /// Why a case cannot be run on a target in the clusters of this run.
    pub(super) fn lacks(&self, case: &Case, target: Target) -> Option<&'static str> {
        let origin = &self.settings.origin;
        if case.isolation == Isolation::Dedicated && !matches!(origin, Origin::Local | Origin::Up(_)) {
            return Some(
                "it stops or reconfigures a part of the control plane: run it with --provider local",
            );
        }
        // Not even its API.
        if target.scheduler() == Scheduler::Kai && matches!(origin, Origin::Kind(_)) && !self.has_kai() {
            return Some("KAI comes into a kind cluster by its chart only: run it with --install helm");
        }
        case.needs.iter().find_map(|need| self.lacks_need(*need, target))
    }

    /// Why the clusters of this run do not have what a case needs.
    fn lacks_need(&self, need: Need, target: Target) -> Option<&'static str> {
        let Settings { origin, spec, .. } = &self.settings;
        let (has, otherwise) = match need {
            Need::Kubelets => (
                matches!(origin, Origin::Kind(_)),
                "the nodes have no kubelets, they are simulated: run it with --provider kind",
            ),
            Need::AuditLog => (
                matches!(origin, Origin::Local),
                "who has bound a pod is read from the audit log of a cluster of the harness's own",
            ),
            Need::SeveralSchedulers => (spec.schedulers.len() > 1, "one scheduler only; run --backend all"),
            // Without KAI itself its clauses are announced as not run, whatever is in the folder.
            Need::PodGrouper => (
                spec.kai.is_none() || spec.parts_of(Scheduler::Kai).any(|part| part == Part::KaiPodGrouper),
                "KAI's podgrouper is not in the folder of --kai-dir",
            ),
            Need::ReferenceController => (
                spec.operator.is_none(),
                "it configures the reference controller, or uses a fault that only that one has",
            ),
            Need::DisableableBackend => (
                target.scheduler() != Scheduler::Kube || self.has_external_profile(),
                "default-scheduler cannot be disabled, and this operator has no profile of type External beside it",
            ),
        };
        (!has).then_some(otherwise)
    }
}

/// Why a cluster's nodes do not do for a case: there are too few, or it is about a kubelet's own `pods`.
pub(super) fn too_small(test_cluster: &TestCluster, case: &Case) -> Option<String> {
    let pools = test_cluster.cluster.node_pools();
    let (there, wanted) = (pools.size()?, case.nodes.iter().map(|nodes| nodes.count as usize).sum::<usize>());
    if case.nodes.iter().any(|nodes| !nodes.stand_in) {
        return Some("its pods ask for nothing, and a kubelet's own `pods` cannot be made scarce".into());
    }
    (wanted > there).then(|| format!("it needs {wanted} nodes, the cluster has {there}"))
}

/// Why a target's scheduler is not there.
pub(super) fn scheduler_failed(test_cluster: &TestCluster, target: Target) -> Option<ClusterError> {
    let reason = test_cluster.cluster.scheduler_failed(target.scheduler())?;
    Some(ClusterError::Name(format!("backend {} is not run: {reason}", target.backend())))
}
