//! The control planes for mutations. Only the operator restarts, with a mutation's number as a variable.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::target::Target;
use conformance_contract::verdict::Verdict;
use conformance_driver::case::{Case, Isolation};
use conformance_driver::test_cluster::{TestCluster, Thorough};
use conformance_install::memory;
use conformance_mutation::baseline::{self, BaselineCase};
use conformance_mutation::trial::{CaseEnd, Kill, Subject, Unusable};
use conformance_mutation::{SITES_VARIABLE, VARIABLE};
use conformance_programs::available_memory;
use conformance_programs::own_program::OwnProgram;
use conformance_report::CaseResult;
use conformance_run::environment::{Cancellation, Environment, Settings, choose_lifecycle_scope};
use conformance_run::verdict;
use parking_lot::Mutex;

use super::BuiltOperator;
use crate::args::MutateSuiteArgs;
use crate::built_programs::{cluster_spec, programs};
use crate::output::{self, Console};
use crate::request::ProgramRequest;
use crate::{Failure, run, run_id};

/// The variable's value differs for each recording, so that the operator restarts.
const RECORDING_VARIABLE: &str = "GROVE_MUTATION_RECORDING";

#[derive(Debug, Clone)]
pub(super) struct TriedCase {
    pub id: String,
    pub case: &'static Case,
    pub target: Target,
}

type Variables = Vec<(String, String)>;

/// An operator that becomes ready at all needs less time.
const READY: Duration = Duration::from_secs(20);

pub(super) struct MutatedOperator {
    settings: Settings,
    sources: String,
    cases: Arc<BTreeMap<String, TriedCase>>,
    target: Target,
    environment: Mutex<Option<Arc<Environment>>>,
    variables: Mutex<Variables>,
    /// Cancels the running cases. Replaced when they are cancelled.
    cancellation: Mutex<Cancellation>,
    /// Dedicated cases run one at a time, and so do the restarts before them.
    dedicated: Arc<tokio::sync::Mutex<()>>,
    recordings: AtomicU64,
    /// The operator writes into it which mutations it executes.
    sites: PathBuf,
}

fn unusable(error: &dyn std::fmt::Display) -> Unusable {
    Unusable(error.to_string())
}

impl MutatedOperator {
    /// As many control planes as requested, or as the memory allows.
    pub(super) async fn prepare(
        folder: &Path,
        args: &MutateSuiteArgs,
        side_by_side: usize,
        built: &BuiltOperator,
        cases: &[TriedCase],
    ) -> Result<Vec<Self>, Failure> {
        let console = Arc::new(Console::brief());
        let targets: Vec<_> = cases.iter().map(|case| case.target).collect();
        let Some(target) = targets.first().copied() else {
            return Err(Failure::Usage("no case is selected".into()));
        };
        let schedulers: BTreeSet<_> = targets.iter().map(|target| target.scheduler()).collect();
        let given = ProgramRequest::of(&args.programs)?;
        let spec = cluster_spec(Kubernetes::default(), &given, &schedulers, &console).await?;
        let mut programs = programs(&given, &spec, &console).await?;
        console.end();
        programs.controller = OwnProgram::alone(&built.built.program);
        let mut distinct = Vec::new();
        for target in targets {
            if !distinct.contains(&target) {
                distinct.push(target);
            }
        }
        let settings = Settings {
            scale: args.timeout_scale,
            concurrency: side_by_side,
            short_limits_count: true,
            lifecycle_scope: choose_lifecycle_scope(&distinct, Thorough::default().seed),
            reproduce: "grove-conformance dev mutate run {case}".into(),
            ..Settings::local(run_id(), programs, spec, folder.join("cases"))
        };
        let by_id: BTreeMap<_, _> = cases.iter().map(|case| (case.id.clone(), case.clone())).collect();
        let by_id = Arc::new(by_id);
        let folder =
            std::path::absolute(folder).map_err(|error| Failure::Usage(format!("--output: {error}")))?;
        let count = limited_by_memory(args.control_planes.get(), schedulers.len());
        let one = |number| {
            let out = folder.join(format!("cases-{number}"));
            let settings = Settings { run: run_id(), out, ..settings.clone() };
            Self {
                environment: Mutex::new(Some(Arc::new(Environment::new(settings.clone())))),
                settings,
                sources: built.sources.clone(),
                cases: by_id.clone(),
                target,
                variables: Mutex::default(),
                cancellation: Mutex::default(),
                dedicated: Arc::default(),
                recordings: AtomicU64::new(0),
                sites: folder.join(format!("sites-{number}")),
            }
        };
        Ok((1..=count).map(one).collect())
    }

