//! Where trials are held: the cluster that they share, the one for cases that must be alone, and the way of one trial
//! from its namespace to its judgements.
//!
//! Clusters are brought up when the first trial needs them, so `list` and a filter that leaves nothing cost nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use kube::Client;
use tokio::sync::{OnceCell, Semaphore};

use super::artifacts::Artifacts;
use super::case::{Case, Lane};
use super::cluster::Ground;
use super::target::{TARGETS, Target};
use super::trial::{STOPPED, Stop, Trial};
use super::verdict;
use super::{limits, names};
use crate::cluster::local::{ClusterSpec, LocalCluster, Part, Programs};
use crate::cluster::schedulers::Scheduler;
use crate::cluster::{ClusterError, deploy};
use crate::report::{CaseResult, Outcome, Seconds};

/// How trials are held.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The run's id: part of cluster names, namespaces and labels.
    pub run: String,
    /// The shared cluster.
    pub spec: ClusterSpec,
    /// A cluster that is up already, instead of one of the run's own.
    pub attach: Option<PathBuf>,
    /// How to make clusters.
    pub programs: Programs,
    /// Factor on every named limit.
    pub scale: f64,
    /// Trials at a time on the shared cluster.
    pub concurrency: usize,
    /// How often a trial that did not pass is tried again; a pass then counts as flaky.
    pub retries: u32,
    /// Where histories and artifacts go.
    pub out: PathBuf,
    /// Whether clusters and their folders stay after a failure.
    pub keep: bool,
    /// A command that holds one trial again, with `{case}` and `{target}` in it.
    pub reproduce: String,
}

/// The clusters of a run.
#[derive(Debug)]
pub struct Arena {
    /// How trials are held.
    pub settings: Settings,
    shared: Place,
    alone: BTreeMap<Target, Place>,
    trials: AtomicU32,
}

/// A cluster to be, and how many trials it holds at a time.
#[derive(Debug)]
struct Place {
    ground: OnceCell<Result<Arc<Ground>, Arc<ClusterError>>>,
    seats: Semaphore,
}

impl Place {
    fn new(seats: usize) -> Self {
        Self { ground: OnceCell::new(), seats: Semaphore::new(seats) }
    }
}

impl Arena {
    /// Nothing is started yet.
    pub fn new(settings: Settings) -> Self {
        let shared = Place::new(settings.concurrency);
        let alone = TARGETS.into_iter().map(|target| (target, Place::new(1))).collect();
        Self { settings, shared, alone, trials: AtomicU32::new(0) }
    }

    /// Where a case is held on a target: with all others, or on the target's own cluster for cases that are alone.
    fn place(&self, lane: Lane, target: Target) -> &Place {
        match lane {
            Lane::Shared => &self.shared,
            Lane::Alone => self.alone.get(&target).unwrap_or(&self.shared),
        }
    }

    /// The cluster of a lane and target, brought up at the first call.
    ///
    /// # Errors
    /// What kept it from coming up, the same for every caller.
    pub async fn ground(&self, lane: Lane, target: Target) -> Result<Arc<Ground>, Arc<ClusterError>> {
        let settings = &self.settings;
        let (name, attach, spec) = match lane {
            Lane::Shared => ("shared".to_owned(), settings.attach.as_ref(), settings.spec.clone()),
            Lane::Alone => {
                let spec = settings.spec.clone().narrowed_to(target.scheduler());
                let spec = ClusterSpec { watch_cache: false, ..spec };
                (format!("alone-{}", target.slug()), None, spec)
            }
        };
        let bring_up = || async move {
            self.bring_up(&format!("{}-{name}", settings.run), spec, attach)
                .await
                .map(Arc::new)
                .map_err(Arc::new)
        };
        self.place(lane, target).ground.get_or_init(bring_up).await.clone()
    }

    async fn bring_up(
        &self,
        name: &str,
        spec: ClusterSpec,
        attach: Option<&PathBuf>,
    ) -> Result<Ground, ClusterError> {
        let run = &self.settings.run;
        if let Some(kubeconfig) = attach {
            let client: Client = crate::cluster::local::client(kubeconfig).await?;
            return Ground::prepare(client, None, &self.settings.spec.schedulers, run).await;
        }
        let schedulers = spec.schedulers.clone();
        let cluster = LocalCluster::start(name, spec, self.settings.programs.clone()).await?;
        Ground::prepare(cluster.client(), Some(Arc::new(cluster)), &schedulers, run).await
    }

