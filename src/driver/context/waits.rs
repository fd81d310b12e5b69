//! What a case waits for: by watching, never by polling.

use std::pin::pin;
use std::time::{Duration, Instant};

use conformance_expect::Gang;
use conformance_expect::schedulers::{self, Resource};
use conformance_history::{Live, SharedMark};
use serde_json::json;

use super::{Stop, TestContext};
use crate::diagnostics;
use crate::limits::{self, Limit};

impl TestContext {
    /// Waits until a condition holds of the namespace, by watching.
    ///
    /// # Errors
    /// [`Stop::Wait`] with the moment; [`Stop::Cluster`] if a part of the cluster has died meanwhile.
    pub async fn until(
        &self,
        condition: &str,
        limit: Limit,
        holds: impl Fn(&Live) -> bool,
    ) -> Result<(), Stop> {
        self.until_in(&self.namespace, condition, limit, holds).await
    }

    /// The same of the objects that lie in no namespace.
    ///
    /// # Errors
    /// As [`TestContext::until`].
    pub async fn until_in_cluster(
        &self,
        condition: &str,
        limit: Limit,
        holds: impl Fn(&Live) -> bool,
    ) -> Result<(), Stop> {
        self.until_in("", condition, limit, holds).await
    }

    /// The same of any namespace.
    ///
    /// # Errors
    /// As [`TestContext::until`].
    pub async fn until_in(
        &self,
        namespace: &str,
        condition: &str,
        limit: Limit,
        holds: impl Fn(&Live) -> bool,
    ) -> Result<(), Stop> {
        let begin = Instant::now();
        let recorder = &self.test_cluster.recorder;
        let mut changes = recorder.follow(namespace);
        let wait = async {
            while !recorder.look(namespace, &holds) {
                if changes.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        if self.within(limit, wait).await.is_some() {
            tracing::debug!(
                case = self.case.id,
                condition,
                seconds = begin.elapsed().as_secs_f64(),
                "reached"
            );
            return Ok(());
        }
        Err(self.ran_out(condition, limit, begin).await)
    }

    /// What a wait that ran out stops with: the cluster that failed meanwhile, or the moment, which is marked then.
    pub async fn ran_out(&self, condition: &str, limit: Limit, begin: Instant) -> Stop {
        if let Err(error) = self.test_cluster.cluster.healthy().await {
            return error.into();
        }
        let slowness = self.test_cluster.speed.factor();
        self.mark(SharedMark::WaitRanOut, json!({"condition": condition, "slowness": slowness}));
        self.waited(condition, limit, begin, self.look(diagnostics::describe))
    }

    /// A wait that ran out.
    pub fn waited(
        &self,
        condition: impl Into<String>,
        limit: Limit,
        begin: Instant,
        situation: String,
    ) -> Stop {
        let slowness = self.test_cluster.speed.factor();
        let seconds = begin.elapsed().as_secs_f64();
        Stop::Wait { condition: condition.into(), limit: limit.name, seconds, slowness, situation }
    }

    /// How long a limit is for this run, and on this machine as it is now.
    pub fn length(&self, limit: Limit) -> Duration {
        limit.length.mul_f64(self.scale * self.test_cluster.speed.factor())
    }

    /// Waits for something for as long as the limit is; `None` if it ran out. A machine that becomes slow meanwhile makes
    /// the limit longer.
    pub async fn within<T>(&self, limit: Limit, wait: impl Future<Output = T>) -> Option<T> {
        within(|| self.length(limit), wait).await
    }

    /// Waits until that many pods of the workload are bound.
    ///
    /// # Errors
    /// As [`TestContext::until`].
    pub async fn until_bound(&self, count: usize) -> Result<(), Stop> {
        let condition = format!("{count} pods bound");
        self.until(&condition, limits::SCHEDULING, |live| live.bound() >= count).await
    }

    /// Waits until every pod of a PodGang that the target's gangs hold is in the scheduler's hands: all of them, or,
    /// where surplus stays gated until the hard gang is bound, the hard gang alone.
    ///
    /// # Errors
    /// As [`TestContext::until`].
    pub async fn until_released(&self, gang: &Gang) -> Result<(), Stop> {
        let expectations = schedulers::of(self.target);
        let count = expectations.released_at_first(gang);
        let condition = format!("{count} pods of {} released to the scheduler", gang.name);
        let resources = schedulers::resources_of(self.target, gang);
        // A backend may hold a gang back by the size of its gang resource until all its pods are released (Koordinator).
        let is_held = |live: &Live, wanted: &Resource| {
            let found = live.get(wanted.kind, &wanted.name.wanted).and_then(|found| expectations.size(found));
            let size = wanted.size.and_then(|size| u64::try_from(size).ok());
            found.is_some() && found != size
        };
        self.until(&condition, limits::REACTION, |live| {
            let of_gang = live.pods().filter(|pod| pod.pod_gang() == Some(&gang.name));
            of_gang.filter(|pod| pod.gates().is_empty()).count() >= count
                && !resources.iter().any(|wanted| is_held(live, wanted))
        })
        .await
    }
}

/// Waits for something until `length`, which may change, has passed.
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

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_limit_grows_while_it_is_waited_for() {
        let begin = tokio::time::Instant::now();
        // Slow from the eighth second on.
        let length = || Duration::from_secs(if begin.elapsed() < Duration::from_secs(8) { 10 } else { 30 });
        let late = async { tokio::time::sleep(Duration::from_secs(25)).await };
        assert_eq!(within(length, late).await, Some(()));
        let begin = tokio::time::Instant::now();
        assert_eq!(within(|| Duration::from_secs(10), pending::<()>()).await, None);
        assert_eq!(begin.elapsed(), Duration::from_secs(10));
    }
}
