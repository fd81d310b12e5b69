//! Starts fault proxies between a component and the API server. The component keeps its identity.
//! [`super::control_plane::restored`] removes the proxies.

use std::time::Instant;

use conformance_cluster::ClusterError;
use conformance_install::part::Part;
use conformance_programs::ProgramError;
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
    /// Restarts the component behind a proxy. `rules` apply from its first request on.
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

    pub fn binder(&self) -> Result<Part, Stop> {
        let scheduler = self.target.scheduler();
        let missing = || {
            ClusterError::from(ProgramError::NoProgram {
                program: format!("the component that binds pods for {}", scheduler.name()),
                reason: "the cluster was created without",
            })
        };
        Ok(self.local()?.spec().binding_part(scheduler).ok_or_else(missing)?)
    }

    pub fn bindings(&self) -> Match {
        Match::of(&[Verb::Create], &["pods/binding"]).in_namespace(&self.namespace)
    }

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
            None => Err(self.timed_out(condition, limit, begin).await),
        }
    }
}
