use std::time::{Duration, Instant};

use conformance_cluster::ClusterError;
use conformance_cluster::local::LocalCluster;
use conformance_contract::names::TOPOLOGY;
use conformance_contract::scheduler::Scheduler;
use conformance_facts::configuration::Flaw;
use conformance_history::{Live, SharedMark};
use conformance_install::cluster_spec::{ClusterSpec, ControllerSpec};
use conformance_install::part::Part;
use conformance_install::schedulers::{kai, volcano};
use futures::future::BoxFuture;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::limits;
use crate::context::{Awaited, Stop, TestContext};

/// Schedulers that the suite configures without preemption and reclaim, unless a case enables them.
const EVICTS_ON_REQUEST: [Scheduler; 2] = [kai::SCHEDULER, volcano::SCHEDULER];

/// Runs `change`, and then restores the components that it changed, regardless of the outcome.
pub async fn restored(
    test: &mut TestContext,
    change: for<'a> fn(&'a mut TestContext) -> BoxFuture<'a, Result<(), Stop>>,
) -> Result<(), Stop> {
    let original = test.local()?.spec();
    let outcome = change(test).await;
    // All events so far must precede the mark. The end of the case detects a lost watch.
    let _ = test.caught_up().await;
    test.mark(SharedMark::Restored, Value::Null);
    restore(test.local()?, original).await?;
    outcome
}

async fn restore(cluster: &LocalCluster, original: ClusterSpec) -> Result<(), ClusterError> {
    let changed = cluster.spec();
    cluster.respecify(|spec| *spec = original.clone());
    for part in cluster.parts() {
        if cluster.pid(part).is_some() && !needs_restart(part, &changed, &original) {
            continue;
        }
        cluster.stop_part(part, Signal::KILL).await;
        cluster.start_part(part).await?;
        match part {
            Part::Apiserver => cluster.apiserver_ready().await?,
            Part::Controller => drop(cluster.controller_ready().await?),
            _ => {}
        }
    }
    Ok(())
}

/// Whether the part must restart to apply the changed specification. All parts but etcd and the operator
/// restart if the served APIs change, because they discover API groups only every 30 s. The operator under
/// test must detect new groups by itself.
fn needs_restart(part: Part, a: &ClusterSpec, b: &ClusterSpec) -> bool {
    if a.proxied.contains(&part) != b.proxied.contains(&part) {
        return true;
    }
    if part.scheduler() == Some(kai::SCHEDULER) && a.stale_gangs_for != b.stale_gangs_for {
        return true;
    }
    let may_evict = part.scheduler().is_some_and(|of| EVICTS_ON_REQUEST.contains(&of));
    if may_evict && (a.preempts, a.reclaims) != (b.preempts, b.reclaims) {
        return true;
    }
    let (before, after) = (a.start_settings(part), b.start_settings(part));
    if (before.plugins_off, before.further_plugins) != (after.plugins_off, after.further_plugins) {
        return true;
    }
    let has_other_api = (&a.api_gates, &a.runtime_config) != (&b.api_gates, &b.runtime_config);
    match part {
        Part::Etcd => false,
        Part::Controller => a.controller != b.controller,
        Part::KUBE_SCHEDULER => has_other_api || a.scheduler_gates != b.scheduler_gates,
        _ => has_other_api,
    }
}

impl TestContext {
    pub async fn kill_part(&self, part: Part) -> Result<(), Stop> {
        self.local()?.stop_part(part, Signal::KILL).await;
        self.mark(SharedMark::ComponentStopped, json!({"part": part.program()}));
        Ok(())
    }

    pub async fn kill_scheduler(&self) -> Result<(), Stop> {
        let cluster = self.local()?;
        for part in cluster.spec().parts_of(self.target.scheduler()) {
            cluster.stop_part(part, Signal::KILL).await;
        }
        Ok(())
    }

    pub async fn start_scheduler(&self) -> Result<(), Stop> {
        let cluster = self.local()?;
        for part in cluster.spec().parts_of(self.target.scheduler()) {
            cluster.start_part(part).await?;
        }
        Ok(cluster.scheduler_ready(self.target.scheduler()).await?)
    }

