//! Waits for a state of the cluster. Each wait names the state and the clause that demands it ([`Awaited`]).

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::{Duration, Instant};

use conformance_expect::Gang;
use conformance_expect::resolver::resolved;
use conformance_expect::schedulers::{self, Resource};
use conformance_history::{Live, SharedMark, counted_pods, revision};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;

use super::{Awaited, Stop, TestContext, Timeout};
use crate::diagnostics;
use crate::limits::{self, Limit};
use crate::recorder::Unsettled;

impl TestContext {
    /// Waits until the condition is true for a state that includes all changes that the case has made.
    /// Without this rule, a wait could succeed on an older state from a delayed watch.
    pub async fn until(
        &self,
        condition: impl Into<Awaited<'_>>,
        limit: Limit,
        is_reached: impl Fn(&Live) -> bool,
    ) -> Result<(), Stop> {
        let changed = self.changed.lock().clone();
        let is_reached = |live: &Live| has_changes(live, &changed) && is_reached(live);
        self.until_in(&self.namespace, condition, limit, is_reached).await
    }

    pub async fn until_in_cluster(
        &self,
        condition: impl Into<Awaited<'_>>,
        limit: Limit,
        is_reached: impl Fn(&Live) -> bool,
    ) -> Result<(), Stop> {
        self.until_in("", condition, limit, is_reached).await
    }