    /// Seconds that the shared cluster took to be ready, if the run made one.
    pub fn cluster_ready(&self) -> Option<Duration> {
        self.shared.ground.get()?.as_ref().ok()?.local.as_ref().map(|local| local.ready_in)
    }

    /// Why nothing can be said about a target's scheduler: it is not in the clusters of this run. What the API server
    /// alone shows is judged all the same.
    fn absent(&self, target: Target) -> Option<&'static str> {
        let missing = target.scheduler() == Scheduler::Kai && self.settings.spec.kai.is_none();
        missing.then_some(
            "KAI binaries not found (--kai-dir): a stand-in binds the pods, one by one, and only what the API server \
             shows is judged",
        )
    }

    /// Why a case cannot be held in the clusters of this run.
    fn lacks(&self, case: &Case) -> Option<&'static str> {
        let pod_grouper =
            || self.settings.spec.parts_of(Scheduler::Kai).any(|part| part == Part::KaiPodGrouper);
        match case.group() {
            "kai"
                if case.clauses.contains(&"KAI-07") && self.settings.spec.kai.is_some() && !pod_grouper() =>
            {
                Some("KAI's podgrouper is not in the folder of --kai-dir")
            }
            "coex" if self.settings.attach.is_some() => {
                Some("who has bound a pod is read from the audit log of a cluster of the harness's own")
            }
            "coex" if self.settings.spec.schedulers.len() < 2 => {
                Some("one scheduler only; run --backend all")
            }
            _ => None,
        }
    }

    /// Holds a case on a target, with the retries that the settings allow.
    pub async fn hold(&self, case: &'static Case, target: Target) -> CaseResult {
        let clauses = verdict::judged_clauses(case, target);
        let absent = || self.absent(target).filter(|_| !clauses.iter().any(|id| verdict::is_contract(id)));
        if let Some(reason) = self.lacks(case).or_else(absent) {
            let outcome = Outcome::not_run_announced(reason);
            return CaseResult::without_running(case.id, case.title, clauses, &outcome);
        }
        if clauses.is_empty() {
            let why = case
                .undeclared(target)
                .into_iter()
                .map(|feature| target.why_not(feature))
                .collect::<Vec<_>>();
            let outcome = Outcome::unsupported(why.join("; "));
            return CaseResult::without_running(case.id, case.title, case.clauses.iter().copied(), &outcome);
        }
        let mut attempts: Vec<CaseResult> = Vec::new();
        loop {
            let result = self.attempt(case, target, attempts.len()).await;
            let passed = verdict::is_expected(result.outcome.verdict);
            attempts.push(result);
            if passed || attempts.len() > self.settings.retries as usize {
                return verdict::of_attempts(attempts);
            }
        }
    }

    async fn attempt(&self, case: &'static Case, target: Target, attempt: usize) -> CaseResult {
        // The semaphore is never closed.
        let _seat = self.place(case.lane, target).seats.acquire().await;
        self.attempt_here(case, target, attempt).await
    }

    async fn attempt_here(&self, case: &'static Case, target: Target, attempt: usize) -> CaseResult {
        let failed = |error: &ClusterError| {
            let clauses = verdict::judged_clauses(case, target);
            CaseResult::without_running(case.id, case.title, clauses, &Outcome::error(error.to_string()))
        };
        let ground = match self.ground(case.lane, target).await {
            Ok(ground) => ground,
            Err(error) => return failed(&error),
        };
        if let Some(death) = ground.local.as_ref().and_then(|local| local.dead()) {
            return failed(&death);
        }
        if let Some(failure) = scheduler_failed(&ground, target) {
            return failed(&failure);
        }
        let begin = Instant::now();
        let number = self.trials.fetch_add(1, Ordering::Relaxed);
        let namespace = format!("{}-{}-{number}", case.id.replace('/', "-"), self.settings.run);
        let mut artifacts = Artifacts::begin(&self.settings.out, case, target, &ground, attempt);
        let trial = Trial::begin(case, target, ground.clone(), namespace, self.settings.scale).await;
        let mut trial = match trial {
            Ok(trial) => trial,
            Err(stop) => return failed(&cluster_error(stop)),
        };
        let stop = tokio::select! {
            ended = (case.drive)(&mut trial) => ended.err(),
            death = death(&ground, target) => Some(Stop::Cluster(death)),
        };
        let judging = Instant::now();
        let settled = trial.ground.recorder.settle(&trial.namespace, limits::SETTLE.length).await;
        let stop = stop.or_else(|| {
            (!settled).then(|| {
                let what = "the watches".to_owned();
                let last = "the history does not show all that the API server lists".to_owned();
                Stop::Cluster(ClusterError::NotReady { what, seconds: limits::SETTLE.length.as_secs(), last })
            })
        });
        if let Some(stop) = &stop {
            trial.mark(STOPPED, stop.detail());
        }
        let history = trial.history();
        let findings = (case.judge)(&history);
        let mut judgements = verdict::judgements(case, target, &history, &findings, stop.as_ref());
        if let Some(reason) = self.absent(target) {
            for judgement in
                judgements.iter_mut().filter(|judgement| !verdict::is_contract(&judgement.clause))
            {
                judgement.outcome = Outcome::not_run_announced(reason);
                judgement.violations.clear();
            }
        }
        let mut result = CaseResult::new(case.id, case.title, judgements);
        result.artifacts = artifacts.keep(&history, &result, stop.as_ref());
        self.clean(&trial).await;
        result.reproduce =
            Some(self.settings.reproduce.replace("{case}", case.id).replace("{target}", &target.words()));
        result.duration_seconds = Seconds::from(begin.elapsed());
        result.overhead_seconds = Some(Seconds::from(trial.overhead + judging.elapsed()));
        result.negative_verdict_seconds = trial.negative_verdict.map(Seconds::from);
        result
    }

    /// Lets the trial's objects go without waiting for it: the next trial has names and nodes of its own. On a cluster
    /// that ends with the run the namespace stays; its deletion costs the API server more than most trials.
    async fn clean(&self, trial: &Trial) {
        let (client, pool) = (&trial.ground.client, &trial.namespace);
        if let Err(error) = trial.clear_cluster().await {
            tracing::debug!(namespace = trial.namespace, %error, "cleaning up");
        }
        let gone = match trial.ground.local {
            Some(_) => deploy::delete_workloads_and_nodes(client, pool, names::POOL).await,
            None => deploy::delete_namespace_and_nodes(client, pool, names::POOL).await,
        };
        if let Err(error) = gone {
            tracing::debug!(namespace = trial.namespace, %error, "cleaning up");
        }
        trial.ground.recorder.forget(&trial.namespace);
    }

    /// Ends the clusters that this run made, all of them; what went wrong.
    pub async fn close(self) -> Vec<ClusterError> {
        let mut errors = Vec::new();
        for place in std::iter::once(self.shared).chain(self.alone.into_values()) {
            let Some(Ok(ground)) = place.ground.into_inner() else { continue };
            let Some(ground) = Arc::into_inner(ground) else { continue };
            let ended = match ground.local {
                None => deploy::delete_nodes(&ground.client, names::RUN, &ground.run).await,
                Some(local) => {
                    drop(ground.recorder);
                    let Some(cluster) = Arc::into_inner(local) else { continue };
                    // The logs of a part that ended by itself are named in the report.
                    let failed = cluster.dead().is_some() || !cluster.failed_schedulers().is_empty();
                    let keep = self.settings.keep || failed;
                    cluster.stop(keep).await
                }
            };
            errors.extend(ended.err());
        }
        errors
    }
}

fn cluster_error(stop: Stop) -> ClusterError {
    match stop {
        Stop::Cluster(error) => error,
        stop @ (Stop::Wait { .. } | Stop::Refused { .. }) => ClusterError::Name(stop.to_string()),
    }
}

/// Why a target's scheduler is not there.
fn scheduler_failed(ground: &Ground, target: Target) -> Option<ClusterError> {
    let reason = ground.local.as_ref()?.failed_schedulers().remove(&target.scheduler())?;
    Some(ClusterError::Name(format!("backend {} is not run: {reason}", target.backend())))
}

/// Returns when a part of the cluster that the target needs has ended by itself.
async fn death(ground: &Ground, target: Target) -> ClusterError {
    loop {
        let dead = ground.local.as_ref().and_then(|local| local.dead());
        if let Some(death) = dead.or_else(|| scheduler_failed(ground, target)) {
            return death;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}
