use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::{ReportedVersion, Target};
use conformance_install::operator::Operator;
use conformance_install::schedulers::helm::Installed;
use conformance_install::schedulers::{self, installation};
use conformance_programs::blocking::in_place;
use conformance_programs::components::{Program, Source, digest};
use conformance_report::{Component, ComponentSource, Provider};

use crate::environment::{Environment, Origin, Settings};

const VERSION_LIMIT: Duration = Duration::from_secs(5);

pub(crate) fn components(settings: &Settings, installed: &[Installed]) -> Vec<Component> {
    let built = settings.programs.toolbox.programs();
    let mut components: Vec<_> = built.chain(given_programs(settings)).map(of_program).collect();
    components.extend(settings.spec.operator.as_deref().map(of_operator));
    components.extend(replaced(settings).map(of_operator));
    components.extend(installed.iter().map(of_chart));
    components
}

pub(crate) fn own_digest() -> Option<String> {
    static DIGEST: LazyLock<Option<String>> = LazyLock::new(|| {
        let program = std::env::current_exe().ok()?;
        Some(format!("sha256:{}", in_place(|| digest(&program)).ok()?))
    });
    DIGEST.clone()
}

fn given_programs(settings: &Settings) -> impl Iterator<Item = &Program> {
    let spec = &settings.spec;
    let chosen = schedulers::all().filter(|scheduler| spec.schedulers.contains(scheduler));
    let of_schedulers = chosen.flat_map(|scheduler| installation(scheduler).given(spec));
    of_schedulers.chain(spec.given_trainer().map(|trainer| &trainer.program))
}

fn of_program(program: &Program) -> Component {
    Component {
        name: program.name.clone(),
        version: program.version.clone(),
        source: match program.source {
            Source::Built => ComponentSource::Built,
            Source::Version => ComponentSource::Version,
            Source::Given => ComponentSource::Path,
        },
        chart: None,
        digest: format!("sha256:{}", program.sha256),
    }
}

fn replaced(settings: &Settings) -> Option<&Operator> {
    let from = settings.spec.upgrade.as_ref()?.from.as_deref()?;
    (settings.spec.operator.as_deref() != Some(from)).then_some(from)
}

fn of_operator(operator: &Operator) -> Component {
    Component {
        name: operator.description.name.clone(),
        version: operator.version.clone(),
        source: if operator.is_built { ComponentSource::Built } else { ComponentSource::Path },
        chart: None,
        digest: format!("sha256:{}", operator.sha256),
    }
}

fn of_chart(installed: &Installed) -> Component {
    Component {
        name: installed.release.clone(),
        version: installed.version.clone(),
        source: ComponentSource::Helm,
        chart: Some(installed.chart.clone()),
        digest: format!("sha256:{}", installed.sha256),
    }
}

pub(crate) fn scheduler_version(
    settings: &Settings,
    target: Target,
    provider: &Provider,
    installed: &[Installed],
) -> String {
    if let ReportedVersion::Always(version) = target.version() {
        return version.into();
    }
    let release = match &settings.origin {
        Origin::Kind(kind) => kind.release(target.scheduler()),
        Origin::Local | Origin::Up(_) | Origin::Existing { .. } => None,
    };
    if let Some(release) = release {
        let one = installed.iter().find(|one| one.scheduler == release.scheduler);
        let version = one.map(|one| &one.version).or(release.chart.version.as_ref());
        return version.cloned().unwrap_or_else(|| "unknown".into());
    }
    let scheduler = target.scheduler();
    match installation(scheduler).version(&settings.spec, &settings.programs.toolbox) {
        Some(version) => version,
        // The control plane's own scheduler has the control plane's version.
        None if scheduler == Scheduler::KUBE => provider.kubernetes_version.clone(),
        None => "unknown".into(),
    }
}

/// The Kubernetes version is that of the built kube-apiserver, or else what the API server reports. It is
/// "unknown" if the API server does not respond, so that earlier results can still be reported.
pub(crate) async fn provider(environment: &Environment) -> Provider {
    let settings = &environment.settings;
    let (name, gates) = match &settings.origin {
        Origin::Local | Origin::Up(_) => ("local", settings.spec.scheduler_gates.0.clone()),
        Origin::Kind(_) => ("kind", settings.spec.scheduler_gates.0.clone()),
        // Only the owner of the cluster knows its feature gates.
        Origin::Existing { .. } => ("existing", BTreeMap::new()),
    };
    let built = settings.programs.toolbox.get("kube-apiserver").map(|program| program.version.clone());
    let kubernetes_version = match (built, environment.shared()) {
        (Ok(version), _) => version,
        (Err(_), Some(test_cluster)) => {
            match tokio::time::timeout(VERSION_LIMIT, test_cluster.client.apiserver_version()).await {
                Ok(Ok(version)) => version.git_version,
                Ok(Err(error)) => unknown(&error),
                Err(elapsed) => unknown(&elapsed),
            }
        }
        (Err(_), None) => "unknown".into(),
    };
    Provider { name: name.into(), kubernetes_version, feature_gates: gates }
}

fn unknown(error: &dyn std::fmt::Display) -> String {
    tracing::warn!(%error, "failed to read the version of the API server; the report shows \"unknown\"");
    "unknown".into()
}