    pub async fn until_in(
        &self,
        namespace: &str,
        condition: impl Into<Awaited<'_>>,
        limit: Limit,
        is_reached: impl Fn(&Live) -> bool,
    ) -> Result<(), Stop> {
        let awaited = condition.into();
        let begin = Instant::now();
        let recorder = &self.test_cluster.recorder;
        let mut changes = recorder.follow(namespace);
        let wait = async {
            while !recorder.look(namespace, &is_reached) {
                if changes.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        let is_in_time = self.within(limit, wait).await.is_some();
        if is_in_time || self.is_reached_when_caught_up(namespace, &is_reached).await {
            tracing::debug!(
                case = self.case.id,
                condition = &*awaited.condition,
                seconds = begin.elapsed().as_secs_f64(),
                "reached"
            );
            return Ok(());
        }
        Err(self.timed_out(awaited, limit, begin).await)
    }

    /// Checks again after the recorder has caught up: a watch may have delivered nothing for a while.
    async fn is_reached_when_caught_up(&self, namespace: &str, is_reached: impl Fn(&Live) -> bool) -> bool {
        let is_followed = !namespace.is_empty();
        is_followed
            && self.settled_in(namespace).await.is_ok()
            && self.test_cluster.recorder.look(namespace, is_reached)
    }

    /// Waits until `done` is true, or until no object in the namespace has changed for [`limits::SILENCE`].
    /// Changes of cluster-scoped objects do not count, because other cases cause them. If a controller never
    /// stops writing, which GANG-11 covers, the wait ends after [`limits::REACTION`].
    pub async fn until_settled(&self, done: impl Fn(&Live) -> bool) {
        let mut changes = self.test_cluster.recorder.follow_objects(&self.namespace);
        let settled = async {
            while !self.look(&done) && self.within(limits::SILENCE, changes.changed()).await.is_some() {}
        };
        let _ = self.within(limits::REACTION, settled).await;
    }

    /// Waits until the history contains everything that the API server has stored, such as the last change.
    pub async fn caught_up(&self) -> Result<(), Stop> {
        let settled = self.settled_in(&self.namespace).await;
        Ok(settled.map_err(conformance_cluster::ClusterError::from)?)
    }

    async fn settled_in(&self, namespace: &str) -> Result<(), Unsettled> {
        self.test_cluster.recorder.settle(namespace, self.length(limits::SETTLE)).await
    }

    /// Returns the failure of the cluster or else the timeout, which it also records in a mark.
    pub async fn timed_out(&self, condition: impl Into<Awaited<'_>>, limit: Limit, begin: Instant) -> Stop {
        let awaited = condition.into();
        if let Err(error) = self.test_cluster.cluster.healthy().await {
            return error.into();
        }
        let slowness = self.test_cluster.speed.factor();
        let revision = self.revision().await;
        let detail = json!({
            "condition": awaited.condition,
            "slowness": slowness,
            "tooSlow": self.too_slow(limit, begin),
            "revision": revision,
        });
        self.mark(SharedMark::WaitTimedOut, detail);
        self.timeout(awaited, limit, begin, self.look(diagnostics::describe))
    }

    async fn revision(&self) -> Option<u64> {
        let namespaces: Api<Namespace> = Api::all(self.test_cluster.client.clone());
        let listed = namespaces.list_metadata(&ListParams::default().limit(1)).await.ok()?;
        listed.metadata.resource_version?.parse().ok()
    }

    pub fn timeout<'a>(
        &self,
        condition: impl Into<Awaited<'a>>,
        limit: Limit,
        begin: Instant,
        situation: String,
    ) -> Stop {
        let Awaited { condition, duty } = condition.into();
        Stop::Timeout(Box::new(Timeout {
            condition: condition.into_owned(),
            duty,
            limit: limit.name,
            seconds: begin.elapsed().as_secs_f64(),
            slowness: self.test_cluster.speed.factor(),
            too_slow: self.too_slow(limit, begin),
            situation,
        }))
    }

    /// Polls until `request` returns a value, for a state that no watch covers.
    pub async fn poll_until<T, F: Future<Output = Result<Option<T>, Stop>> + Send>(
        &self,
        condition: Awaited<'_>,
        limit: Limit,
        request: impl Fn() -> F + Send,
    ) -> Result<T, Stop> {
        let begin = Instant::now();
        match poll(|| self.length_since(limit, begin), request).await? {
            Some(value) => Ok(value),
            None => Err(self.timeout(condition, limit, begin, String::new())),
        }
    }

    fn too_slow(&self, limit: Limit, begin: Instant) -> Option<String> {
        let shortened = || format!("limits were shortened to × {} (--timeout-scale)", self.scale);
        let is_short = self.scale < 1.0 && !self.test_cluster.short_limits_count;
        let last = Instant::now().checked_sub(self.length(limit));
        let since = last.map_or(begin, |last| last.max(begin));
        self.test_cluster.speed.too_slow_since(since).or_else(|| is_short.then(shortened))
    }

    pub fn length(&self, limit: Limit) -> Duration {
        limit.length.mul_f64(self.scale * self.test_cluster.speed.factor())
    }

    /// The limit restarts after a moment when the machine was too slow to decide.
    pub fn length_since(&self, limit: Limit, begin: Instant) -> Duration {
        self.test_cluster.speed.extended(limit.length.mul_f64(self.scale), begin)
    }

    pub async fn within<T>(&self, limit: Limit, wait: impl Future<Output = T>) -> Option<T> {
        let begin = Instant::now();
        within(|| self.length_since(limit, begin), wait).await
    }

    pub async fn until_bound(&self, count: usize) -> Result<(), Stop> {
        let condition = Awaited::demanded_by("AON-01", format!("{} bound", counted_pods(count)));
        self.until(condition, limits::SCHEDULING, |live| live.bound() >= count).await
    }

    /// Waits until the gang's pods are ungated, or only the hard gang's if surplus pods wait for its binding.
    pub async fn until_released(&self, gang: &Gang) -> Result<(), Stop> {
        let expectations = schedulers::of(self.target);
        let count = expectations.initially_released(gang);
        let condition = format!("{} of {} released to the scheduler", counted_pods(count), gang.name);
        let condition = Awaited::demanded_by("GANG-07", condition);
        // Koordinator's backend may set a gang size that blocks the gang until all pods are ungated.
        let is_blocked = |live: &Live, wanted: &Resource| {
            let found = live.get(wanted.kind, &wanted.name.wanted).and_then(|found| expectations.size(found));
            let size = wanted.size.and_then(|size| u64::try_from(size).ok());
            found.is_some() && found != size
        };
        self.until(condition, limits::REACTION, |live| {
            let Some(gang) = resolved(live, vec![gang.clone()]).pop().filter(|gang| gang.is_known()) else {
                return false;
            };
            let of_gang = live.pods().filter(|pod| pod.pod_gang() == Some(&gang.name));
            of_gang.filter(|pod| pod.gates().is_empty()).count() >= count
                && !schedulers::resources_of(self.target, &gang).iter().any(|wanted| is_blocked(live, wanted))
        })
        .await
    }
}

/// Returns `None` on a timeout. `length` may grow during the wait, so it is evaluated again when it expires.
async fn within<T>(length: impl Fn() -> Duration, wait: impl Future<Output = T>) -> Option<T> {
    let begin = tokio::time::Instant::now();
    let mut wait = pin!(wait);
    loop {
        let left = length().checked_sub(begin.elapsed()).filter(|left| !left.is_zero())?;
        if let Ok(reached) = tokio::time::timeout(left, &mut wait).await {
            return Some(reached);
        }
    }
}

/// Returns `None` if no request returns a value within `length`.
async fn poll<T, E, F: Future<Output = Result<Option<T>, E>> + Send>(
    length: impl Fn() -> Duration,
    request: impl Fn() -> F,
) -> Result<Option<T>, E> {
    let begin = Instant::now();
    loop {
        let value = request().await?;
        if value.is_some() || begin.elapsed() > length() {
            return Ok(value);
        }
        tokio::time::sleep(limits::PACE).await;
    }
}

/// Whether the objects have at least the resourceVersions in `changed`. Deleted objects count as up to date.
fn has_changes(live: &Live, changed: &BTreeMap<(&'static str, String), u64>) -> bool {
    let mut changed = changed.iter();
    changed
        .all(|((kind, name), version)| live.get(kind, name).is_none_or(|object| revision(object) >= *version))
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use conformance_history::testing::{Story, object};

    use super::*;

    #[test]
    fn a_wait_does_not_end_in_the_state_before_a_change() {
        let live = Story::flat().added(object("PodClique", "w-0-a")).end().end();
        let recorded = live.get("PodClique", "w-0-a").map_or(0, revision);
        let has = |name: &str, version| {
            has_changes(&live, &BTreeMap::from([(("PodClique", name.to_owned()), version)]))
        };
        assert!(has("w-0-a", recorded), "the change itself is recorded");
        assert!(has("w-0-a", recorded - 1), "a later version is recorded");
        assert!(!has("w-0-a", recorded + 1), "the change is not recorded yet");
        assert!(has("deleted", recorded), "a deleted object has no version");
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_that_grows_during_a_wait_extends_the_wait() {
        let begin = tokio::time::Instant::now();
        let length = || Duration::from_secs(if begin.elapsed() < Duration::from_secs(8) { 10 } else { 30 });
        let late = async { tokio::time::sleep(Duration::from_secs(25)).await };
        assert_eq!(within(length, late).await, Some(()));
        let begin = tokio::time::Instant::now();
        assert_eq!(within(|| Duration::from_secs(10), pending::<()>()).await, None);
        assert_eq!(begin.elapsed(), Duration::from_secs(10));
    }
}
