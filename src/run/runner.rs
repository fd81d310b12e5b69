//! A run: chosen cases on chosen targets, held as concurrently as their lanes allow, written down as a report.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use conformance_cluster::ClusterError;
use conformance_cluster::components::{Source, digest};
use conformance_cluster::operator::Operator;
use conformance_cluster::schedulers::KaiDir;
use conformance_cluster::schedulers::helm::Installed;
use conformance_contract::clauses::{Clause, Feature};
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::{KUBE, Target};
use conformance_contract::verdict::{Outcome, Verdict};
use conformance_driver::case::{Case, Isolation};
use conformance_report::{
    API_VERSION, CaseResult, Component, ComponentSource, Features, Implementation, KIND, ProfileReport,
    Provider, Report, Seconds, Settings, Shard, Suite, Timings, UnsupportedFeature,
};
use jiff::Timestamp;
use tokio::task::JoinSet;

use super::verdict::{judged_clauses, not_held};
use crate::environment::{Environment, Origin};

/// What is run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Every column of the report.
    pub targets: Vec<Target>,
    /// Every case that is run.
    pub chosen: Vec<&'static Case>,
    /// Every case that is not, by choice.
    pub left_out: Vec<&'static Case>,
    /// Which share of a run this is, and the cases that are chosen and are in others; the whole if there is none.
    pub share: Option<Share>,
    /// The clauses that the report speaks about: the whole contract, or what one's own workload can show.
    pub clauses: Vec<Clause>,
}

/// A share of a run.
#[derive(Debug, Clone)]
pub struct Share {
    /// Which one.
    pub shard: Shard,
    /// Every case that another one holds.
    pub elsewhere: Vec<&'static Case>,
}

impl Plan {
    /// What a shard holds of this plan: its cases in turn, whatever they do, so that each is in exactly one shard and
    /// shares are even. Cases that are about no target of the plan take no turn.
    #[must_use]
    pub fn of_shard(mut self, shard: Shard) -> Self {
        let targets = &self.targets;
        let is_held = |case: &&Case| targets.iter().any(|target| case.is_for(*target));
        let (held, about_others): (Vec<_>, Vec<_>) = self.chosen.into_iter().partition(is_held);
        self.left_out.extend(about_others);
        let (mut chosen, mut elsewhere) = (Vec::new(), Vec::new());
        for (place, case) in held.into_iter().enumerate() {
            if shard.holds(place) { chosen.push(case) } else { elsewhere.push(case) }
        }
        Self { chosen, share: Some(Share { shard, elsewhere }), ..self }
    }

    /// Every case that is not held, with what is said of it.
    fn not_held(&self) -> impl Iterator<Item = (&'static Case, Outcome)> {
        let left_out = self.left_out.iter().map(|case| (*case, conformance_report::not_selected()));
        let elsewhere = self.share.iter().flat_map(|share| {
            let outcome = share.shard.elsewhere();
            share.elsewhere.iter().map(move |case| (*case, outcome.clone()))
        });
        left_out.chain(elsewhere)
    }
}

/// Told how a run goes on.
pub trait Observer: Send + Sync {
    /// A case ended.
    fn ended(&self, target: Target, result: &CaseResult);
}

/// Runs the plan; per target the results in the order of the plan.
///
/// Cases that are alone begin first: they are one behind the other, and the rest fills the time beside them.
pub async fn hold_all(
    environment: &Arc<Environment>,
    plan: &Plan,
    observer: &Arc<dyn Observer>,
) -> BTreeMap<Target, Vec<CaseResult>> {
    let mut cases = JoinSet::new();
    let mut in_order = plan.chosen.clone();
    in_order.sort_by_key(|case| case.isolation != Isolation::Dedicated);
    for case in in_order {
        for target in plan.targets.iter().copied().filter(|target| case.is_for(*target)) {
            let (environment, observer) = (environment.clone(), observer.clone());
            cases.spawn(async move {
                let result = environment.execute(case, target).await;
                observer.ended(target, &result);
                (target, result)
            });
        }
    }
    let mut results: BTreeMap<Target, Vec<CaseResult>> =
        plan.targets.iter().map(|target| (*target, Vec::new())).collect();
    while let Some(ended) = cases.join_next().await {
        // A judge that panics is a defect of the suite; it must not look like a case that was never there.
        match ended {
            Ok((target, result)) => results.entry(target).or_default().push(result),
            Err(error) => tracing::error!(%error, "a case broke off"),
        }
    }
    for (target, of_target) in &mut results {
        let is_missing =
            |case: &&&Case| case.is_for(*target) && of_target.iter().all(|result| result.id != case.id);
        let missing = plan.chosen.iter().filter(is_missing);
        let broken: Vec<_> = missing
            .map(|case| {
                let outcome = Outcome::error("the case broke off; the log says why");
                CaseResult::without_running(case.id, case.title, judged_clauses(case, *target), &outcome)
            })
            .collect();
        of_target.extend(broken);
        let others = plan.not_held().filter(|(case, _)| case.is_for(*target));
        of_target.extend(others.map(|(case, outcome)| not_held(case, *target, &outcome)));
        let place = |id: &str| conformance_cases::all().position(|case| case.id == id);
        of_target.sort_by_key(|result| place(&result.id));
    }
    results
}

