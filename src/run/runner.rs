//! Executes the selected cases on the selected targets, as concurrently as their isolation allows, and
//! assembles the report.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, LazyLock};
use std::task::Poll;
use std::time::{Duration, Instant};

use conformance_cases as cases;
use conformance_contract::clauses::{CLAUSES, Clause, Feature, VERSION};
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::{ReportedVersion, Target};
use conformance_contract::verdict::{Outcome, Verdict};
use conformance_driver::case::{Case, Isolation};
use conformance_driver::limits;
use conformance_install::operator::Operator;
use conformance_install::schedulers::helm::Installed;
use conformance_install::schedulers::{self, installation};
use conformance_programs::components::{Program, Source, digest};
use conformance_programs::{memory_in_use, processor_time};
use conformance_report::{
    API_VERSION, CaseResult, Component, ComponentSource, Features, Implementation, KIND, PeakMemory,
    Provider, Report, ResultsFile, Seconds, Settings, Shard, StoreError, Suite, TargetReport, Timings,
    UnsupportedFeature,
};
use futures::future::{self, FutureExt};
use futures::poll;
use jiff::Timestamp;
use tokio::task::JoinSet;
use tracing::Instrument;

use super::deviations;
use super::verdict::not_held;
use crate::environment::{Environment, Origin, is_anothers_turn};

/// Time limit for an API server's version request.
const ANSWER: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub struct Plan {
    /// The targets, which are the columns of the report.
    pub targets: Vec<Target>,
    pub chosen: Vec<&'static Case>,
    /// The cases that the selection excludes.
    pub left_out: Vec<&'static Case>,
    /// The share of a larger run; `None` for a whole run.
    pub share: Option<Share>,
    /// The clauses in the report: the whole contract, or those that a user's own workload can show.
    pub clauses: Vec<Clause>,
}

#[derive(Debug, Clone)]
pub struct Share {
    pub shard: Shard,
    pub elsewhere: Vec<&'static Case>,
}

impl Plan {
    /// This plan for one shard. Cases are dealt in turn, so each is in exactly one shard and the shards are
    /// of equal size. Cases for none of the plan's targets are not dealt.
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

    /// The initial number of control planes per scheduler for dedicated cases. Such cases run one at a time
    /// on each, and mostly wait.
    ///
    /// Each scheduler gets one. There are up to three in all, or one more than schedulers. An extra one goes
    /// to the scheduler with the longest queue per control plane, if it has at least five cases, to justify
    /// the start.
    pub fn control_planes(&self, later_life_on: Option<Target>) -> BTreeMap<Scheduler, u32> {
        let of_target = |target: Target| {
            let is_its_turn =
                move |case: &Case| later_life_on.is_none_or(|on| !is_anothers_turn(case, target, on));
            let alone = self.chosen.iter().filter(|case| case.isolation == Isolation::Dedicated);
            let its = alone.filter(move |case| case.is_for(target) && is_its_turn(case));
            its.map(move |case| usual_length(case, target))
        };
        let lengths = |scheduler: Scheduler| -> Vec<Duration> {
            let its = self.targets.iter().filter(|target| target.scheduler() == scheduler);
            its.flat_map(|target| of_target(*target)).collect()
        };
        let mut planes: BTreeMap<Scheduler, u32> =
            self.targets.iter().map(|target| (target.scheduler(), 1)).collect();
        for _ in planes.len()..(planes.len() + 1).max(3) {
            let all = planes.iter_mut().map(|(scheduler, planes)| (lengths(*scheduler), planes));
            let worth_it = all.filter(|(lengths, planes)| lengths.len() / 5 > **planes as usize);
            match worth_it.max_by_key(|(lengths, planes)| lengths.iter().sum::<Duration>() / **planes) {
                Some((_, planes)) => *planes += 1,
                None => break,
            }
        }
        planes
    }

