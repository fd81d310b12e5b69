//! What a case waits for: by watching, never by polling.

use std::time::Instant;

use conformance_contract::target::Target;
use conformance_expect::Gang;
use conformance_expect::schedulers::{self, Resource};
use conformance_history::{Live, RAN_OUT};
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
        let length = limit.length.mul_f64(self.scale);
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
        if tokio::time::timeout(length, wait).await.is_ok() {
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
        self.mark(RAN_OUT, json!({"condition": condition}));
        Stop::Wait {
            condition: condition.into(),
            limit: limit.name,
            seconds: begin.elapsed().as_secs_f64(),
            situation: self.look(diagnostics::describe),
        }
    }

    /// Waits until so many pods of the workload are bound.
    ///
    /// # Errors
    /// As [`TestContext::until`].
    pub async fn until_bound(&self, count: usize) -> Result<(), Stop> {
        let condition = format!("{count} pods bound");
        self.until(&condition, limits::SCHEDULING, |live| live.bound() >= count).await
    }

    /// Waits until every pod of a PodGang that the target's gangs hold is in the scheduler's hands: all of them, or,
    /// where surplus stays gated until the hard gang is bound (KUBE-08, Koordinator), the hard gang alone.
    ///
    /// # Errors
    /// As [`TestContext::until`].
    pub async fn until_released(&self, gang: &Gang) -> Result<(), Stop> {
        let count = match self.target {
            Target::KubePodGang | Target::Koordinator => gang.minimum(),
            _ => gang.pods(),
        };
        let condition = format!("{count} pods of {} released to the scheduler", gang.name);
        let expectations = schedulers::of(self.target);
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