/// When a run began, and what it did before its first test.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// Its beginning.
    pub begin: Instant,
    /// Building components.
    pub building: Duration,
}

/// Writes the results down.
///
/// # Errors
/// [`ClusterError::Api`] if the API server does not say its version.
pub async fn report(
    environment: &Environment,
    plan: &Plan,
    results: BTreeMap<Target, Vec<CaseResult>>,
    clock: Clock,
    command: String,
) -> Result<Report, ClusterError> {
    let settings = &environment.settings;
    let provider = provider(environment).await?;
    let shared = environment.shared();
    let kind = shared.as_ref().and_then(|test_cluster| test_cluster.kind().ok());
    let installed = kind.map_or(&[][..], |kind| kind.installed());
    let profile = |(target, cases): (Target, Vec<CaseResult>)| -> Result<_, ClusterError> {
        let variant = target.scope().map(|scope| format!("{scope} scope"));
        let version = version(settings, target, &provider, installed)?;
        let clauses = plan.clauses.iter().filter(|clause| target.concerns(clause));
        Ok(ProfileReport::new(target.name(), variant, &version, features(target, settings, &cases))
            .conclude(clauses, cases))
    };
    let profiles = results.into_iter().map(profile).collect::<Result<_, _>>()?;
    let components = settings
        .programs
        .toolbox
        .programs()
        .map(|program| Component {
            name: program.name.clone(),
            version: program.version.clone(),
            source: match program.source {
                Source::Built => ComponentSource::Built,
                Source::Given => ComponentSource::Path,
            },
            chart: None,
            digest: format!("sha256:{}", program.sha256),
        })
        .chain(settings.spec.operator.as_deref().map(of_operator))
        .chain(kai_components(settings)?)
        .chain(installed.iter().map(of_chart))
        .collect();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Ok(Report {
        api_version: API_VERSION.into(),
        kind: KIND.into(),
        date: Timestamp::now(),
        suite: Suite { version: version.clone() },
        command,
        implementation: settings.implementation.clone().unwrap_or_else(|| Implementation {
            name: "grove-backend-controller".into(),
            version,
            organization: Some("grove-conformance".into()),
            url: None,
            commit: None,
            description: None,
            declaration: None,
            ours: true,
        }),
        provider,
        other_providers: Vec::new(),
        components,
        settings: Settings { timeout_scale: settings.scale, concurrency: settings.concurrency },
        profiles,
        timings: Timings {
            build_seconds: Seconds::from(clock.building),
            cluster_ready_seconds: Seconds::from(environment.cluster_ready().unwrap_or_default()),
            total_seconds: Seconds::from(clock.begin.elapsed()),
        },
    })
}

/// KAI's programs, where they were given. None of them tells a version without a cluster.
fn kai_components(settings: &crate::environment::Settings) -> Result<Vec<Component>, ClusterError> {
    let Some(kai) = &settings.spec.kai else { return Ok(Vec::new()) };
    let programs = settings.spec.parts_of(Scheduler::Kai).filter_map(|part| Some((part, kai.program(part)?)));
    programs
        .map(|(part, path)| {
            let digest = format!("sha256:{}", digest(path)?);
            let (name, version) = (part.program().to_owned(), "unknown".to_owned());
            Ok(Component { name, version, source: ComponentSource::Path, chart: None, digest })
        })
        .collect()
}

/// The operator that was given.
fn of_operator(operator: &Operator) -> Component {
    Component {
        name: operator.description.name.clone(),
        version: operator.version.clone(),
        source: if operator.is_built { ComponentSource::Built } else { ComponentSource::Path },
        chart: None,
        digest: format!("sha256:{}", operator.sha256),
    }
}

