mod cleanup;
mod observe;
mod panics;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use conformance_check::{harness_statuses, idle_writes};
use conformance_cluster::ClusterError;
use conformance_contract::clauses;
use conformance_contract::target::Target;
use conformance_contract::verdict::Outcome;
use conformance_driver::case::{Case, Isolation};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::test_cluster::TestCluster;
use conformance_history::{History, SharedMark};
use conformance_programs::blocking::in_place;
use conformance_programs::{peak_memory, process};
use conformance_report::{CaseResult, ExceptedWrites, Seconds};
use futures::future::select_all;
use serde_json::{Map, Value};

pub use self::observe::Observed;
use self::panics::{caught, check, undecided};
use super::seats::Seat;
use super::{Cancellation, ClusterSlot, Environment, Origin};
use crate::artifacts::Artifacts;
use crate::attempts::{of_attempts, tries_of_races};
use crate::environment::requirements::{scheduler_failed, too_small};
use crate::first_failure::FirstFailure;
use crate::verdict;

const POLL_INTERVAL: Duration = Duration::from_secs(2);

impl Environment {
    pub async fn execute(&self, case: &'static Case, target: Target) -> CaseResult {
        self.execute_unless(case, target, &Cancellation::default()).await
    }

    pub async fn execute_unless(
        &self,
        case: &'static Case,
        target: Target,
        cancelled: &Cancellation,
    ) -> CaseResult {
        let result = self.execute_for(case, target, self.first_failure.as_deref(), cancelled).await;
        verdict::with_excluded(case, target, result)
    }

    /// Runs the case until it passes or has no retries left, and combines the attempts.
    async fn execute_for(
        &self,
        case: &'static Case,
        target: Target,
        first_failure: Option<&FirstFailure>,
        cancelled: &Cancellation,
    ) -> CaseResult {
        let clauses = verdict::checked_clauses(case, target);
        let interrupted = || verdict::result_without_run(case, target, &conformance_report::interrupted());
        let missing =
            || self.missing_scheduler(target).filter(|_| !clauses.iter().any(|id| verdict::is_contract(id)));
        if clauses.is_empty() {
            let unsupported = verdict::unsupported(case, target);
            let as_if =
                self.settings.probe_undeclared.then(|| verdict::as_if_declared(case, target)).flatten();
            return match as_if {
                // `None`: a failure on an undeclared feature does not trigger `--fail-fast`.
                Some(target) => {
                    let probed = Box::pin(self.execute_for(case, target, None, cancelled));
                    verdict::probed(unsupported, probed.await)
                }
                None => unsupported,
            };
        }
        if let Some(reason) = self.lacks(case, target).or_else(missing) {
            let outcome = Outcome::not_run_announced(reason);
            return CaseResult::without_running(case.id, case.title, clauses, &outcome);
        }
        let mut attempts: Vec<CaseResult> = Vec::new();
        // If a retry is interrupted, the finished attempts determine the result.
        loop {
            let failed_before =
                attempts.last().is_some_and(|last| !verdict::is_expected(last.outcome.verdict));
            let waiting = self.seat(case, target, failed_before);
            let Some((slot, _seat)) = self.interruption.unless_requested(waiting).await else {
                break if attempts.is_empty() { interrupted() } else { of_attempts(attempts, target) };
            };
            if attempts.is_empty() && first_failure.is_some_and(FirstFailure::has_occurred) {
                break verdict::result_without_run(case, target, &conformance_report::after_first_failure());
            }
            let result = {
                let _running = self.interruption.running();
                let begin = Instant::now();
                self.end_if_broken(slot, case.isolation, target).await;
                let cluster = self.test_cluster_at(slot, case.isolation, target).await;
                let result = self.attempt(case, target, attempts.len(), cluster.clone(), cancelled).await;
                self.end_of_attempt(case, target, cluster).await;
                // The address identifies the slot, because the slots of an environment never move.
                self.stays.add(case.id, target, std::ptr::from_ref(slot).addr(), begin);
                result
            };
            if result.is_interrupted() {
                break if attempts.is_empty() { result } else { of_attempts(attempts, target) };
            }
            let passed = verdict::is_expected(result.outcome.verdict);
            attempts.push(result);
            if attempts.len() < tries_of_races(&attempts, target) {
                continue;
            }
            if passed || attempts.len() > self.settings.retries as usize {
                let result = of_attempts(attempts, target);
                // Record the failure before the next case can start.
                if let Some(first_failure) = first_failure {
                    first_failure.record(&result, self.settings.strict);
                }
                break result;
            }
        }
    }

