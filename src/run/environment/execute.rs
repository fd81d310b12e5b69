//! The way of one test, from its namespace to its judgements.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use conformance_cluster::{ClusterError, deploy};
use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_contract::verdict::Outcome;
use conformance_driver::case::{Case, Isolation};
use conformance_driver::context::{STOPPED, Stop, TestContext};
use conformance_driver::limits;
use conformance_driver::test_cluster::TestCluster;
use conformance_report::{CaseResult, Seconds};

use super::{Environment, Origin};
use crate::artifacts::Artifacts;
use crate::environment::requirements::{scheduler_failed, too_small};
use crate::verdict;

/// The clauses that are judged by the order of objects of different kinds.
const ACROSS_KINDS: [&str; 1] = ["GANG-07"];

impl Environment {
    /// Holds a case on a target, with the retries that the settings allow.
    pub async fn execute(&self, case: &'static Case, target: Target) -> CaseResult {
        let clauses = verdict::judged_clauses(case, target);
        let interrupted = || verdict::not_held(case, target, &conformance_report::interrupted());
        let absent = || self.absent(target).filter(|_| !clauses.iter().any(|id| verdict::is_contract(id)));
        if let Some(reason) = self.lacks(case, target).or_else(absent) {
            let outcome = Outcome::not_run_announced(reason);
            return CaseResult::without_running(case.id, case.title, clauses, &outcome);
        }
        if clauses.is_empty() {
            return verdict::unsupported(case, target);
        }
        let mut attempts: Vec<CaseResult> = Vec::new();
        // Of a case that is interrupted while it is tried again, the attempts that ended are what is known.
        loop {
            let waiting = self.seats(case, target);
            let Some(_seats) = self.interruption.unless_requested(waiting).await else {
                break if attempts.is_empty() { interrupted() } else { verdict::of_attempts(attempts) };
            };
            let result = {
                let _running = self.interruption.running();
                self.attempt_here(case, target, attempts.len()).await
            };
            if result.is_interrupted() {
                break if attempts.is_empty() { result } else { verdict::of_attempts(attempts) };
            }
            let passed = verdict::is_expected(result.outcome.verdict);
            attempts.push(result);
            if passed || attempts.len() > self.settings.retries as usize {
                break verdict::of_attempts(attempts);
            }
        }
    }