    /// Every case on every target, in start order. Dedicated cases start first, because they run
    /// sequentially; shared cases fill the remaining time. Exclusive cases run before the shared ones: between
    /// them, each would wait on idle CPUs until the running cases end. Within each, the longest start first, so
    /// that a run does not end with one long case.
    fn in_order(&self) -> Vec<(&'static Case, Target)> {
        let held_on = |case: &&'static Case| {
            let (case, targets) = (*case, self.targets.iter().copied());
            targets.filter(|target| case.is_for(*target)).map(|target| (case, target)).collect::<Vec<_>>()
        };
        let mut in_order: Vec<_> = self.chosen.iter().flat_map(held_on).collect();
        in_order.sort_by_cached_key(|(case, target)| {
            let rank = match case.isolation {
                Isolation::Dedicated | Isolation::Upgrade => 0,
                Isolation::Exclusive => 1,
                Isolation::Shared => 2,
            };
            (rank, Reverse(usual_length(case, *target)))
        });
        in_order
    }

    /// Every case that is not run, with the reason.
    fn not_held(&self) -> impl Iterator<Item = (&'static Case, Outcome)> {
        let left_out = self.left_out.iter().map(|case| (*case, conformance_report::not_selected()));
        let elsewhere = self.share.iter().flat_map(|share| {
            let outcome = share.shard.elsewhere();
            share.elsewhere.iter().map(move |case| (*case, outcome.clone()))
        });
        left_out.chain(elsewhere)
    }
}

/// The usual duration of a case on a target. A case with a known deviation also waits for a timeout.
fn usual_length(case: &Case, target: Target) -> Duration {
    let in_vain =
        if deviations::may_show(case.id, target) { limits::SCHEDULING.length } else { Duration::ZERO };
    cases::usual_length(case.id) + in_vain
}

pub trait Observer: Send + Sync {
    /// A case ended. Not called for cases cancelled before they started.
    fn ended(&self, target: Target, result: &CaseResult);
    /// A result could not be written for `report recover`. Called once; the run continues.
    fn unwritten(&self, error: &StoreError);
}

/// Runs the plan and returns the results of each target in the order of the plan.
///
/// Each result is also written as soon as it is known ([`ResultsFile`]).
pub async fn hold_all(
    environment: &Arc<Environment>,
    plan: &Plan,
    observer: &Arc<dyn Observer>,
    mut results_file: Results<'_>,
) -> BTreeMap<Target, Vec<CaseResult>> {
    let mut growing = environment.growing();
    growing.spawn(memory_in_use::watch(OWN_NAME));
    let mut cases = JoinSet::new();
    for (case, target) in plan.in_order() {
        let (environment, observer) = (environment.clone(), observer.clone());
        // The span has the default log level, so that the log lines of concurrent cases can be told apart.
        let span = tracing::warn_span!("case", case = case.id, %target);
        let running = async move {
            let result = environment.execute(case, target).await;
            if !never_began(&result) {
                observer.ended(target, &result);
            }
            (target, result)
        };
        let mut running = AssertUnwindSafe(running.instrument(span)).catch_unwind().boxed();
        // Poll once before spawning so that cases queue in plan order.
        if let Poll::Ready(ended) = poll!(&mut running) {
            running = future::ready(ended).boxed();
        }
        cases.spawn(running);
    }
    let mut results: BTreeMap<Target, Vec<CaseResult>> =
        plan.targets.iter().map(|target| (*target, Vec::new())).collect();
    while let Some(ended) = cases.join_next().await {
        // A panic in a check is a defect of the suite; the case must not be missing from the report.
        match ended {
            Ok(Ok((target, result))) => {
                if !never_began(&result) {
                    results_file.case(target, &result).await;
                }
                results.entry(target).or_default().push(result);
            }
            Ok(Err(_)) => tracing::error!("a case panicked"),
            Err(error) => tracing::error!(%error, "a case was aborted"),
        }
    }
    // Releases its reference to the environment.
    growing.shutdown().await;
    plan.fill(&mut results, &Outcome::error("the case was aborted; see the log"));
    results
}

fn never_began(result: &CaseResult) -> bool {
    result.attempts == 0 && result.is_interrupted()
}

