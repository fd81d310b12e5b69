//! Runs one case on one target, from its namespace to its verdicts.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use conformance_check::{idle_writes, said};
use conformance_cluster::{ClusterError, deploy};
use conformance_contract::clauses::Workload;
use conformance_contract::ruling::{Broken, Finding};
use conformance_contract::target::Target;
use conformance_contract::verdict::Outcome;
use conformance_contract::{clauses, names};
use conformance_driver::case::{Case, Isolation};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::test_cluster::TestCluster;
use conformance_history::{History, SharedMark};
use conformance_programs::{peak_memory, process};
use conformance_report::{CaseResult, ExceptedWrites, Seconds};
use futures::FutureExt;
use futures::future::select_all;
use serde_json::{Map, Value};

use super::seats::Seat;
use super::{ClusterSlot, Environment, Origin};
use crate::artifacts::Artifacts;
use crate::environment::requirements::{scheduler_failed, too_small};
use crate::verdict;

const LOOK_AGAIN: Duration = Duration::from_secs(2);

impl Environment {
    /// Runs a case on a target, with the retries that the settings allow.
    pub async fn execute(&self, case: &'static Case, target: Target) -> CaseResult {
        let clauses = verdict::judged_clauses(case, target);
        let interrupted = || verdict::not_held(case, target, &conformance_report::interrupted());
        let absent = || self.absent(target).filter(|_| !clauses.iter().any(|id| verdict::is_contract(id)));
        if clauses.is_empty() {
            let unsupported = verdict::unsupported(case, target);
            let as_if =
                self.settings.probe_undeclared.then(|| verdict::as_if_declared(case, target)).flatten();
            return match as_if {
                Some(target) => verdict::probed(unsupported, Box::pin(self.execute(case, target)).await),
                None => unsupported,
            };
        }
        if let Some(reason) = self.lacks(case, target).or_else(absent) {
            let outcome = Outcome::not_run_announced(reason);
            return CaseResult::without_running(case.id, case.title, clauses, &outcome);
        }
        let mut attempts: Vec<CaseResult> = Vec::new();
        // If a retry is interrupted, the finished attempts count.
        loop {
            let failed_before =
                attempts.last().is_some_and(|last| !verdict::is_expected(last.outcome.verdict));
            let waiting = self.seats(case, target, failed_before);
            let Some((place, _seat)) = self.interruption.unless_requested(waiting).await else {
                break if attempts.is_empty() {
                    interrupted()
                } else {
                    verdict::of_attempts(attempts, target)
                };
            };
            let result = {
                let _running = self.interruption.running();
                self.end_if_spent(place, case.isolation, target).await;
                let cluster = self.test_cluster_at(place, case.isolation, target).await;
                let result = self.attempt_here(case, target, attempts.len(), cluster.clone()).await;
                self.end_of_attempt(case, cluster).await;
                result
            };
            if result.is_interrupted() {
                break if attempts.is_empty() { result } else { verdict::of_attempts(attempts, target) };
            }
            let passed = verdict::is_expected(result.outcome.verdict);
            attempts.push(result);
            // A race must be seen to pass, regardless of the number of retries.
            if attempts.len() < verdict::tries_of_races(&attempts, target) {
                continue;
            }
            if passed || attempts.len() > self.settings.retries as usize {
                break verdict::of_attempts(attempts, target);
            }
        }
    }

    /// Waits for a free slot on one of the clusters. A failed case is retried alone, to exclude effects of a
    /// loaded machine.
    async fn seats(
        &self,
        case: &Case,
        target: Target,
        failed_before: bool,
    ) -> (&ClusterSlot, Option<Seat<'_>>) {
        // A dedicated control plane has one slot.
        let is_beside = matches!(case.isolation, Isolation::Shared);
        let is_alone = is_beside && failed_before || case.isolation == Isolation::Exclusive;
        let turns = self.places(case.isolation, target).iter().map(|place| {
            let seat = async move {
                let seat = if is_alone { place.seats.all().await } else { place.seats.one().await };
                (place, seat)
            };
            Box::pin(seat)
        });
        select_all(turns).await.0
    }

