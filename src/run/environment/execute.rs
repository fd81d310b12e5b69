//! The way of one test, from its namespace to its judgements.

use std::collections::BTreeMap;
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
        let mut clauses = verdict::judged_clauses(case, target);
        let absent = || self.absent(target).filter(|_| !clauses.iter().any(|id| verdict::is_contract(id)));
        if let Some(reason) = self.lacks(case, target).or_else(absent) {
            let outcome = Outcome::not_run_announced(reason);
            return CaseResult::without_running(case.id, case.title, clauses, &outcome);
        }
        if clauses.is_empty() {
            return verdict::unsupported(case, target);
        }
        let undeclared: BTreeMap<_, _> =
            clauses.iter().filter_map(|id| Some((*id, self.undeclared(id, target)?))).collect();
        clauses.retain(|id| !undeclared.contains_key(id));
        if clauses.is_empty() {
            return verdict::undeclared(case, &undeclared);
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
        let place = self.place(case.isolation, target);
        let _seats = place
            .seats
            .acquire_many(if case.isolation == Isolation::Exclusive { place.all } else { 1 })
            .await;
        self.attempt_here(case, target, attempt).await
    }

    async fn attempt_here(&self, case: &'static Case, target: Target, attempt: usize) -> CaseResult {
        let failed = |error: &ClusterError| {
            let clauses = verdict::judged_clauses(case, target);
            CaseResult::without_running(case.id, case.title, clauses, &Outcome::error(error.to_string()))
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
        let test =
            TestContext::begin(case, target, test_cluster.clone(), namespace.clone(), self.settings.scale)
                .await;
        let mut test = match test {
            Ok(test) => test,
            Err(stop) => {
                let _ = test_cluster.cluster.node_pools().release(names::POOL, &namespace).await;
                return failed(&cluster_error(stop));
            }
        };
        let stop = tokio::select! {
            ended = (case.drive)(&mut test) => ended.err(),
            death = death(&test_cluster, target) => Some(Stop::Cluster(death)),
        };
        let judging = Instant::now();
        let settled = test.test_cluster.recorder.settle(&test.namespace, limits::SETTLE.length).await;
        let stop = stop.or_else(|| {
            (!settled).then(|| {
                let what = "the watches".to_owned();
                let last = "the history does not show all that the API server lists".to_owned();
                Stop::Cluster(ClusterError::NotReady { what, seconds: limits::SETTLE.length.as_secs(), last })
            })
        });
        if let Some(stop) = &stop {
            test.mark(STOPPED, stop.detail());
        }
        let history = test.history();
        let findings = (case.judge)(&history);
        let mut judgements = verdict::judgements(case, target, &history, &findings, stop.as_ref());
        for judgement in &mut judgements {
            if let Some(reason) = self.undeclared(&judgement.clause, target) {
                judgement.outcome = Outcome::unsupported(reason);
                judgement.violations.clear();
            }
        }
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

    /// Lets the case's objects go without waiting for it: the next case has names and nodes of its own. On a cluster
    /// that ends with the run the namespace stays; its deletion costs the API server more than most cases.
    async fn clean(&self, test: &TestContext) {
        let (client, pool) = (&test.test_cluster.client, &test.namespace);
        if let Err(error) = test.clear_cluster().await {
            tracing::debug!(namespace = test.namespace, %error, "cleaning up");
        }
        let cluster = &test.test_cluster.cluster;
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
            tracing::debug!(namespace = test.namespace, %error, "cleaning up");
        }
        test.test_cluster.recorder.forget(&test.namespace);
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
