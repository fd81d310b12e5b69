//! Where trials are held: the cluster that they share, the one for cases that must be alone, and the way of one trial
//! from its namespace to its judgements.
//!
//! Clusters are brought up when the first trial needs them, so `list` and a filter that leaves nothing cost nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{OnceCell, Semaphore};

use super::artifacts::Artifacts;
use super::case::{Case, Lane};
use super::cluster::Ground;
use super::target::{TARGETS, Target};
use super::trial::{STOPPED, Stop, Trial};
use super::verdict;
use super::{limits, names};
use crate::cluster::existing::ExistingCluster;
use crate::cluster::kind::{KindCluster, KindSpec};
use crate::cluster::local::{ClusterSpec, LocalCluster, Part, Programs};
use crate::cluster::node_pools::CANARY_NODE;
use crate::cluster::provider::Provider;
use crate::cluster::schedulers::Scheduler;
use crate::cluster::{ClusterError, deploy};
use crate::report::{CaseResult, Implementation, Outcome, Seconds};

/// How trials are held.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The run's id: part of cluster names, namespaces and labels.
    pub run: String,
    /// The shared cluster.
    pub spec: ClusterSpec,
    /// Where the shared cluster comes from.
    pub origin: Origin,
    /// Whose controller is judged; `None` is the reference controller.
    pub implementation: Option<Implementation>,
    /// How to make local clusters.
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

/// Where the shared cluster comes from.
#[derive(Debug, Clone)]
pub enum Origin {
    /// The run makes it of local processes.
    Local,
    /// The run makes it of containers.
    Kind(Box<KindSpec>),
    /// `up` has made it.
    Up(PathBuf),
    /// It is somebody else's.
    Existing {
        /// How to reach it.
        kubeconfig: PathBuf,
        /// Whether other workloads there are no obstacle.
        beside_others: bool,
        /// Whether all its kinds are in one etcd, so that their resourceVersions are in one order.
        one_etcd: bool,
    },
}

/// The clauses that are judged by the order of objects of different kinds.
const ACROSS_KINDS: [&str; 1] = ["GANG-07"];

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
    all: u32,
}

impl Place {
    fn new(seats: u32) -> Self {
        Self { ground: OnceCell::new(), seats: Semaphore::new(seats as usize), all: seats }
    }
}

impl Arena {
    /// Nothing is started yet.
    pub fn new(settings: Settings) -> Self {
        let shared = Place::new(u32::try_from(settings.concurrency).unwrap_or(u32::MAX));
        let alone = TARGETS.into_iter().map(|target| (target, Place::new(1))).collect();
        Self { settings, shared, alone, trials: AtomicU32::new(0) }
    }

    /// Where a case is held on a target: with all others, or on the target's own cluster for cases that are alone.
    fn place(&self, lane: Lane, target: Target) -> &Place {
        match lane {
            Lane::Shared | Lane::Serial => &self.shared,
            Lane::Alone => self.alone.get(&target).unwrap_or(&self.shared),
        }
    }

    /// The cluster of a lane and target, brought up at the first call.
    ///
    /// # Errors
    /// What kept it from coming up, the same for every caller.
    pub async fn ground(&self, lane: Lane, target: Target) -> Result<Arc<Ground>, Arc<ClusterError>> {
        let settings = &self.settings;
        let bring_up = || async move {
            let made = match lane {
                Lane::Shared | Lane::Serial => self.bring_up_shared().await,
                Lane::Alone => {
                    let spec = settings.spec.clone().narrowed_to(target.scheduler());
                    let spec = ClusterSpec { watch_cache: false, ..spec };
                    self.bring_up_local(&format!("alone-{}", target.slug()), spec).await
                }
            };
            made.map(Arc::new).map_err(Arc::new)
        };
        self.place(lane, target).ground.get_or_init(bring_up).await.clone()
    }

    async fn bring_up_local(&self, name: &str, spec: ClusterSpec) -> Result<Ground, ClusterError> {
        let (run, schedulers) = (&self.settings.run, spec.schedulers.clone());
        let programs = self.settings.programs.clone();
        let cluster = LocalCluster::start(&format!("{run}-{name}"), spec, programs).await?;
        Ground::prepare(Arc::new(cluster), &schedulers, run).await
    }

    async fn bring_up_shared(&self) -> Result<Ground, ClusterError> {
        let (run, spec) = (&self.settings.run, &self.settings.spec);
        let label = (names::RUN, run.as_str());
        let existing = match &self.settings.origin {
            Origin::Local => return self.bring_up_local("shared", spec.clone()).await,
            Origin::Kind(kind) => {
                let cluster = KindCluster::create(&format!("{run}-shared"), kind).await?;
                return Ground::prepare(Arc::new(cluster), &spec.schedulers, run).await;
            }
            Origin::Up(kubeconfig) => ExistingCluster::connect(kubeconfig, label, true).await?,
            Origin::Existing { kubeconfig, beside_others, .. } => {
                ExistingCluster::connect(kubeconfig, label, *beside_others).await?
            }
        };
        let existing = Arc::new(existing);
        let prepared = async {
            let ground = Ground::prepare(existing.clone(), &spec.schedulers, run).await?;
            existing.simulates(&format!("conformance-probe-{run}"), CANARY_NODE).await?;
            let configured_by_others = matches!(self.settings.origin, Origin::Existing { .. });
            Ok(Ground { configured_by_others, ..ground })
        };
        let prepared = prepared.await;
        if prepared.is_err() {
            // What it has made by then is nobody's any more.
            existing.end(false).await?;
        }
        prepared
    }