    /// Ends a control plane that was started for one attempt; the others belong to the run.
    async fn end_of_attempt(&self, case: &Case, cluster: Result<Arc<TestCluster>, Arc<ClusterError>>) {
        let Ok(test_cluster) = cluster else { return };
        if case.isolation != Isolation::Upgrade {
            return;
        }
        let cluster = test_cluster.cluster.clone();
        // The watches end before the cluster.
        drop(test_cluster);
        if let Err(error) = cluster.end(self.settings.keep).await {
            tracing::warn!(case = case.id, %error, "failed to stop the case's control plane");
        }
    }

    async fn attempt_here(
        &self,
        case: &'static Case,
        target: Target,
        attempt: usize,
        cluster: Result<Arc<TestCluster>, Arc<ClusterError>>,
    ) -> CaseResult {
        let failed = |error: &dyn std::fmt::Display| {
            let clauses = verdict::judged_clauses(case, target);
            let outcome = match self.interruption.is_requested() {
                true => conformance_report::interrupted(),
                false => Outcome::error(error.to_string()),
            };
            CaseResult::without_running(case.id, case.title, clauses, &outcome)
        };
        let test_cluster = match cluster {
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
        let beginning = caught("the setup of the case", beginning);
        let begun = match self.settings.origin {
            Origin::Local | Origin::Kind(_) => self.interruption.unless_requested(beginning).await,
            // The API server may still process a dropped request. In a user's cluster, the case is therefore
            // created completely and then removed.
            Origin::Up(_) | Origin::Existing { .. } => Some(beginning.await),
        };
        let mut test = match begun {
            Some(Ok(test)) => test,
            Some(Err(stop)) => {
                let _ = self.release(&test_cluster, &namespace).await;
                return failed(&stop);
            }
            None => return verdict::not_held(case, target, &conformance_report::interrupted()),
        };
        let stop = tokio::select! {
            biased;
            () = self.interruption.requested() => return self.interrupted(test, &artifacts, begin).await,
            ended = caught("the case's driver", (case.drive)(&mut test)) => ended.err(),
            death = death(&test_cluster, target) => Some(Stop::Cluster(death)),
        };
        let judging = Instant::now();
        let caught_up = test.caught_up().await;
        let stop = match (stop, caught_up) {
            (Some(Stop::Cluster(error)), _) => Some(Stop::Cluster(error)),
            (stop, Ok(())) => stop,
            // If the watches are behind, the driver's timeout proves nothing.
            (_, Err(unsettled)) => Some(unsettled),
        };
        // Dedicated: no other case ran on this cluster.
        let operator_death =
            || test_cluster.cluster.operator_death().filter(|_| case.isolation == Isolation::Dedicated);
        let stop = match stop {
            Some(Stop::Cluster(error)) => {
                Some(operator_death().map_or(Stop::Cluster(error), Stop::OperatorEnded))
            }
            stop => stop,
        };
        let unheld = said::unheld(&test.history()).map(|why| Stop::Cluster(ClusterError::WrittenOver(why)));
        let stop = unheld.or(stop);
        if let Some(stop) = &stop {
            test.mark(SharedMark::Stopped, stop.detail());
        }
        let history = test.history();
        let (findings, stop) = match judged(case, &history) {
            Ok(findings) => (findings, stop),
            // No clause is decided then.
            Err(defect) => (unknown(case, target), Some(Stop::Cluster(defect))),
        };
        let mut judgements = verdict::judgements(case, target, &history, &findings, stop.as_ref());
        if let Origin::Existing { one_etcd: false, .. } = self.settings.origin {
            let across = judgements.iter_mut().filter(|judgement| {
                clauses::clause(&judgement.clause).is_some_and(|clause| clause.across_kinds)
            });
            for judgement in across {
                judgement.outcome = Outcome::not_run_announced(
                    "the order of events of different kinds is known only with a single etcd; pass --one-etcd if there is one",
                );
                judgement.violations.clear();
            }
        }
        if let Some(reason) = self.absent(target) {
            // Ignore clauses violated only by the stand-in scheduler.
            let asked = verdict::judged_clauses(case, target);
            judgements.retain(|judgement| {
                verdict::is_contract(&judgement.clause) || asked.contains(&judgement.clause.as_str())
            });
            for judgement in
                judgements.iter_mut().filter(|judgement| !verdict::is_contract(&judgement.clause))
            {
                judgement.outcome = Outcome::not_run_announced(reason);
                judgement.violations.clear();
            }
        }
        let mut result = CaseResult::new(case.id, case.title, judgements);
        result.excepted_writes = excepted_writes(&history);
        result.figures = figures(&history);
        result.artifacts = artifacts.keep(&history, &result, stop.as_ref()).await;
        if let Err(error) = self.clean(&test).await {
            result = result.left_changed(&format!("failed to restore a node that the case changed: {error}"));
        }
        result.reproduce =
            Some(self.settings.reproduce.replace("{case}", case.id).replace("{target}", &target.words()));
        result.duration_seconds = Seconds::from(begin.elapsed());
        result.overhead_seconds = Some(Seconds::from(test.overhead + judging.elapsed()));
        result.negative_verdict_seconds = test.negative_verdict.map(Seconds::from);
        result
    }

    /// The result of an interrupted case. It is not decided, because missing later steps would look like
    /// violations. Its history is kept.
    async fn interrupted(&self, test: TestContext, artifacts: &Artifacts, begin: Instant) -> CaseResult {
        test.mark(SharedMark::Interrupted, serde_json::Value::Null);
        let history = test.history();
        let judgements = verdict::interrupted(test.case, test.target);
        let mut result = CaseResult::new(test.case.id, test.case.title, judgements);
        result.artifacts = artifacts.keep(&history, &result, None).await;
        // The other clusters end with the run.
        if let Origin::Up(_) | Origin::Existing { .. } = self.settings.origin {
            let _ = self.clean(&test).await;
        }
        result.duration_seconds = Seconds::from(begin.elapsed());
        result
    }

    /// Deletes the case's objects without waiting, because the next case has other names and nodes. On a
    /// cluster that ends with the run, the namespace stays: deleting it costs the API server more than most
    /// cases.
    async fn clean(&self, test: &TestContext) -> Result<(), ClusterError> {
        if let Err(error) = test.clear_cluster().await {
            tracing::warn!(namespace = test.namespace, %error, "failed to delete cluster-scoped objects");
        }
        self.release(&test.test_cluster, &test.namespace).await
    }

    /// Deletes a namespace's objects and releases its nodes. Only a node that could not be restored is an
    /// error.
    async fn release(&self, test_cluster: &TestCluster, pool: &str) -> Result<(), ClusterError> {
        let client = &test_cluster.client;
        let gone = async {
            match self.settings.origin {
                Origin::Local => match self.settings.spec.workload() {
                    Workload::PlainPods => deploy::delete_pods(client, pool, names::GANG).await?,
                    Workload::PodCliqueSets | Workload::TrainJobs => {
                        deploy::delete_workloads(client, pool).await?
                    }
                },
                Origin::Kind(_) => {
                    deploy::delete_workloads(client, pool).await?;
                    deploy::delete_pods(client, pool, names::CANARY).await?;
                }
                Origin::Up(_) | Origin::Existing { .. } => deploy::delete_namespace(client, pool).await?,
            }
            Ok::<_, ClusterError>(())
        };
        if let Err(error) = gone.await {
            tracing::warn!(namespace = pool, %error, "failed to delete the case's workloads");
        }
        // Nodes must be released even if objects are left.
        let released = test_cluster.cluster.node_pools().release(names::POOL, pool).await;
        released.inspect_err(|error| tracing::warn!(pool, %error, "failed to release the nodes of a case"))
    }
}

/// Runs a part of a case. A panic becomes the case's error, and the cleanup still runs.
async fn caught<T>(what: &'static str, work: impl Future<Output = Result<T, Stop>>) -> Result<T, Stop> {
    // Only the watches and the cleanup use its state after a panic.
    let done = AssertUnwindSafe(work).catch_unwind().await;
    done.unwrap_or_else(|panic| Err(Stop::Cluster(defect(what, &*panic))))
}

/// Writes during the case's rest that are allowed.
fn excepted_writes(history: &History) -> Vec<ExceptedWrites> {
    let excepted = idle_writes::excepted(history).into_iter();
    excepted.map(|((writer, object), count)| ExceptedWrites { writer, object, count }).collect()
}

/// The case's measurements, if any, and the peak memory of the suite, including the checks.
fn figures(history: &History) -> Map<String, Value> {
    let measured = history.marks(SharedMark::Measured).last();
    let Some(mut figures) = measured.and_then(|(_, mark)| mark.detail.as_object().cloned()) else {
        return Map::new();
    };
    let peak = peak_memory::own().map(|bytes| bytes / 1_000_000);
    figures.insert("suitePeakMegabytes".into(), peak.into());
    figures
}

/// Runs the case's checks; a panic is an error.
fn judged(case: &Case, history: &History) -> Result<Vec<Finding>, ClusterError> {
    // A check only reads the history.
    let findings = catch_unwind(AssertUnwindSafe(|| verdict::findings(case, history)));
    findings.map_err(|panic| defect("the case's check", &*panic))
}

fn defect(what: &'static str, panic: &(dyn Any + Send)) -> ClusterError {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = text.or_else(|| panic.downcast_ref::<String>().cloned());
    ClusterError::Defect { what, message: message.unwrap_or_else(|| "no message".into()) }
}

/// The result if the check panicked: no clause is decided.
fn unknown(case: &Case, target: Target) -> Vec<Finding> {
    let ruling = || Err(Broken::NotReached("the check panicked".into()));
    let clauses = verdict::judged_clauses(case, target);
    clauses.into_iter().map(|clause| Finding { clause, ruling: ruling() }).collect()
}

/// Returns when a component that the target needs has ended, or when the cluster cannot be observed any more.
async fn death(test_cluster: &TestCluster, target: Target) -> ClusterError {
    let ended = async {
        let mut children = process::changes();
        loop {
            let death = test_cluster.cluster.dead().or_else(|| scheduler_failed(test_cluster, target));
            if let Some(death) = death {
                break death;
            }
            // The next iteration detects failures that end none of our processes.
            let _ = tokio::time::timeout(LOOK_AGAIN, children.changed()).await;
        }
    };
    tokio::select! {
        biased;
        death = ended => death,
        failure = test_cluster.recorder.failed() => failure.into(),
    }
}

#[cfg(test)]
mod tests {
    use conformance_contract::verdict::Verdict;
    use conformance_history::testing::Story;

