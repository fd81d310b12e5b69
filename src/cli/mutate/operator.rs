//! The control plane on which mutations run. Only its operator restarts, with the number of a mutation in its
//! environment.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::target::Target;
use conformance_contract::verdict::Verdict;
use conformance_driver::case::{Case, Isolation};
use conformance_driver::test_cluster::{TestCluster, Thorough};
use conformance_mutation::baseline::{self, BaselineCase};
use conformance_mutation::compile::Built;
use conformance_mutation::trial::{CaseEnd, Kill, Subject, Unusable};
use conformance_mutation::{SITES_VARIABLE, VARIABLE};
use conformance_programs::own_program::OwnProgram;
use conformance_report::CaseResult;
use conformance_run::environment::{Environment, Settings, choose_lifecycle_scope};
use conformance_run::verdict;
use parking_lot::Mutex;

use crate::args::MutateRunArgs;
use crate::output::Console;
use crate::request::ProgramRequest;
use crate::{Failure, cluster_spec, programs, run, run_id};

/// Its value differs for each recording, so that the operator restarts.
const RECORDING_VARIABLE: &str = "GROVE_MUTATION_RECORDING";

#[derive(Debug, Clone)]
pub(super) struct TriedCase {
    pub id: String,
    pub case: &'static Case,
    pub target: Target,
}

pub(super) struct MutatedOperator {
    settings: Settings,
    cases: BTreeMap<String, TriedCase>,
    target: Target,
    environment: Mutex<Option<Arc<Environment>>>,
    variables: Mutex<Vec<(String, String)>>,
    /// Dedicated cases run one at a time, and so do the restarts before them.
    dedicated: tokio::sync::Mutex<()>,
    recordings: AtomicU64,
    /// The operator writes into it which mutations it executes.
    sites: PathBuf,
}

fn unusable(error: &dyn std::fmt::Display) -> Unusable {
    Unusable(error.to_string())
}

impl MutatedOperator {
    pub(super) async fn prepare(
        folder: &Path,
        args: &MutateRunArgs,
        built: &Built,
        cases: &[TriedCase],
    ) -> Result<Self, Failure> {
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
        programs.controller = OwnProgram::alone(&built.program);
        let mut distinct = Vec::new();
        for target in targets {
            if !distinct.contains(&target) {
                distinct.push(target);
            }
        }
        let settings = Settings {
            scale: args.timeout_scale,
            concurrency: args.side_by_side.get(),
            short_limits_count: true,
            lifecycle_scope: choose_lifecycle_scope(&distinct, Thorough::default().seed),
            reproduce: "grove-conformance dev mutate run {case}".into(),
            ..Settings::local(run_id(), programs, spec, folder.join("cases"))
        };
        let by_id = cases.iter().map(|case| (case.id.clone(), case.clone())).collect();
        let sites = std::path::absolute(folder.join("sites"))
            .map_err(|error| Failure::Usage(format!("--output: {error}")))?;
        Ok(Self {
            environment: Mutex::new(Some(Arc::new(Environment::new(settings.clone())))),
            settings,
            cases: by_id,
            target,
            variables: Mutex::default(),
            dedicated: tokio::sync::Mutex::default(),
            recordings: AtomicU64::new(0),
            sites,
        })
    }

    fn environment(&self) -> Result<Arc<Environment>, Unusable> {
        self.environment.lock().clone().ok_or_else(|| Unusable("the control plane has ended".into()))
    }

    pub(super) async fn close(self) {
        if let Some(environment) = self.environment.into_inner() {
            run::close(&environment).await;
        }
    }

    /// Not if the operator already runs with the current variables. Returns whether it is ready.
    async fn switch(
        &self,
        environment: &Environment,
        isolation: Isolation,
        target: Target,
    ) -> Result<bool, Unusable> {
        let test_cluster =
            environment.test_cluster(isolation, target).await.map_err(|error| unusable(&error))?;
        let local = test_cluster.cluster.local().ok_or_else(|| Unusable("no local control plane".into()))?;
        let variables = self.variables.lock().clone();
        let spec = local.spec();
        if spec.controller_variables == variables && local.dead().is_none() {
            return Ok(true);
        }
        local.respecify(|spec| spec.controller_variables = variables);
        // An error means that the operator exited, or did not become ready in time.
        Ok(local.restart_controller(spec.controller).await.is_ok())
    }

    /// `None` if the operator does not start.
    async fn execute(&self, tried: &TriedCase) -> Result<(Option<CaseResult>, bool), Unusable> {
        let environment = self.environment()?;
        let TriedCase { case, target, .. } = tried;
        let is_dedicated = case.isolation == Isolation::Dedicated;
        let _one_at_a_time = if is_dedicated { Some(self.dedicated.lock().await) } else { None };
        if is_dedicated && !self.switch(&environment, case.isolation, *target).await? {
            return Ok((None, true));
        }
        let result = environment.execute(case, *target).await;
        let test_cluster: Arc<TestCluster> =
            environment.test_cluster(case.isolation, *target).await.map_err(|error| unusable(&error))?;
        let has_ended = test_cluster.cluster.operator_death().is_some();
        Ok((Some(result), has_ended))
    }

    async fn record(&self, tried: &TriedCase) -> Result<bool, Unusable> {
        // The operator that ran before has the old file open.
        let _ = std::fs::remove_file(&self.sites);
        let recording = self.recordings.fetch_add(1, Ordering::Relaxed).to_string();
        let sites = self.sites.display().to_string();
        *self.variables.lock() =
            vec![(SITES_VARIABLE.to_owned(), sites), (RECORDING_VARIABLE.to_owned(), recording)];
        let environment = self.environment()?;
        self.switch(&environment, tried.case.isolation, tried.target).await
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
                return Err(Unusable("the operator does not start without a mutation".into()));
            }
        }
        let (result, has_ended) = self.execute(tried).await?;
        let passed = |result: CaseResult| {
            // The case may have ended at once, because a scheduler is missing.
            result.attempts > 0 && verdict::is_expected(result.outcome.verdict)
        };
        Ok(BaselineCase {
            id: tried.id.clone(),
            passed: result.is_some_and(passed) && !has_ended,
            seconds: begin.elapsed().as_secs_f64(),
            executed: baseline::executed(&self.sites),
        })
    }
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

impl Subject for MutatedOperator {
    async fn turn_on(&self, number: u32) -> Result<bool, Unusable> {
        *self.variables.lock() = vec![(VARIABLE.to_owned(), number.to_string())];
        let environment = self.environment()?;
        self.switch(&environment, Isolation::Shared, self.target).await
    }

    async fn run(&self, case: &str) -> Result<CaseEnd, Unusable> {
        let tried = self.cases.get(case).ok_or_else(|| Unusable(format!("there is no case {case:?}")))?;
        let (result, operator_ended) = self.execute(tried).await?;
        let Some(result) = result else {
            return Ok(CaseEnd { has_failed: true, kill: None, operator_ended });
        };
        Ok(CaseEnd {
            has_failed: !verdict::is_expected(result.outcome.verdict),
            kill: kill_of(case, &result),
            operator_ended,
        })
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