    /// Waits for its turn.
    async fn seats(
        &self,
        case: &Case,
        target: Target,
    ) -> Result<tokio::sync::SemaphorePermit<'_>, tokio::sync::AcquireError> {
        let place = self.place(case.isolation, target);
        // The semaphore is never closed.
        place.seats.acquire_many(if case.isolation == Isolation::Exclusive { place.all } else { 1 }).await
    }

    async fn attempt_here(&self, case: &'static Case, target: Target, attempt: usize) -> CaseResult {
        let failed = |error: &ClusterError| {
            let clauses = verdict::judged_clauses(case, target);
            let outcome = match self.interruption.is_requested() {
                true => conformance_report::interrupted(),
                false => Outcome::error(error.to_string()),
            };
            CaseResult::without_running(case.id, case.title, clauses, &outcome)
        };
        let test_cluster = match self.test_cluster(case.isolation, target).await {
            Ok(test_cluster) => test_cluster,
            Err(error) => return failed(&error),
        };
        if let Some(death) = test_cluster.cluster.dead() {
            return failed(&death);
        }
        if let Some(reason) = too_small(&test_cluster, case) {
            let clauses = verdict::judged_clauses(case, target);
            let outcome = Outcome::not_run_announced(reason);
            return CaseResult::without_running(case.id, case.title, clauses, &outcome);
        }
        if let Some(failure) = scheduler_failed(&test_cluster, target) {
            return failed(&failure);
        }
        let begin = Instant::now();
        let number = self.cases.fetch_add(1, Ordering::Relaxed);
        let namespace = format!("{}-{}-{number}", case.id.replace('/', "-"), self.settings.run);
        let artifacts = Artifacts::begin(&self.settings.out, case, target, &test_cluster, attempt);
        let beginning =
            TestContext::begin(case, target, test_cluster.clone(), namespace.clone(), self.settings.scale);
        let begun = match self.settings.origin {
            Origin::Local | Origin::Kind(_) => self.interruption.unless_requested(beginning).await,
            // A request that is dropped may still be served: in somebody's cluster the case is made, and removed.
            Origin::Up(_) | Origin::Existing { .. } => Some(beginning.await),
        };
        let mut test = match begun {
            Some(Ok(test)) => test,
            Some(Err(stop)) => {
                let _ = self.release(&test_cluster, &namespace).await;
                return failed(&cluster_error(stop));
            }
            None => return verdict::not_held(case, target, &conformance_report::interrupted()),
        };
        let stop = tokio::select! {
            biased;
            () = self.interruption.requested() => return self.interrupted(test, &artifacts, begin).await,
            ended = (case.drive)(&mut test) => ended.err(),
            death = death(&test_cluster, target) => Some(Stop::Cluster(death)),
        };
        let judging = Instant::now();
        let settled = test.test_cluster.recorder.settle(&test.namespace, limits::SETTLE.length).await;
        let stop = match stop {
            Some(Stop::Cluster(error)) => Some(Stop::Cluster(error)),
            stop if settled => stop,
            // Whatever the driver waited for in vain, the API server may have shown it to nobody.
            stop => {
                let what = "the watches".to_owned();
                let mut last = "the history does not show all that the API server lists".to_owned();
                if let Some(stop) = stop {
                    last = format!("{last}\n{stop}");
                }
                Some(Stop::Cluster(ClusterError::NotReady {
                    what,
                    seconds: limits::SETTLE.length.as_secs(),
                    last,
                }))
            }
        };
        if let Some(stop) = &stop {
            test.mark(STOPPED, stop.detail());
        }
        let history = test.history();
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
        self.clean(&test).await;
        result.reproduce =
            Some(self.settings.reproduce.replace("{case}", case.id).replace("{target}", &target.words()));
        result.duration_seconds = Seconds::from(begin.elapsed());
        result.overhead_seconds = Some(Seconds::from(test.overhead + judging.elapsed()));
        result.negative_verdict_seconds = test.negative_verdict.map(Seconds::from);
        result
    }

    /// What is said of a case that the interruption has ended. It is not judged: what it had not come to would look as if
    /// it had not happened. Its history is kept.
    async fn interrupted(&self, test: TestContext, artifacts: &Artifacts, begin: Instant) -> CaseResult {
        test.mark(verdict::INTERRUPTED, serde_json::Value::Null);
        let history = test.history();
        let judgements = verdict::interrupted(test.case, test.target);
        let mut result = CaseResult::new(test.case.id, test.case.title, judgements);
        result.artifacts = artifacts.keep(&history, &result, None).await;
        // The others end with the run.
        if let Origin::Up(_) | Origin::Existing { .. } = self.settings.origin {
            self.clean(&test).await;
        }
        result.duration_seconds = Seconds::from(begin.elapsed());
        result
    }

    /// Lets the case's objects go without waiting for it: the next case has names and nodes of its own. On a cluster
    /// that ends with the run the namespace stays; its deletion costs the API server more than most cases.
    async fn clean(&self, test: &TestContext) {
        if let Err(error) = test.clear_cluster().await {
            tracing::debug!(namespace = test.namespace, %error, "cleaning up");
        }
        if let Err(error) = self.release(&test.test_cluster, &test.namespace).await {
            tracing::debug!(namespace = test.namespace, %error, "cleaning up");
        }
        test.test_cluster.recorder.forget(&test.namespace);
    }

    /// Lets a namespace's objects and nodes go.
    async fn release(&self, test_cluster: &TestCluster, pool: &str) -> Result<(), ClusterError> {
        let client = &test_cluster.client;
        match self.settings.origin {
            Origin::Local => deploy::delete_workloads(client, pool).await?,
            Origin::Kind(_) => {
                deploy::delete_workloads(client, pool).await?;
                deploy::delete_pods(client, pool, names::CANARY).await?;
            }
            Origin::Up(_) | Origin::Existing { .. } => deploy::delete_namespace(client, pool).await?,
        }
        test_cluster.cluster.node_pools().release(names::POOL, pool).await
    }
}

fn cluster_error(stop: Stop) -> ClusterError {
    match stop {
        Stop::Cluster(error) => error,
        stop @ (Stop::Wait { .. } | Stop::Refused { .. }) => ClusterError::Name(stop.to_string()),
    }
}

/// Returns when a part of the cluster that the target needs has ended by itself.
async fn death(test_cluster: &TestCluster, target: Target) -> ClusterError {
    loop {
        if let Some(death) = test_cluster.cluster.dead().or_else(|| scheduler_failed(test_cluster, target)) {
            return death;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}
