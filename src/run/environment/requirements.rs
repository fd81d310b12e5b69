//! Why the clusters of a run cannot run a case, worded for the report.

use std::sync::Arc;

use conformance_cluster::ClusterError;
use conformance_cluster::local::EXTERNAL_SCHEDULER;
use conformance_cluster::operator::Operator;
use conformance_cluster::schedulers::installation;
use conformance_contract::clauses::{Clause, Feature, clause};
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::Target;
use conformance_driver::case::{Case, Isolation, Need};
use conformance_driver::test_cluster::TestCluster;

use super::{Environment, Origin, Settings};

impl Environment {
    fn missing(&self, scheduler: Scheduler) -> Option<&'static str> {
        let install = installation(scheduler);
        match &self.settings.origin {
            Origin::Kind(kind) if kind.release(scheduler).is_some() => None,
            Origin::Kind(_) => install.missing_in_kind(&self.settings.spec),
            Origin::Local | Origin::Up(_) | Origin::Existing { .. } => install.missing(&self.settings.spec),
        }
    }

    /// Whether the operator has the External profile that the harness configures for the reference
    /// controller.
    fn has_external_profile(&self) -> bool {
        let has = |operator: &Arc<Operator>| operator.description.backends.contains_key(EXTERNAL_SCHEDULER);
        self.settings.spec.operator.as_ref().is_none_or(has)
    }

    /// Why a target's scheduler cannot be tested: the clusters of this run do not have it. Clauses that the
    /// API server alone decides are still tested.
    pub(super) fn absent(&self, target: Target) -> Option<&'static str> {
        self.missing(target.scheduler())
    }

    pub(super) fn lacks(&self, case: &Case, target: Target) -> Option<&'static str> {
        let origin = &self.settings.origin;
        let reconfigures = matches!(case.isolation, Isolation::Dedicated | Isolation::Upgrade);
        if reconfigures && !matches!(origin, Origin::Local | Origin::Up(_)) {
            return Some(
                "it stops or reconfigures a component of the control plane: run it with --provider local",
            );
        }
        // Without the scheduler, its API is missing too.
        if matches!(origin, Origin::Kind(_))
            && let Some(missing) = self.missing(target.scheduler())
        {
            return Some(missing);
        }
        if self.settings.later_life_on.is_some_and(|on| is_anothers_turn(case, target, on)) {
            return Some(
                "the lifecycle is judged on one gang scope: --every-scope judges it on each, --seed draws another",
            );
        }
        case.needs.iter().find_map(|need| self.lacks_need(*need, target))
    }

    fn lacks_need(&self, need: Need, target: Target) -> Option<&'static str> {
        let Settings { origin, spec, .. } = &self.settings;
        let (has, otherwise) = match need {
            Need::Kubelets => (
                matches!(origin, Origin::Kind(_)),
                "the nodes have no kubelets, they are simulated: run it with --provider kind",
            ),
            Need::SimulatedNodes => (
                match origin {
                    Origin::Local | Origin::Up(_) => true,
                    Origin::Kind(_) => false,
                    Origin::Existing { connection, .. } => connection.lent.is_none(),
                },
                "it says in a kubelet's place what becomes of containers, and these nodes have kubelets of their own: run \
                 it with --provider local",
            ),
            Need::Devices if !target.declares(Feature::Claims) => (false, "its pods share ResourceClaims"),
            Need::Devices => (
                matches!(origin, Origin::Local | Origin::Up(_)),
                "the devices that its pods share are the harness's, and no kubelet has a driver for them: run it with \
                 --provider local",
            ),
            Need::Volumes => (
                matches!(origin, Origin::Local | Origin::Up(_) | Origin::Kind(_)),
                "it makes a storage class and volumes, which it does on clusters of its own only",
            ),
            Need::AuditLog => (
                matches!(origin, Origin::Local),
                "who bound a pod is read from the audit log of a cluster that the run starts itself",
            ),
            Need::SeveralSchedulers => (spec.schedulers.len() > 1, "one scheduler only; run --backend all"),
            Need::Process(name) => return installation(target.scheduler()).lacks_process(name, spec),
            Need::ReferenceController => (spec.operator.is_none(), "it configures the reference controller"),
            Need::DisableableBackend => (
                target.scheduler() != Scheduler::KUBE || self.has_external_profile(),
                "default-scheduler cannot be disabled, and this operator has no profile of type External beside it",
            ),
            Need::Upgrade => (spec.upgrade.is_some(), "no --upgrade-from"),
            Need::GangResources => (
                !target.lacks_by_declaration(Feature::GangScheduling),
                "it reads from gang resources which backend serves a PodGang, and the operator declares no gang scheduling here",
            ),
            Need::PodGangsByHand => (
                target.acts_on_any_pod_gang(),
                "it makes PodGangs by hand, and this operator declares that it acts on those of PodCliqueSets only",
            ),
            Need::TrainerPlugin => (
                spec.trainer.as_ref().is_some_and(|trainer| trainer.plugin),
                "the trainer has the KAI plugin inside, and no program of its own for it",
            ),
        };
        (!has).then_some(otherwise)
    }
}

/// If the targets include several gang scopes of one scheduler: the scope that runs lifecycle cases, chosen
/// by the seed.
pub fn scope_of_later_life(targets: &[Target], seed: u64) -> Option<Target> {
    let scopes: Vec<_> = targets.iter().filter(|target| target.scope().is_some()).collect();
    let scope = usize::try_from(seed % scopes.len().max(1) as u64).unwrap_or_default();
    (scopes.len() > 1).then(|| *scopes[scope])
}

/// Whether a pure lifecycle case runs in another gang scope of the target's scheduler.
pub fn is_anothers_turn(case: &Case, target: Target, on: Target) -> bool {
    let mut clauses = case.clauses.iter().filter_map(|id| clause(id));
    target.scheduler() == on.scheduler() && target != on && clauses.all(Clause::is_of_later_life)
}

/// Why a case cannot run on a cluster's nodes: there are too few, or it needs a limit on a kubelet's own
/// `pods`.
pub(super) fn too_small(test_cluster: &TestCluster, case: &Case) -> Option<String> {
    let pools = test_cluster.cluster.node_pools();
    let (there, wanted) = (pools.size()?, case.nodes.iter().map(|nodes| nodes.count as usize).sum::<usize>());
    if case.nodes.iter().any(|nodes| !nodes.stand_in) {
        return Some("its pods request nothing, and a kubelet's own `pods` cannot be limited".into());
    }
    let gpus = case.nodes.iter().map(|nodes| nodes.gpus).max().unwrap_or_default();
    if let Some(has) = pools.gpus().filter(|has| *has < gpus) {
        return Some(format!(
            "it needs {wanted} nodes, the largest with {gpus} GPUs; the nodes that are lent have {has} GPUs each"
        ));
    }
    (wanted > there).then(|| format!("it needs {wanted} nodes, the cluster has {there}"))
}

pub(super) fn scheduler_failed(test_cluster: &TestCluster, target: Target) -> Option<ClusterError> {
    let source = test_cluster.cluster.scheduler_failed(target.scheduler())?;
    Some(ClusterError::NoScheduler { backend: target.backend().into(), source })
}
