//! The reasons why a run's clusters cannot run a case, as the report shows them.

use std::sync::Arc;

use conformance_cluster::ClusterError;
use conformance_contract::clauses::{Clause, Feature, clause};
use conformance_contract::scheduler::{EXTERNAL_SCHEDULER, Scheduler};
use conformance_contract::target::Target;
use conformance_driver::case::{Case, Isolation, Need};
use conformance_driver::test_cluster::TestCluster;
use conformance_install::operator::Operator;
use conformance_install::schedulers::installation;

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

    fn has_external_profile(&self) -> bool {
        let has = |operator: &Arc<Operator>| operator.description.backends.contains_key(EXTERNAL_SCHEDULER);
        self.settings.spec.operator.as_ref().is_none_or(has)
    }

    /// Returns why the target's scheduler is missing. Clauses that need no scheduler are still tested.
    pub(super) fn missing_scheduler(&self, target: Target) -> Option<&'static str> {
        self.missing(target.scheduler())
    }

    pub(super) fn lacks(&self, case: &Case, target: Target) -> Option<&'static str> {
        let origin = &self.settings.origin;
        let reconfigures = matches!(case.isolation, Isolation::Dedicated | Isolation::Upgrade);
        if reconfigures && !matches!(origin, Origin::Local | Origin::Up(_)) {
            return Some("the case stops or reconfigures a control plane component: pass --provider local");
        }
        // On kind, the scheduler's API is missing together with the scheduler, so no clause can be tested.
        if matches!(origin, Origin::Kind(_))
            && let Some(missing) = self.missing(target.scheduler())
        {
            return Some(missing);
        }
        if self.settings.lifecycle_scope.is_some_and(|on| runs_in_other_scope(case, target, on)) {
            return Some(
                "lifecycle cases run in one gang scope per run: pass --depth full, or --seed to choose another",
            );
        }
        case.needs.iter().find_map(|need| self.lacks_need(*need, target))
    }

    fn lacks_need(&self, need: Need, target: Target) -> Option<&'static str> {
        let Settings { origin, spec, .. } = &self.settings;
        let (has, otherwise) = match need {
            Need::Kubelets => (
                matches!(origin, Origin::Kind(_)),
                "the case needs kubelets, and the nodes are simulated: pass --provider kind",
            ),
            Need::SimulatedNodes => (
                match origin {
                    Origin::Local | Origin::Up(_) => true,
                    Origin::Kind(_) => false,
                    Origin::Existing { connection, .. } => connection.leased_nodes.is_none(),
                },
                "the case sets the status of containers, which needs simulated nodes: pass --provider local",
            ),
            Need::Devices if !target.declares(Feature::Claims) => {
                (false, "the case's pods share ResourceClaims, which the target does not declare")
            }
            Need::Devices => (
                matches!(origin, Origin::Local | Origin::Up(_)),
                "the case's pods share simulated devices, for which kubelets have no driver: pass --provider local",
            ),
            Need::Volumes => (
                matches!(origin, Origin::Local | Origin::Up(_) | Origin::Kind(_)),
                "the case creates a StorageClass and volumes: pass --provider local or kind",
            ),
            Need::AuditLog => (
                matches!(origin, Origin::Local),
                "the case reads the audit log of a cluster that the run starts: pass --provider local without --cluster",
            ),
            Need::SeveralSchedulers => {
                (spec.schedulers.len() > 1, "the case needs several schedulers: pass --backend all")
            }
            Need::Process(name) => return installation(target.scheduler()).lacks_process(name, spec),
            Need::ReferenceController => {
                (spec.operator.is_none(), "the case reconfigures the reference controller: omit --operator")
            }
            Need::DisableableBackend => (
                target.scheduler() != Scheduler::KUBE || self.has_external_profile(),
                "default-scheduler cannot be disabled, and the operator has no profile of type External",
            ),
            Need::Upgrade => {
                (spec.upgrade.is_some(), "the case upgrades an operator or Kubernetes: pass --upgrade-from")
            }
            Need::GangResources => (
                !target.lacks_by_declaration(Feature::GangScheduling),
                "the case identifies a PodGang's backend by its gang resources, and the operator declares no gang scheduling",
            ),
            Need::PodGangsByHand => (
                target.acts_on_any_pod_gang(),
                "the case creates PodGangs itself, and the operator declares that it only handles those of PodCliqueSets",
            ),
            Need::TrainerPlugin => (
                spec.trainer.as_ref().is_some_and(|trainer| trainer.plugin),
                "the case needs the KAI plugin as a separate process, and the trainer has it built in",
            ),
        };
        (!has).then_some(otherwise)
    }
}

/// Chooses by seed the gang scope of lifecycle cases, or `None` without two gang scopes.
pub fn choose_lifecycle_scope(targets: &[Target], seed: u64) -> Option<Target> {
    let scopes: Vec<_> = targets.iter().filter(|target| target.scope().is_some()).collect();
    let scope = usize::try_from(seed % scopes.len().max(1) as u64).unwrap_or_default();
    (scopes.len() > 1).then(|| *scopes[scope])
}

pub fn runs_in_other_scope(case: &Case, target: Target, scope: Target) -> bool {
    let mut clauses = case.clauses.iter().filter_map(|id| clause(id));
    target.scheduler() == scope.scheduler() && target != scope && clauses.all(Clause::is_lifecycle)
}

pub(super) fn too_small(test_cluster: &TestCluster, case: &Case) -> Option<String> {
    let pools = test_cluster.cluster.node_pools();
    let (existing, wanted) =
        (pools.size()?, case.nodes.iter().map(|nodes| nodes.count as usize).sum::<usize>());
    if case.nodes.iter().any(|nodes| !nodes.stand_in) {
        return Some("the case limits the pods per node, and a kubelet's `pods` capacity is fixed".into());
    }
    let gpus = case.nodes.iter().map(|nodes| nodes.gpus).max().unwrap_or_default();
    if let Some(has) = pools.gpus().filter(|has| *has < gpus) {
        return Some(format!("GPUs per node: the case needs {gpus}, the leased nodes have {has}"));
    }
    (wanted > existing).then(|| format!("the case needs {wanted} nodes, the cluster has {existing}"))
}

pub(super) fn scheduler_failed(test_cluster: &TestCluster, target: Target) -> Option<ClusterError> {
    let source = test_cluster.cluster.scheduler_failed(target.scheduler())?;
    Some(ClusterError::NoScheduler { backend: target.backend().into(), source })
}