    /// The shared cluster, if it is up.
    pub fn shared(&self) -> Option<Arc<Ground>> {
        self.shared.ground.get()?.as_ref().ok().cloned()
    }

    /// Seconds that the shared cluster took to be ready, if the run made one.
    pub fn cluster_ready(&self) -> Option<Duration> {
        self.shared()?.cluster.ready_in()
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
        let is_local = matches!(self.settings.origin, Origin::Local);
        match case.group() {
            _ if case.lane == Lane::Alone
                && !matches!(self.settings.origin, Origin::Local | Origin::Up(_)) =>
            {
                Some("it stops or reconfigures a part of the control plane: run it with --provider local")
            }
            "klt" if !matches!(self.settings.origin, Origin::Kind(_)) => {
                Some("the nodes have no kubelets, they are simulated: run it with --provider kind")
            }
            "kai"
                if case.clauses.contains(&"KAI-07") && self.settings.spec.kai.is_some() && !pod_grouper() =>
            {
                Some("KAI's podgrouper is not in the folder of --kai-dir")
            }
            "coex" if !is_local => {
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
        let place = self.place(case.lane, target);
        let _seats = place.seats.acquire_many(if case.lane == Lane::Serial { place.all } else { 1 }).await;
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
        if let Some(death) = ground.cluster.dead() {
            return failed(&death);
        }
        if let Some(reason) = too_small(&ground, case) {
            let clauses = verdict::judged_clauses(case, target);
            let outcome = Outcome::not_run_announced(reason);
            return CaseResult::without_running(case.id, case.title, clauses, &outcome);
        }
        if let Some(failure) = scheduler_failed(&ground, target) {
            return failed(&failure);
        }
        let begin = Instant::now();
        let number = self.trials.fetch_add(1, Ordering::Relaxed);
        let namespace = format!("{}-{}-{number}", case.id.replace('/', "-"), self.settings.run);
        let artifacts = Artifacts::begin(&self.settings.out, case, target, &ground, attempt);
        let trial = Trial::begin(case, target, ground.clone(), namespace.clone(), self.settings.scale).await;
        let mut trial = match trial {
            Ok(trial) => trial,
            Err(stop) => {
                let _ = ground.cluster.node_pools().release(names::POOL, &namespace).await;
                return failed(&cluster_error(stop));
            }
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
        if let Origin::Existing { one_etcd: false, .. } = self.settings.origin {
            let across =
                judgements.iter_mut().filter(|judgement| ACROSS_KINDS.contains(&judgement.clause.as_str()));
            for judgement in across {
                judgement.outcome = Outcome::not_run_announced(
                    "the order across kinds is told by resourceVersions of one etcd: say --one-etcd where it is so",
                );
                judgement.violations.clear();
            }
        }
        if let Some(reason) = self.absent(target) {
            for judgement in
                judgements.iter_mut().filter(|judgement| !verdict::is_contract(&judgement.clause))
            {
                judgement.outcome = Outcome::not_run_announced(reason);
                judgement.violations.clear();
            }
        }
        let mut result = CaseResult::new(case.id, case.title, judgements);
        result.artifacts = artifacts.keep(&history, &result, stop.as_ref()).await;
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
        let cluster = &trial.ground.cluster;
        let gone = async {
            match self.settings.origin {
                Origin::Local => deploy::delete_workloads(client, pool).await?,
                Origin::Kind(_) => {
                    deploy::delete_workloads(client, pool).await?;
                    deploy::delete_pods(client, pool, names::CANARY).await?;
                }
                Origin::Up(_) | Origin::Existing { .. } => deploy::delete_namespace(client, pool).await?,
            }
            cluster.node_pools().release(names::POOL, pool).await
        };
        let gone = gone.await;
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
            let cluster = ground.cluster.clone();
            // Its watches end before what they watch.
            drop(ground);
            errors.extend(cluster.end(self.settings.keep).await.err());
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

/// Why a cluster's nodes do not do for a case: there are too few, or it is about a kubelet's own `pods`.
fn too_small(ground: &Ground, case: &Case) -> Option<String> {
    let pools = ground.cluster.node_pools();
    let (there, wanted) = (pools.size()?, case.nodes.iter().map(|nodes| nodes.count as usize).sum::<usize>());
    if case.id == "aon/nothing-requested" {
        return Some("its pods ask for nothing, and a kubelet's own `pods` cannot be made scarce".into());
    }
    (wanted > there).then(|| format!("it needs {wanted} nodes, the cluster has {there}"))
}

/// Why a target's scheduler is not there.
fn scheduler_failed(ground: &Ground, target: Target) -> Option<ClusterError> {
    let reason = ground.cluster.scheduler_failed(target.scheduler())?;
    Some(ClusterError::Name(format!("backend {} is not run: {reason}", target.backend())))
}

/// Returns when a part of the cluster that the target needs has ended by itself.
async fn death(ground: &Ground, target: Target) -> ClusterError {
    loop {
        if let Some(death) = ground.cluster.dead().or_else(|| scheduler_failed(ground, target)) {
            return death;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}