    fn environment(&self) -> Result<Arc<Environment>, Unusable> {
        self.environment.lock().clone().ok_or_else(|| Unusable("the control plane has ended".into()))
    }

    pub(super) async fn close(self) {
        if let Some(environment) = self.environment.into_inner() {
            run::close(&environment).await;
        }
    }

    fn execution(&self, tried: &TriedCase, cancellation: Cancellation) -> Result<Execution, Unusable> {
        Ok(Execution {
            environment: self.environment()?,
            tried: tried.clone(),
            variables: self.variables.lock().clone(),
            dedicated: self.dedicated.clone(),
            cancellation,
        })
    }

    async fn switch(&self, isolation: Isolation, target: Target) -> Result<bool, Unusable> {
        let variables = self.variables.lock().clone();
        let environment = self.environment()?;
        switch(&environment, isolation, target, variables).await
    }

    async fn record(&self, tried: &TriedCase) -> Result<bool, Unusable> {
        // The previous operator has the old file open.
        let _ = std::fs::remove_file(&self.sites);
        let recording = self.recordings.fetch_add(1, Ordering::Relaxed).to_string();
        let sites = self.sites.display().to_string();
        *self.variables.lock() =
            vec![(SITES_VARIABLE.to_owned(), sites), (RECORDING_VARIABLE.to_owned(), recording)];
        self.switch(tried.case.isolation, tried.target).await
    }

    pub(super) async fn baseline(&self, tried: &TriedCase) -> Result<BaselineCase, Unusable> {
        // Start the control plane first, because the seconds of the baseline exclude its start.
        let started = self.environment()?.test_cluster(tried.case.isolation, tried.target).await;
        drop(started.map_err(|error| unusable(&error))?);
        let begin = Instant::now();
        if !self.record(tried).await? {
            // The previous case may have broken the control plane.
            self.renew().await?;
            if !self.record(tried).await? {
                return Err(Unusable("the operator does not start even without a mutation".into()));
            }
        }
        let execution = self.execution(tried, Cancellation::default())?;
        let passed = match spawned(execution).await? {
            Executed::Ended { result, operator_ended } => {
                // The case may have ended at once, because a scheduler is missing.
                result.attempts > 0 && verdict::is_expected(result.outcome.verdict) && !operator_ended
            }
            Executed::NoOperator | Executed::Cancelled => false,
        };
        Ok(BaselineCase {
            id: tried.id.clone(),
            operator: self.sources.clone(),
            passed,
            seconds: begin.elapsed().as_secs_f64(),
            executed: baseline::executed(&self.sites),
        })
    }
}

fn limited_by_memory(wanted: usize, schedulers: usize) -> usize {
    let Some(available) = available_memory::in_mib() else { return wanted };
    let fit = usize::try_from(available / memory::of_run(schedulers)).unwrap_or(usize::MAX).max(1);
    if fit < wanted {
        output::say(&format!("{available} MiB of memory allow {fit} of {wanted} control planes"));
    }
    wanted.min(fit)
}

/// Restarts the operator with these variables, unless it already has them. Returns whether it is ready.
async fn switch(
    environment: &Environment,
    isolation: Isolation,
    target: Target,
    variables: Variables,
) -> Result<bool, Unusable> {
    let test_cluster = environment.test_cluster(isolation, target).await.map_err(|error| unusable(&error))?;
    let local = test_cluster.cluster.local().ok_or_else(|| Unusable("no local control plane".into()))?;
    let spec = local.spec();
    if spec.controller_variables == variables && local.dead().is_none() {
        return Ok(true);
    }
    local.respecify(|spec| spec.controller_variables = variables);
    // An error means that the operator exited.
    let ready = tokio::time::timeout(READY, local.restart_controller(spec.controller)).await;
    Ok(matches!(ready, Ok(Ok(()))))
}

enum Executed {
    NoOperator,
    /// The case was cancelled, or exceeded its limit.
    Cancelled,
    Ended {
        result: Box<CaseResult>,
        operator_ended: bool,
    },
}