impl Plan {
    /// Adds the missing results, in the order of the suite: the cases excluded by the selection, and with the
    /// outcome `lacking` those that did not run.
    fn fill(&self, results: &mut BTreeMap<Target, Vec<CaseResult>>, lacking: &Outcome) {
        for target in &self.targets {
            let of_target = results.entry(*target).or_default();
            let is_missing =
                |case: &&&Case| case.is_for(*target) && of_target.iter().all(|result| result.id != case.id);
            let missing: Vec<_> = self.chosen.iter().filter(is_missing).collect();
            of_target.extend(missing.into_iter().map(|case| not_held(case, *target, lacking)));
            let others = self.not_held().filter(|(case, _)| case.is_for(*target));
            of_target.extend(others.map(|(case, outcome)| not_held(case, *target, &outcome)));
            let place = |id: &str| {
                let generated = self.chosen.iter().position(|case| case.id == id);
                (conformance_cases::all().position(|case| case.id == id), generated)
            };
            of_target.sort_by_key(|result| place(&result.id));
        }
    }
}

/// Writes the results while the run is in progress, for `report recover`.
pub struct Results<'a> {
    file: ResultsFile,
    environment: &'a Environment,
    plan: &'a Plan,
    clock: Clock,
    command: String,
    observer: Arc<dyn Observer>,
    has_cluster: bool,
    is_told: bool,
}