    use super::*;

    fn a_case() -> &'static Case {
        conformance_cases::all().find(|case| case.clauses.contains(&"DEL-07")).unwrap()
    }

    #[tokio::test]
    async fn a_panic_is_the_cases_error() {
        let broken: Result<(), Stop> = caught("the case's driver", async { panic!("no {}", "way") }).await;
        assert_eq!(
            broken.unwrap_err().to_string(),
            "a defect of the suite: the case's driver panicked: no way"
        );
        assert!(caught("the case's driver", async { Ok(7) }).await.is_ok_and(|number| number == 7));
    }

    #[test]
    fn a_judge_that_panics_leaves_every_clause_an_error() {
        let case = Case { judge: |_| panic!("at the disco"), ..*a_case() };
        let history = Story::flat().end();
        let defect = judged(&case, &history).unwrap_err();
        let (target, stop) = (history.header.target, Stop::Cluster(defect));
        let judgements = verdict::judgements(&case, target, &history, &unknown(&case, target), Some(&stop));
        assert!(!judgements.is_empty());
        for judgement in judgements {
            assert_eq!(judgement.outcome.verdict, Verdict::Error, "{}", judgement.clause);
            assert!(
                judgement.outcome.reason().as_ref().is_some_and(|reason| reason.contains("at the disco"))
            );
        }
    }
}