struct Execution {
    environment: Arc<Environment>,
    tried: TriedCase,
    variables: Variables,
    dedicated: Arc<tokio::sync::Mutex<()>>,
    cancellation: Cancellation,
}

impl Execution {
    async fn run(self) -> Result<Executed, Unusable> {
        let Self { environment, tried, variables, dedicated, cancellation } = self;
        let TriedCase { case, target, .. } = tried;
        let is_dedicated = case.isolation == Isolation::Dedicated;
        let _one_at_a_time = if is_dedicated { Some(dedicated.lock().await) } else { None };
        if cancellation.is_requested() {
            return Ok(Executed::Cancelled);
        }
        if is_dedicated && !switch(&environment, case.isolation, target, variables).await? {
            return Ok(Executed::NoOperator);
        }
        let result = environment.execute_unless(case, target, &cancellation).await;
        // The environment may have ended since the request.
        if cancellation.is_requested() || result.is_interrupted() {
            return Ok(Executed::Cancelled);
        }
        let test_cluster: Arc<TestCluster> =
            environment.test_cluster(case.isolation, target).await.map_err(|error| unusable(&error))?;
        let operator_ended = test_cluster.cluster.operator_death().is_some();
        Ok(Executed::Ended { result: Box::new(result), operator_ended })
    }
}

/// Runs in a task of its own, because a check blocks its task.
async fn spawned(execution: Execution) -> Result<Executed, Unusable> {
    tokio::spawn(execution.run()).await.map_err(|error| unusable(&error))?
}

fn kill_of(id: &str, result: &CaseResult) -> Option<Kill> {
    let failed = result.clauses.iter().filter(|judgement| judgement.outcome.verdict == Verdict::Fail);
    failed
        .flat_map(|judgement| judgement.violations.iter().map(move |violation| (judgement, violation)))
        .next()
        .map(|(judgement, violation)| Kill {
            case: id.to_owned(),
            clause: judgement.clause.clone(),
            code: violation.code.as_str().to_owned(),
        })
}

fn end_of(id: &str, executed: Executed) -> CaseEnd {
    match executed {
        Executed::NoOperator => CaseEnd { has_failed: true, operator_ended: true, ..CaseEnd::default() },
        Executed::Cancelled => CaseEnd { has_failed: true, has_no_result: true, ..CaseEnd::default() },
        Executed::Ended { result, operator_ended } => CaseEnd {
            has_failed: !verdict::is_expected(result.outcome.verdict),
            kill: kill_of(id, &result),
            operator_ended,
            has_no_result: false,
        },
    }
}

impl Subject for MutatedOperator {
    async fn turn_on(&self, number: u32) -> Result<bool, Unusable> {
        *self.variables.lock() = vec![(VARIABLE.to_owned(), number.to_string())];
        self.switch(Isolation::Shared, self.target).await
    }

    fn run(&self, case: &str, limit: Duration) -> impl Future<Output = Result<CaseEnd, Unusable>> {
        let cancellation = self.cancellation.lock().with_limit(limit);
        let tried = self.cases.get(case).ok_or_else(|| Unusable(format!("there is no case {case:?}")));
        let execution = tried.and_then(|tried| self.execution(tried, cancellation.clone()));
        async move {
            let execution = execution?;
            let is_dedicated = execution.tried.case.isolation == Isolation::Dedicated;
            let id = execution.tried.id.clone();
            let mut running = tokio::spawn(execution.run());
            let executed = tokio::select! {
                biased;
                ended = &mut running => ended.map_err(|error| unusable(&error))??,
                // The cancelled driver repairs the control plane first; the next dedicated case waits for it.
                () = cancellation.requested(), if is_dedicated => Executed::Cancelled,
            };
            Ok(end_of(&id, executed))
        }
    }

    fn cancel(&self) {
        std::mem::take(&mut *self.cancellation.lock()).request();
    }

    async fn renew(&self) -> Result<(), Unusable> {
        let old = self.environment.lock().take();
        if let Some(old) = old {
            run::close(&old).await;
        }
        let settings = Settings { run: run_id(), ..self.settings.clone() };
        *self.environment.lock() = Some(Arc::new(Environment::new(settings)));
        Ok(())
    }
}