    /// Restarts KAI with this grace period, after which it evicts the remaining pods of an incomplete gang.
    pub async fn evict_stale_gangs(&self, grace: Duration) -> Result<(), Stop> {
        self.kill_scheduler().await?;
        self.local()?.respecify(|spec| spec.stale_gangs_for = Some(grace));
        self.start_scheduler().await
    }

    /// Restarts the scheduler with preemption, if the suite runs it without preemption by default.
    pub async fn enable_preemption(&self) -> Result<(), Stop> {
        if !EVICTS_ON_REQUEST.contains(&self.target.scheduler()) {
            return Ok(());
        }
        self.kill_scheduler().await?;
        self.local()?.respecify(|spec| spec.preempts = true);
        self.start_scheduler().await
    }

    /// Restarts the scheduler without the plugin or flag `name`, as defined in `install/schedulers`.
    pub async fn restart_scheduler_without(&self, name: &str) -> Result<(), Stop> {
        let scheduler = self.target.scheduler();
        self.kill_scheduler().await?;
        self.local()?.respecify(|spec| spec.plugins_off.push((scheduler, name.to_owned())));
        self.start_scheduler().await
    }

    /// Restarts the scheduler with reclaim: it evicts gangs of queues that use more than their share.
    pub async fn enable_reclaim(&self) -> Result<(), Stop> {
        self.kill_scheduler().await?;
        self.local()?.respecify(|spec| spec.reclaims = true);
        self.start_scheduler().await
    }

    pub async fn restart_api_server(&self, change: impl FnOnce(&mut ClusterSpec)) -> Result<(), Stop> {
        let cluster = self.local()?;
        cluster.respecify(change);
        self.mark(SharedMark::ApiServerRestarted, Value::Null);
        cluster.stop_part(Part::Apiserver, Signal::KILL).await;
        cluster.start_part(Part::Apiserver).await?;
        Ok(cluster.apiserver_ready().await?)
    }

    pub async fn restart_controller(&self, spec: ControllerSpec) -> Result<(), Stop> {
        let cluster = self.local()?;
        let before = controller_log(cluster).len();
        cluster.restart_controller(spec).await?;
        let log = controller_log(cluster).split_off(before);
        self.controller_mark(json!(log)).await
    }

    /// Like [`TestContext::restart_controller`], but the operator may exit. Returns whether it is ready.
    pub async fn restart_controller_or_exit(&self, spec: ControllerSpec) -> Result<bool, Stop> {
        let cluster = self.local()?;
        let before = controller_log(cluster).len();
        let exited = cluster.restart_controller_or_exit(spec).await?;
        let log = controller_log(cluster).split_off(before);
        match exited {
            None => self.controller_mark(json!(log)).await.map(|()| true),
            Some(how) => {
                self.mark(SharedMark::Controller, json!({"exited": how, "said": log}));
                Ok(false)
            }
        }
    }

    /// Starts the operator once per flaw, and records its exit code and log. It is stopped afterwards.
    pub async fn start_with_flaws(&self, flaws: &[Flaw]) -> Result<(), Stop> {
        let cluster = self.local()?;
        let original = cluster.spec().controller;
        for flaw in flaws {
            let mut flawed = original.clone();
            (flaw.edit)(&mut flawed.configuration);
            cluster.stop_part(Part::Controller, Signal::KILL).await;
            let before = controller_log(cluster).len();
            cluster.respecify(|spec| spec.controller = flawed);
            cluster.start_part(Part::Controller).await?;
            // Ignore a timeout, because a check reports a controller that does not exit.
            let code = cluster.ended(Part::Controller, limits::REACTION.length).await.ok().flatten();
            let log = controller_log(cluster).split_off(before);
            self.mark(SharedMark::StartedWithFlaw, json!({"title": flaw.title, "code": code, "said": log}));
        }
        cluster.stop_part(Part::Controller, Signal::KILL).await;
        Ok(())
    }