    /// Waits until the case may start. A failed case is retried alone, without the load of others.
    async fn seat(
        &self,
        case: &Case,
        target: Target,
        failed_before: bool,
    ) -> (&ClusterSlot, Option<Seat<'_>>) {
        // Cases on a dedicated control plane always run alone, because it has one seat.
        let is_retry = case.isolation == Isolation::Shared && failed_before;
        let is_alone = is_retry || case.isolation == Isolation::Exclusive;
        let seats = self.slots(case.isolation, target).iter().map(|slot| {
            let seat = async move {
                let seat = if is_alone { slot.seats.all().await } else { slot.seats.one().await };
                (slot, seat)
            };
            Box::pin(seat)
        });
        select_all(seats).await.0
    }

    async fn end_of_attempt(
        &self,
        case: &Case,
        target: Target,
        cluster: Result<Arc<TestCluster>, Arc<ClusterError>>,
    ) {
        let Ok(test_cluster) = cluster else { return };
        if case.isolation != Isolation::Upgrade {
            return;
        }
        if self.held().iter().any(|held| held.id == case.id && held.target == target) {
            let held = Arc::downgrade(&test_cluster);
            self.upgraded.lock().retain(|upgraded| !upgraded.ptr_eq(&held));
            self.held.keep(test_cluster);
            return;
        }
        if let Err(error) = self.end(test_cluster).await {
            tracing::warn!(case = case.id, %error, "failed to stop the case's control plane");
        }
    }

