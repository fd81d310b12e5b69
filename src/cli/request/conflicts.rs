//! Rejects parts of a request that contradict each other, before anything is built.

use conformance_contract::clauses::Workload;
use conformance_install::given_trainer::PROGRAM as TRAINER;
use conformance_install::schedulers;

use super::{Cases, OperatorSource, Request};
use crate::Failure;
use crate::options::{Depth, ProviderName};

pub(super) fn check(request: &Request) -> Result<(), Failure> {
    let name = name_of(&request.subject.cases);
    let found = of_subject(request, name)
        .or_else(|| of_selection(request, name))
        .or_else(|| of_upgrade(request, name))
        .or_else(|| of_versions(request, name))
        .or_else(|| of_cluster(request))
        .or_else(|| of_programs(request));
    if let Some(reason) = found {
        return Err(Failure::Usage(reason));
    }
    let mut versions = request.subject.versions.iter();
    versions.try_for_each(|kubernetes| request.programs.check_versions(*kubernetes))
}

fn name_of(cases: &Cases) -> &'static str {
    match cases {
        Cases::Suite(Workload::PodCliqueSets) => "run",
        Cases::Suite(Workload::TrainJobs) => "trainjobs",
        Cases::Suite(Workload::PlainPods) => "ai-conformance",
        Cases::Load(_) => "load",
        Cases::Generated(_) => "fuzz",
        Cases::NearLimit(_) => "dev feasibility",
        Cases::OwnWorkload { .. } => "workload",
        Cases::Observations => "observe",
    }
}

/// Returns the reason if an option does not apply to the command `name`.
fn of_subject(request: &Request, name: &str) -> Option<String> {
    let Request { subject, operator, cluster, execution, output, .. } = request;
    let has_operator = operator.source != OperatorSource::Reference || operator.upgrade_from.is_some();
    let refused: &[(&str, bool)] = match &subject.cases {
        Cases::Suite(Workload::PodCliqueSets) => &[],
        Cases::Suite(_) => &[
            ("--scope", subject.scope.is_some()),
            ("target.features", !subject.features.is_empty()),
            ("--operator", has_operator),
            ("--cluster", cluster.name.is_some()),
            ("--depth", execution.depth != Depth::default()),
        ],
        Cases::Load(_) | Cases::NearLimit(_) => &[
            ("--upgrade-from", operator.upgrade_from.is_some()),
            ("--cluster", cluster.name.is_some()),
            ("--depth", execution.depth != Depth::default()),
        ],
        Cases::Observations => &[
            ("--scope", subject.scope.is_some()),
            ("target.features", !subject.features.is_empty()),
            ("--operator", has_operator),
            ("--cluster", cluster.name.is_some()),
            ("--depth", execution.depth != Depth::default()),
            ("--baseline", output.baseline.is_some()),
        ],
        Cases::Generated(_) => &[("--depth", execution.depth != Depth::default())],
        Cases::OwnWorkload { .. } => &[
            ("--upgrade-from", operator.upgrade_from.is_some()),
            ("--depth", execution.depth != Depth::default()),
        ],
    };
    let (option, _) = refused.iter().find(|(_, given)| *given)?;
    Some(format!("{option} does not apply to `{name}`: omit it"))
}

fn of_selection(request: &Request, name: &str) -> Option<String> {
    let Request { subject, selection, cluster, execution, output, .. } = request;
    let ends_early = [("--fail-fast", execution.fail_fast), ("--hold-on-failure", cluster.hold_on_failure)];
    if let Some((option, _)) = ends_early.iter().find(|(_, given)| *given && output.accepted.is_some()) {
        return Some(format!("{option} cannot be combined with output.accept: omit one of them"));
    }
    if cluster.hold_on_failure && execution.retries > 0 {
        return Some("--hold-on-failure keeps the first failure: omit --retries".into());
    }
    let refused = match subject.cases {
        Cases::Suite(_) => return None,
        Cases::Generated(_) => false,
        Cases::Load(_) | Cases::NearLimit(_) | Cases::OwnWorkload { .. } | Cases::Observations => {
            selection.shard.is_some()
        }
    };
    let is_selected =
        !selection.words.is_empty() || !selection.skip.is_empty() || !selection.classes.is_empty() || refused;
    is_selected
        .then(|| format!("section `selection` of the configuration does not apply to `{name}`: omit it"))
}

fn of_upgrade(request: &Request, name: &str) -> Option<String> {
    const KUBE_SCHEDULER: &str = "kube-scheduler";
    let Request { subject, operator, programs, .. } = request;
    let old = operator.replaced_kubernetes()?;
    let new = old.successor()?;
    let option = format!("--upgrade-from kubernetes={old}");
    if !matches!(subject.cases, Cases::Suite(Workload::PodCliqueSets)) {
        return Some(format!("{option} does not apply to `{name}`: omit it"));
    }
    if subject.versions != [new] {
        return Some(format!("{option} upgrades to Kubernetes {new}: pass --kubernetes {new}, or omit it"));
    }
    let has_checkout = programs.checkouts.iter().any(|(name, _)| name == KUBE_SCHEDULER);
    has_checkout.then(|| {
        format!("--component {KUBE_SCHEDULER}=src:DIR belongs to one version: omit it with {option}")
    })
}