    pub async fn record_controller_state(&self) -> Result<(), Stop> {
        self.controller_mark(Value::Null).await
    }

    async fn controller_mark(&self, log: Value) -> Result<(), Stop> {
        let cluster = self.local()?;
        let readiness = cluster.controller_ready().await?;
        self.mark(
            SharedMark::Controller,
            json!({"pid": cluster.pid(Part::Controller), "readiness": readiness, "said": log}),
        );
        Ok(())
    }

    /// Patches one cluster-scoped object of each kind and waits for the events. The watches of the next case
    /// are then complete again after a restart of the API server.
    pub async fn until_cluster_watched(&self) -> Result<(), Stop> {
        const PATCHED: &str = "conformance.grove.io/watched-for";
        let token = self.namespace.as_str();
        let patched = [
            ("Namespace", token.to_owned()),
            ("Node", format!("{token}-0")),
            ("ClusterTopologyBinding", TOPOLOGY.into()),
        ];
        for (kind, name) in &patched {
            self.patch(kind, name, json!({"metadata": {"annotations": {PATCHED: token}}})).await?;
        }
        let are_delivered = |live: &Live| {
            patched.iter().all(|(kind, name)| {
                live.get(kind, name).is_some_and(|object| object["metadata"]["annotations"][PATCHED] == token)
            })
        };
        let recorder = &self.test_cluster.recorder;
        let begin = Instant::now();
        let delivered = || {
            let mut changes = recorder.follow("");
            async move { while !recorder.look("", are_delivered) && changes.changed().await.is_ok() {} }
        };
        if self.within(limits::REACTION, delivered()).await.is_some() {
            return Ok(());
        }
        // After the restart a watch may stay open without delivering events.
        recorder.restart_watches(&patched.each_ref().map(|(kind, _)| *kind));
        let limit = limits::RECOVERY;
        let awaited = || Awaited::of_harness("the watches on cluster-scoped objects re-established");
        let timeout = || self.timeout(awaited(), limit, begin, String::new());
        self.within(limit, delivered()).await.ok_or_else(timeout)
    }
}

fn controller_log(cluster: &LocalCluster) -> Vec<String> {
    let log = cluster.log(Part::Controller);
    let text = std::fs::read(log).map(|raw| String::from_utf8_lossy(&raw).into_owned()).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::api(|spec: &mut ClusterSpec| spec.runtime_config.clear(), &[
        Part::Apiserver, Part::KUBE_SCHEDULER, Part::Kwok, Part::ControllerManager,
    ])]
    #[case::scheduler(|spec: &mut ClusterSpec| spec.scheduler_gates = Default::default(), &[Part::KUBE_SCHEDULER])]
    #[case::controller(
        |spec: &mut ClusterSpec| spec.controller = ControllerSpec::with_profile(json!({})),
        &[Part::Controller]
    )]
    #[case::preemption(|spec: &mut ClusterSpec| spec.preempts = true, &[])]
    #[case::flag(
        |spec: &mut ClusterSpec| spec.plugins_off.push((Scheduler::KUBE, "f".into())),
        &[Part::KUBE_SCHEDULER]
    )]
    #[case::plugin(
        |spec: &mut ClusterSpec| spec.further_plugins.push((Scheduler::KUBE, "p")),
        &[Part::KUBE_SCHEDULER]
    )]
    #[case::reclaim(|spec: &mut ClusterSpec| spec.reclaims = true, &[])]
    #[case::proxy(|spec: &mut ClusterSpec| spec.proxied = [Part::KUBE_SCHEDULER].into(), &[Part::KUBE_SCHEDULER])]
    #[case::nothing(|_: &mut ClusterSpec| {}, &[])]
    fn a_component_restarts_only_if_its_specification_changed(
        #[case] change: fn(&mut ClusterSpec),
        #[case] parts: &[Part],
    ) {
        let original = ClusterSpec::default();
        let mut changed = original.clone();
        change(&mut changed);
        let restarted: Vec<_> =
            original.parts().filter(|part| needs_restart(*part, &changed, &original)).collect();
        assert_eq!(restarted, parts);
    }
}