impl<'a> Results<'a> {
    /// Creates the file in the run's folder and writes the plan.
    pub async fn begin(
        environment: &'a Environment,
        plan: &'a Plan,
        clock: Clock,
        command: String,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, StoreError> {
        let file = ResultsFile::begin(&environment.settings.out)?;
        let mut results =
            Self { file, environment, plan, clock, command, observer, has_cluster: false, is_told: false };
        results.run().await;
        Ok(results)
    }

    /// Writes the report as if no case had ended.
    async fn run(&mut self) {
        let mut planned = BTreeMap::new();
        self.plan.fill(&mut planned, &conformance_report::interrupted());
        let planned = report(self.environment, self.plan, planned, self.clock, self.command.clone()).await;
        let written = self.file.run(&planned.incomplete("the run was killed"));
        self.tell(written);
    }

    async fn case(&mut self, target: Target, result: &CaseResult) {
        // The cluster's components are known now.
        if !self.has_cluster && self.environment.shared().is_some() {
            self.has_cluster = true;
            self.run().await;
        }
        let written = self.file.case(title(target), result);
        self.tell(written);
    }

    fn tell(&mut self, written: Result<(), StoreError>) {
        if let Err(error) = written
            && !std::mem::replace(&mut self.is_told, true)
        {
            self.observer.unwritten(&error);
        }
    }
}

pub fn title(target: Target) -> String {
    empty(target).title()
}

fn empty(target: Target) -> TargetReport {
    let variant = target.scope().map(|scope| format!("{scope} scope"));
    TargetReport::new(target.name(), variant, "", Features::default())
}

#[derive(Debug, Clone, Copy)]
pub struct Clock {
    pub begin: Instant,
    pub building: Duration,
}

pub async fn report(
    environment: &Environment,
    plan: &Plan,
    results: BTreeMap<Target, Vec<CaseResult>>,
    clock: Clock,
    command: String,
) -> Report {
    let settings = &environment.settings;
    let provider = provider(environment).await;
    let shared = environment.shared();
    let kind = shared.as_ref().and_then(|test_cluster| test_cluster.kind().ok());
    let installed = kind.map_or(&[][..], |kind| kind.installed());
    let concluded = |(target, cases): (Target, Vec<CaseResult>)| {
        let version = version(settings, target, &provider, installed);
        // A violated invariant is reported as a clause of its own, even if no case covers it.
        let is_judged =
            |id: &str| cases.iter().flat_map(|case| &case.clauses).any(|found| found.clause == id);
        let is_said =
            |clause: &&Clause| plan.clauses.iter().any(|said| said.id == clause.id) || is_judged(clause.id);
        let clauses: Vec<_> =
            CLAUSES.iter().filter(is_said).filter(|clause| target.concerns(clause)).collect();
        let features = features(target, &cases);
        TargetReport { version, features, ..empty(target) }.conclude(clauses, cases)
    };
    let targets = results.into_iter().map(concluded).collect();
    let components = settings
        .programs
        .toolbox
        .programs()
        .chain(given_programs(settings))
        .map(of_program)
        .chain(settings.spec.operator.as_deref().map(of_operator))
        .chain(replaced(settings).map(of_operator))
        .chain(installed.iter().map(of_chart))
        .collect();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let report = Report {
        api_version: API_VERSION.into(),
        kind: KIND.into(),
        date: Timestamp::now(),
        suite: Suite { version: version.clone(), contract: Some(VERSION.to_owned()), digest: own_digest() },
        command,
        incomplete: false,
        incomplete_reason: None,
        operator: settings.implementation.clone().unwrap_or_else(|| Implementation {
            name: "grove-backend-controller".into(),
            version,
            organization: Some("grove-conformance".into()),
            url: None,
            commit: None,
            description: None,
            declaration: None,
            cluster_admin: false,
            reference: true,
        }),
        provider,
        other_providers: Vec::new(),
        components,
        settings: Settings {
            timeout_scale: settings.scale,
            concurrency: environment.at_once() as usize,
            strict: settings.strict,
            seed: Some(settings.thorough.seed),
        },
        targets,
        timings: Timings {
            build_seconds: Seconds::from(clock.building),
            cluster_ready_seconds: Seconds::from(environment.cluster_ready().unwrap_or_default()),
            total_seconds: Seconds::from(clock.begin.elapsed()),
            processor_seconds: processor_time::spent(OWN_NAME).into_iter().collect(),
            peak_memory: peak_memory(),
        },
    };
    match environment.interruption().cause() {
        // A run that was interrupted after its last case is complete.
        Some(cause) if !report.interrupted().is_empty() => {
            report.incomplete(format!("interrupted ({cause})"))
        }
        _ => report,
    }
}

const OWN_NAME: &str = "grove-conformance";

fn peak_memory() -> PeakMemory {
    let peak = memory_in_use::peak();
    let mib = |bytes: u64| bytes >> 20;
    let programs = peak.programs.into_iter().map(|(program, bytes)| (program, mib(bytes)));
    PeakMemory { all: mib(peak.all), programs: programs.collect() }
}

fn own_digest() -> Option<String> {
    static DIGEST: LazyLock<Option<String>> = LazyLock::new(|| {
        let program = std::env::current_exe().ok()?;
        Some(format!("sha256:{}", digest(&program).ok()?))
    });
    DIGEST.clone()
}

/// The programs of schedulers, and of the trainer, that the user gave.
fn given_programs(settings: &crate::environment::Settings) -> impl Iterator<Item = &Program> {
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
            Source::Given => ComponentSource::Path,
        },
        chart: None,
        digest: format!("sha256:{}", program.sha256),
    }
}