fn of_versions(request: &Request, name: &str) -> Option<String> {
    let Request { subject, cluster, .. } = request;
    if subject.versions.len() == 1 {
        return None;
    }
    match subject.cases {
        Cases::Load(_)
        | Cases::NearLimit(_)
        | Cases::Suite(Workload::TrainJobs | Workload::PlainPods)
        | Cases::Observations => {
            return Some(format!("`{name}` runs on one version of Kubernetes: omit --kubernetes all"));
        }
        Cases::Suite(Workload::PodCliqueSets) | Cases::Generated(_) | Cases::OwnWorkload { .. } => {}
    }
    if cluster.provider == ProviderName::Existing || cluster.name.is_some() {
        return Some(
            "--kubernetes all creates a cluster for each version: omit --cluster and --provider existing"
                .into(),
        );
    }
    let has_scope = subject.scope.is_some();
    has_scope.then(|| "--kubernetes all runs every gang scope: omit --scope".into())
}

fn of_cluster(request: &Request) -> Option<String> {
    let Request { subject, operator, cluster, .. } = request;
    let provider = cluster.provider;
    // An upgrade replaces one process by another.
    if operator.upgrade_from.is_some() && provider != ProviderName::Local {
        return Some("--upgrade-from starts local processes: pass --provider local".into());
    }
    if operator.source.is_existing() && provider != ProviderName::Existing {
        return Some(
            "--operator existing tests the operator of your own cluster: pass --provider existing".into(),
        );
    }
    if cluster.nodes_where.is_some() && provider != ProviderName::Existing {
        return Some("--nodes-where selects nodes of your own cluster: pass --provider existing".into());
    }
    if provider == ProviderName::Kind
        && let Some(preview) = subject.versions.iter().find(|version| version.is_preview())
    {
        return Some(format!(
            "Kubernetes {preview} is a preview, which has no node image: pass --provider local"
        ));
    }
    let has_kubeconfig = cluster.kubeconfig.file.is_some() || cluster.kubeconfig.context.is_some();
    match provider {
        ProviderName::Local if has_kubeconfig => {
            return Some("--kubeconfig and --context need --provider existing".into());
        }
        ProviderName::Existing if cluster.name.is_some() => {
            return Some("--provider existing uses a kubeconfig: omit --cluster".into());
        }
        ProviderName::Kind if has_kubeconfig || cluster.name.is_some() => {
            return Some(
                "--provider kind creates its own cluster: omit --cluster, --kubeconfig and --context".into(),
            );
        }
        ProviderName::Local | ProviderName::Kind | ProviderName::Existing => {}
    }
    match subject.cases {
        Cases::Suite(Workload::TrainJobs) if provider != ProviderName::Local => {
            Some("`trainjobs` starts the trainer as a local process: omit cluster.provider".into())
        }
        Cases::Suite(Workload::PlainPods) if provider == ProviderName::Kind => Some(
            "`ai-conformance` tests plain pods without an operator, and the harness installs one in kind \
             clusters: pass --provider local, or existing for your own cluster"
                .into(),
        ),
        Cases::Observations if provider != ProviderName::Local => {
            Some("`observe` starts schedulers as local processes: omit cluster.provider".into())
        }
        Cases::Load(_) if provider != ProviderName::Local => {
            Some("`load` simulates its nodes on a local control plane: pass --provider local".into())
        }
        Cases::NearLimit(_) if provider != ProviderName::Local => Some(
            "`dev feasibility` simulates its nodes on a local control plane: omit cluster.provider".into(),
        ),
        _ => None,
    }
}

fn of_programs(request: &Request) -> Option<String> {
    let Request { subject, cluster, programs, .. } = request;
    if cluster.name.is_some()
        && let Some(word) = programs.config_words().first()
    {
        return Some(format!(
            "--scheduler-config {word}: pass it to `cluster create`, which starts the schedulers"
        ));
    }
    if programs.trainer.is_some() && subject.workload() != Workload::TrainJobs {
        return Some(format!("--component {TRAINER}: only `trainjobs` runs the trainer: omit it"));
    }
    if programs.offline && cluster.provider == ProviderName::Kind {
        return Some(
            "programs.offline needs --provider local or existing: kind builds and pulls images".into(),
        );
    }
    let is_refused = |name: &&String| match cluster.provider {
        ProviderName::Local => false,
        ProviderName::Kind => {
            schedulers::sources().contains(&name.as_str()) && !schedulers::is_deployable(name)
        }
        ProviderName::Existing => true,
    };
    if let Some(name) = programs.checkouts.iter().map(|(name, _)| name).find(is_refused) {
        let reason = match cluster.provider {
            ProviderName::Existing => "nothing is installed in your own cluster: install the scheduler there",
            ProviderName::Local | ProviderName::Kind => {
                "the suite cannot deploy this program in a cluster: pass --provider local"
            }
        };
        return Some(format!("--component {name}=src:DIR: {reason}"));
    }
    let mut versions = programs.versions.iter();
    let (refused, reason) = match cluster.provider {
        ProviderName::Local => (None, ""),
        ProviderName::Kind => (
            versions.find(|selected| !schedulers::is_deployable(selected.name())),
            "nodes of a kind cluster have the pinned programs: pass --provider local",
        ),
        ProviderName::Existing => {
            (versions.next(), "nothing is installed in your own cluster: install the scheduler there")
        }
    };
    if let Some(selected) = refused {
        return Some(format!("--component {}=version:{}: {reason}", selected.name(), selected.version()));
    }
    if let Some(word) = programs.config_words().first().filter(|_| cluster.provider != ProviderName::Local) {
        return Some(format!("--scheduler-config {word} configures local processes: pass --provider local"));
    }
    let (name, _) = programs.charts.first().filter(|_| cluster.provider != ProviderName::Kind)?;
    Some(format!(
        "--component {name}=chart:REF needs --provider kind: local schedulers are processes, and nothing is \
         installed in your own cluster"
    ))
}