    /// Runs one attempt of the case: creates its objects, drives it, checks the history and cleans up.
    async fn attempt(
        &self,
        case: &'static Case,
        target: Target,
        attempt: usize,
        cluster: Result<Arc<TestCluster>, Arc<ClusterError>>,
        cancelled: &Cancellation,
    ) -> CaseResult {
        let failed = |error: &dyn std::fmt::Display| {
            let clauses = verdict::checked_clauses(case, target);
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
        if let Some(error) = test_cluster.cluster.dead() {
            return failed(&error);
        }
        if let Some(reason) = too_small(&test_cluster, case) {
            let clauses = verdict::checked_clauses(case, target);
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
        let setup =
            TestContext::begin(case, target, test_cluster.clone(), namespace.clone(), self.settings.scale);
        let setup = caught("the setup of the case", setup);
        let started = match self.settings.origin {
            Origin::Local | Origin::Kind(_) => self.interruption.unless_requested(setup).await,
            // In a user's cluster, the setup always completes and is then removed, because the API server may
            // still process a request that was dropped here.
            Origin::Up(_) | Origin::Existing { .. } => Some(setup.await),
        };
        let mut test = match started {
            Some(Ok(test)) => test,
            Some(Err(stop)) => {
                let _ = self.release(&test_cluster, &namespace).await;
                return failed(&stop);
            }
            None => return verdict::result_without_run(case, target, &conformance_report::interrupted()),
        };
        let stop = tokio::select! {
            biased;
            () = self.interruption.requested() => return self.interrupted(test, &artifacts, begin).await,
            () = cancelled.ends(case.isolation) => return self.cancelled(&test, begin).await,
            ended = caught("the case's driver", (case.drive)(&mut test)) => ended.err(),
            error = component_failure(&test_cluster, target) => Some(Stop::Cluster(error)),
        };
        let checking = Instant::now();
        let Some(caught_up) = self.interruption.unless_requested(test.caught_up()).await else {
            return self.interrupted(test, &artifacts, begin).await;
        };
        let stop = match (stop, caught_up) {
            (Some(Stop::Cluster(error)), _) => Some(Stop::Cluster(error)),
            (stop, Ok(())) => stop,
            // If the watches are behind, the driver's timeout proves nothing.
            (_, Err(unsettled)) => Some(unsettled),
        };
        let operator_exit =
            || test_cluster.cluster.operator_death().filter(|_| caused_exit(case, &test.history()));
        let stop = match stop {
            Some(Stop::Cluster(error)) => {
                Some(operator_exit().map_or(Stop::Cluster(error), Stop::OperatorEnded))
            }
            stop => stop,
        };
        let stop = changed_by_others(&test).or(stop);
        if let Some(stop) = &stop {
            test.mark(SharedMark::Stopped, stop.detail());
        }
        let history = test.history();
        let (findings, stop) = match in_place(|| check(case, &history)) {
            Ok(findings) => (findings, stop),
            Err(defect) => (undecided(case, target), Some(Stop::Cluster(defect))),
        };
        let mut judgements = verdict::judgements(case, target, &history, &findings, stop.as_ref());
        if let Origin::Existing { one_etcd: false, .. } = self.settings.origin {
            let across_kinds = judgements.iter_mut().filter(|judgement| {
                clauses::clause(&judgement.clause).is_some_and(|clause| clause.across_kinds)
            });
            for judgement in across_kinds {
                judgement.outcome = Outcome::not_run_announced(
                    "the order of events of different kinds is known only with a single etcd; set cluster.oneEtcd if there is one",
                );
                judgement.violations.clear();
            }
        }
        if let Some(reason) = self.missing_scheduler(target) {
            // Drop scheduling clauses that the case does not check: only the stand-in violated them.
            let checked = verdict::checked_clauses(case, target);
            judgements.retain(|judgement| {
                verdict::is_contract(&judgement.clause) || checked.contains(&judgement.clause.as_str())
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
        if !self.hold_if_failed(&result, (case.id, target), &test_cluster, &namespace)
            && let Err(error) = self.clean(&test).await
        {
            result = result.left_changed(&format!("failed to restore a node that the case changed: {error}"));
        }
        result.reproduce =
            Some(self.settings.reproduce.replace("{case}", case.id).replace("{target}", &target.options()));
        result.duration_seconds = Seconds::from(begin.elapsed());
        result.overhead_seconds = Some(Seconds::from(test.overhead + checking.elapsed()));
        result.negative_verdict_seconds = test.negative_verdict.map(Seconds::from);
        result
    }

    /// Decides no clause: steps that the case did not reach would look like violations. Keeps the history.
    async fn interrupted(&self, test: TestContext, artifacts: &Artifacts, begin: Instant) -> CaseResult {
        test.mark(SharedMark::Interrupted, serde_json::Value::Null);
        let history = test.history();
        let judgements = verdict::interrupted(test.case, test.target);
        let mut result = CaseResult::new(test.case.id, test.case.title, judgements);
        result.artifacts = artifacts.keep(&history, &result, None).await;
        // Other clusters are deleted at the end of the run, with all their objects.
        if let Origin::Up(_) | Origin::Existing { .. } = self.settings.origin {
            let _ = self.clean(&test).await;
        }
        result.duration_seconds = Seconds::from(begin.elapsed());
        result
    }

    /// No clause is decided, and no artifacts are kept.
    async fn cancelled(&self, test: &TestContext, begin: Instant) -> CaseResult {
        let judgements = verdict::interrupted(test.case, test.target);
        let mut result = CaseResult::new(test.case.id, test.case.title, judgements);
        // An error is in the log.
        let _ = self.clean(test).await;
        result.duration_seconds = Seconds::from(begin.elapsed());
        result
    }
}

/// Whether another client has deleted a node of the case, or overwritten a status of the harness.
fn changed_by_others(test: &TestContext) -> Option<Stop> {
    let history = test.history();
    let deleted = harness_statuses::deleted_node(&history);
    let deleted = deleted.map(|node| ClusterError::Deleted { what: format!("Node {node}") });
    let overwritten = || harness_statuses::overwritten_status(&history).map(ClusterError::Overwritten);
    deleted.or_else(overwritten).map(Stop::Cluster)
}

fn excepted_writes(history: &History) -> Vec<ExceptedWrites> {
    let exempt = idle_writes::exempt(history).into_iter();
    exempt.map(|((writer, object), count)| ExceptedWrites { writer, object, count }).collect()
}

/// Returns the driver's measurements, and the peak memory of this process including the checks.
fn figures(history: &History) -> Map<String, Value> {
    let measured = history.marks(SharedMark::Measured).last();
    let Some(mut figures) = measured.and_then(|(_, mark)| mark.detail.as_object().cloned()) else {
        return Map::new();
    };
    let peak = peak_memory::own().map(|bytes| bytes / 1_000_000);
    figures.insert("suitePeakMegabytes".into(), peak.into());
    figures
}

/// Whether the operator's exit counts against the case. On a shared cluster, another case may have caused the
/// exit. Before an upgrade, another operator than the one under test may run.
fn caused_exit(case: &Case, history: &History) -> bool {
    match case.isolation {
        Isolation::Dedicated => true,
        Isolation::Upgrade => history.marks(SharedMark::UpgradeStarted).next().is_some(),
        Isolation::Shared | Isolation::Exclusive => false,
    }
}

async fn component_failure(test_cluster: &TestCluster, target: Target) -> ClusterError {
    let ended = async {
        let mut children = process::changes();
        loop {
            let error = test_cluster.cluster.dead().or_else(|| scheduler_failed(test_cluster, target));
            if let Some(error) = error {
                break error;
            }
            // Poll as well, because some failures do not end a child process of this program.
            let _ = tokio::time::timeout(POLL_INTERVAL, children.changed()).await;
        }
    };
    tokio::select! {
        biased;
        error = ended => error,
        failure = test_cluster.recorder.failed() => failure.into(),
    }
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::Story;

    use super::*;

    #[test]
    fn an_exit_of_the_operator_counts_from_the_start_of_an_upgrade() {
        let any = crate::suites::cases().next().unwrap();
        let case = Case { isolation: Isolation::Upgrade, ..*any };
        let story = Story::flat();
        assert!(!caused_exit(&case, &story.clone().end()));
        assert!(caused_exit(&case, &story.mark(SharedMark::UpgradeStarted, Value::Null).end()));
    }
}