/// The operator to upgrade from, if it is not the reference controller.
fn replaced(settings: &crate::environment::Settings) -> Option<&Operator> {
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

fn version(
    settings: &crate::environment::Settings,
    target: Target,
    provider: &Provider,
    installed: &[Installed],
) -> String {
    if let ReportedVersion::Always(said) = target.version() {
        return said.into();
    }
    let release = match &settings.origin {
        Origin::Kind(kind) => kind.release(target.scheduler()),
        Origin::Local | Origin::Up(_) | Origin::Existing { .. } => None,
    };
    if let Some(release) = release {
        let one = installed.iter().find(|one| one.scheduler == release.scheduler);
        // A scheduler that did not start has the version of its chart.
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

/// The origin of the shared cluster. One that did not start has its planned version. One that does not
/// respond does not prevent a report of earlier results.
async fn provider(environment: &Environment) -> Provider {
    let settings = &environment.settings;
    let (name, gates) = match &settings.origin {
        Origin::Local | Origin::Up(_) => ("local", settings.spec.scheduler_gates.0.clone()),
        Origin::Kind(_) => ("kind", settings.spec.scheduler_gates.0.clone()),
        // Only the owner knows them.
        Origin::Existing { .. } => ("existing", BTreeMap::new()),
    };
    let built = settings.programs.toolbox.get("kube-apiserver").map(|program| program.version.clone());
    let kubernetes_version = match (built, environment.shared()) {
        (Ok(version), _) => version,
        (Err(_), Some(test_cluster)) => {
            match tokio::time::timeout(ANSWER, test_cluster.client.apiserver_version()).await {
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

fn features(target: Target, cases: &[CaseResult]) -> Features {
    let shown = |clause: &str| {
        let judgements = cases.iter().flat_map(|case| &case.clauses);
        judgements.filter(|judgement| judgement.clause == clause).any(|j| j.outcome.verdict == Verdict::Pass)
    };
    let can_be_said = |feature: &Feature| feature.speaks_of(target.workload()) && !target.declares(*feature);
    let unsupported = Feature::ALL.into_iter().filter(can_be_said);
    Features {
        supported: target.features().to_vec(),
        unsupported: unsupported
            .map(|name| UnsupportedFeature { name, reason: target.why_not(name).into() })
            .collect(),
        // KUBE-17: the API does not show the scheduler's own gates; they are assumed until a clause shows
        // them.
        declared: target
            .gates()
            .iter()
            .filter(|(_, clause)| !shown(clause))
            .map(|(gate, _)| (*gate).into())
            .collect(),
        configuration: target
            .declaration()
            .map(|declared| declared.configuration.clone())
            .unwrap_or_default(),
        evidence: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(targets: &[Target]) -> Plan {
        let chosen = cases::all().collect();
        Plan { targets: targets.into(), chosen, left_out: Vec::new(), share: None, clauses: Vec::new() }
    }

    fn control_planes(targets: &[Target], later_life_on: Option<Target>) -> BTreeMap<Scheduler, u32> {
        plan(targets).control_planes(later_life_on)
    }

    #[test]
    fn what_may_wait_in_vain_begins_early() {
        let in_order = plan(&[Target::KUBE_POD_GANG, Target::KOORDINATOR]).in_order();
        let place = |id: &str, target: Target| {
            let wanted = |(case, on): &(&Case, Target)| case.id == id && *on == target;
            in_order.iter().position(wanted).unwrap()
        };
        let (kube, koordinator) = (Target::KUBE_POD_GANG, Target::KOORDINATOR);
        // koord-scheduler may never bind a small gang that is submitted later.
        assert!(place("aon/room-for-one", koordinator) < place("aon/one-clique-too-large", kube));
        assert!(place("aon/room-for-one", koordinator) < place("aon/room-for-one", kube));
        let is_alone = |case: &Case| matches!(case.isolation, Isolation::Dedicated | Isolation::Upgrade);
        let alone = in_order.iter().take_while(|(case, _)| is_alone(case)).count();
        assert_eq!(alone, in_order.iter().filter(|(case, _)| is_alone(case)).count());
    }

    #[test]
    fn who_has_most_to_run_alone_has_the_further_control_planes() {
        let scopes = [Target::KUBE_POD_GROUP, Target::KUBE_POD_GANG];
        let kube = |count| (Scheduler::KUBE, count);
        assert_eq!(control_planes(&scopes[..1], None), [kube(3)].into());
        assert_eq!(control_planes(&scopes, Some(scopes[0])), [kube(3)].into());
        let (volcano, kai) = (Target::VOLCANO.scheduler(), Target::KAI.scheduler());
        let both = control_planes(&[scopes[0], scopes[1], Target::KAI], None);
        assert_eq!(both, [kube(2), (kai, 1)].into());
        let three = control_planes(&[scopes[0], scopes[1], Target::VOLCANO, Target::KAI], Some(scopes[0]));
        assert_eq!(three, [kube(2), (volcano, 1), (kai, 1)].into());
    }
}