/// What helm has installed, as one.
fn of_chart(installed: &Installed) -> Component {
    Component {
        name: installed.release.clone(),
        version: installed.version.clone(),
        source: ComponentSource::Helm,
        chart: Some(installed.chart.clone()),
        digest: format!("sha256:{}", installed.sha256),
    }
}

/// The version of a target's scheduler in the clusters of this run.
fn version(
    settings: &crate::environment::Settings,
    target: Target,
    provider: &Provider,
    installed: &[Installed],
) -> Result<String, ClusterError> {
    match target {
        Target::External => return Ok("none".into()),
        // It runs where nobody asks its program.
        Target::ExternalScheduler(_) => return Ok("unknown".into()),
        _ => {}
    }
    let release = match &settings.origin {
        Origin::Kind(kind) => kind.release(target.scheduler()),
        Origin::Local | Origin::Up(_) | Origin::Existing { .. } => None,
    };
    if let Some(release) = release {
        let one = installed.iter().find(|one| one.scheduler == release.scheduler);
        // One that did not come up has the version that it would have had.
        let version = one.map(|one| &one.version).or(release.chart.version.as_ref());
        return Ok(version.cloned().unwrap_or_else(|| "unknown".into()));
    }
    let program = match target.scheduler() {
        Scheduler::Kube => "kube-scheduler",
        Scheduler::Volcano => "vc-scheduler",
        Scheduler::Koordinator => "koord-scheduler",
        Scheduler::Kai => {
            return settings.spec.kai.as_ref().map_or_else(|| Ok("none".into()), KaiDir::version);
        }
    };
    match (settings.programs.toolbox.get(program), target.scheduler()) {
        (Ok(program), _) => Ok(program.version.clone()),
        // The control plane's own, in its version.
        (Err(_), Scheduler::Kube) => Ok(provider.kubernetes_version.clone()),
        (Err(_), _) => Ok("unknown".into()),
    }
}

/// Where the shared cluster came from. One that did not come up has the version that it would have had.
async fn provider(environment: &Environment) -> Result<Provider, ClusterError> {
    let settings = &environment.settings;
    let (name, gates) = match &settings.origin {
        Origin::Local | Origin::Up(_) => ("local", settings.spec.scheduler_gates.0.clone()),
        Origin::Kind(_) => ("kind", settings.spec.scheduler_gates.0.clone()),
        // They are its owner's to know.
        Origin::Existing { .. } => ("existing", BTreeMap::new()),
    };
    let built = settings.programs.toolbox.get("kube-apiserver").map(|program| program.version.clone());
    let kubernetes_version = match (built, environment.shared()) {
        (Ok(version), _) => version,
        (Err(_), Some(test_cluster)) => {
            let version = test_cluster.client.apiserver_version().await;
            version
                .map_err(|source| ClusterError::api("ask the API server for its version", source))?
                .git_version
        }
        (Err(_), None) => "unknown".into(),
    };
    Ok(Provider { name: name.into(), kubernetes_version, feature_gates: gates })
}

fn features(target: Target, settings: &crate::environment::Settings, cases: &[CaseResult]) -> Features {
    let undeclared = |feature| settings.spec.operator.as_ref()?.undeclared(target.backend(), feature);
    let shown = |clause: &str| {
        let judgements = cases.iter().flat_map(|case| &case.clauses);
        judgements.filter(|judgement| judgement.clause == clause).any(|j| j.outcome.verdict == Verdict::Pass)
    };
    let topology = ("TopologyAwareWorkloadScheduling", "TOPO-02");
    let declared = match target {
        Target::KubeTree => vec![("GenericWorkload", "AON-02"), topology, ("CompositePodGroup", "AON-08")],
        target if KUBE.contains(&target) => vec![("GangScheduling", "AON-02"), topology],
        _ => Vec::new(),
    };
    let is_supported = |feature: &Feature| target.declares(*feature) && undeclared(*feature).is_none();
    let unsupported = Feature::ALL.iter().copied().filter(|feature| !is_supported(feature));
    Features {
        supported: target.features().iter().copied().filter(is_supported).collect(),
        unsupported: unsupported
            .map(|name| {
                let of_operator = undeclared(name).filter(|_| target.declares(name));
                let reason = of_operator.unwrap_or_else(|| target.why_not(name).into());
                UnsupportedFeature { name, reason }
            })
            .collect(),
        // KUBE-06: the scheduler's own gates cannot be seen from the API; they are declared until a clause has shown them.
        declared: declared
            .iter()
            .filter(|(_, clause)| !shown(clause))
            .map(|(gate, _)| (*gate).into())
            .collect(),
    }
}
