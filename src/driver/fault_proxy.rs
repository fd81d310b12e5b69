//! Faults between a part of the control plane and the API server, for dedicated cases
//! ([`super::case::Isolation::Dedicated`]): the part is started again behind a proxy of its own, with its own identity, and
//! the case says by rules what happens to its requests and watches. [`super::control_plane::restored`] takes the proxies
//! away.

use std::time::Instant;

use conformance_cluster::ClusterError;
use conformance_cluster::local::Part;
use conformance_proxy::{Match, ProxyError, ProxyHandle, RuleId, Verb};
use rustix::process::Signal;

use crate::context::{Stop, TestContext};
use crate::limits::Limit;

impl From<ProxyError> for Stop {
    fn from(error: ProxyError) -> Self {
        ClusterError::from(error).into()
    }
}

impl TestContext {
    /// Starts a part again, behind a fault proxy; returns when it is ready. `rules` are there before it is, so that they
    /// see its first requests and lists as well.
    ///
    /// # Errors
    /// [`Stop::Cluster`] on a cluster that is not the harness's own, or if the part does not come back.
    pub async fn proxy<T>(
        &self,
        part: Part,
        rules: impl FnOnce(&ProxyHandle) -> Result<T, ProxyError>,
    ) -> Result<(ProxyHandle, T), Stop> {
        let cluster = self.local()?;
        cluster.stop_part(part, Signal::KILL).await;
        cluster.respecify(|spec| {
            spec.proxied.insert(part);
        });
        let proxy = cluster.proxy(part)?;
        let added = rules(&proxy)?;
        self.start_ready(part).await?;
        Ok((proxy, added))
    }

    /// Starts a part; returns when it is ready.
    ///
    /// # Errors
    /// [`Stop::Cluster`].
    pub async fn start_ready(&self, part: Part) -> Result<(), Stop> {
        let cluster = self.local()?;
        cluster.start_part(part).await?;
        match part.scheduler() {
            Some(scheduler) => cluster.scheduler_ready(scheduler).await?,
            None if part == Part::Controller => drop(cluster.controller_ready().await?),
            None if part.is_of_trainer() => cluster.trainer_ready().await?,
            None => {}
        }
        Ok(())
    }

    /// The part that binds the target's pods.
    ///
    /// # Errors
    /// [`Stop::Cluster`] on a cluster that is not the harness's own, or without such a part.
    pub fn binder(&self) -> Result<Part, Stop> {
        let scheduler = self.target.scheduler();
        let missing = || ClusterError::NoProgram {
            program: format!("what binds for {}", scheduler.name()),
            reason: "the cluster was made without",
        };
        Ok(self.local()?.spec().binding_part(scheduler).ok_or_else(missing)?)
    }

    /// The bindings of the case's pods.
    pub fn bindings(&self) -> Match {
        Match::of(&[Verb::Create], &["pods/binding"]).in_namespace(&self.namespace)
    }

    /// Waits until a rule has done its part so often.
    ///
    /// # Errors
    /// [`Stop::Wait`]; [`Stop::Cluster`] if a part of the cluster has died meanwhile.
    pub async fn until_applied(
        &self,
        proxy: &ProxyHandle,
        rule: RuleId,
        times: usize,
        condition: &str,
        limit: Limit,
    ) -> Result<(), Stop> {
        let begin = Instant::now();
        match self.within(limit, proxy.until_applied(rule, times as u64)).await {
            Some(()) => Ok(()),
            None => Err(self.ran_out(condition, limit, begin).await),
        }
    }
}
