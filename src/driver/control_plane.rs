//! Changes that dedicated cases ([`super::case::Isolation::Dedicated`]) make to their control plane: they
//! stop components or start them with other settings. Everything is restored for the next case.

use std::time::{Duration, Instant};

use conformance_cluster::ClusterError;
use conformance_cluster::local::LocalCluster;
use conformance_facts::configuration::Flaw;
use conformance_history::{Live, SharedMark};
use conformance_install::cluster_spec::{ClusterSpec, ControllerSpec};
use conformance_install::part::Part;
use conformance_install::schedulers::kai;
use futures::future::BoxFuture;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::limits;
use crate::context::{Awaited, Stop, TestContext};
use crate::test_cluster::TOPOLOGY;

/// Runs `change`, which may stop, restart and reconfigure components, then restores them regardless of the
/// outcome. Unchanged components keep running.
pub async fn restored(
    test: &mut TestContext,
    change: for<'a> fn(&'a mut TestContext) -> BoxFuture<'a, Result<(), Stop>>,
) -> Result<(), Stop> {
    let was = test.local()?.spec();
    let outcome = change(test).await;
    // Watches may lag after a restart. What has happened so far must precede the mark. A lost watch is
    // detected at the end of the test.
    let _ = test.caught_up().await;
    test.mark(SharedMark::PutBack, Value::Null);
    put_back(test.local()?, was).await?;
    outcome
}

async fn put_back(cluster: &LocalCluster, was: ClusterSpec) -> Result<(), ClusterError> {
    let now = cluster.spec();
    cluster.respecify(|spec| *spec = was.clone());
    for part in cluster.parts() {
        if cluster.pid(part).is_some() && !concerns(part, &now, &was) {
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

/// Whether a component must restart to get from specification `a` to `b`. Kubernetes' own components look for
/// added and removed API groups only every 30 s. The operator under test must detect them itself.
fn concerns(part: Part, a: &ClusterSpec, b: &ClusterSpec) -> bool {
    if a.proxied.contains(&part) != b.proxied.contains(&part) {
        return true;
    }
    if part.scheduler() == Some(kai::SCHEDULER) && a.stale_gangs_for != b.stale_gangs_for {
        return true;
    }
    let api = (&a.api_gates, &a.runtime_config) != (&b.api_gates, &b.runtime_config);
    match part {
        Part::Etcd => false,
        Part::Controller => a.controller != b.controller,
        Part::KUBE_SCHEDULER => api || a.scheduler_gates != b.scheduler_gates,
        _ => api,
    }
}

impl TestContext {
    /// Kills a component, as a crash would.
    pub async fn take_away(&self, part: Part) -> Result<(), Stop> {
        self.local()?.stop_part(part, Signal::KILL).await;
        self.mark(SharedMark::PartTakenAway, json!({"part": part.program()}));
        Ok(())
    }

    /// Kills every process of the target's scheduler, as a crash of its machine would.
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

    /// Restarts KAI with this grace period, after which it evicts the rest of an incomplete gang.
    pub async fn evict_stale_gangs(&self, grace: Duration) -> Result<(), Stop> {
        self.kill_scheduler().await?;
        self.local()?.respecify(|spec| spec.stale_gangs_for = Some(grace));
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

    /// Restarts the controller with this specification and waits until it is ready. A mark records its log.
    pub async fn restart_controller(&self, spec: ControllerSpec) -> Result<(), Stop> {
        let cluster = self.local()?;
        let before = controller_log(cluster).len();
        cluster.restart_controller(spec).await?;
        let said = controller_log(cluster).split_off(before);
        self.controller_mark(json!(said)).await
    }

    /// Starts the controller once with each flaw in its configuration. A mark records its exit code and log.
    /// No controller runs afterwards.
    pub async fn start_with_flaws(&self, flaws: &[Flaw]) -> Result<(), Stop> {
        let cluster = self.local()?;
        let was = cluster.spec().controller;
        for flaw in flaws {
            let mut flawed = was.clone();
            (flaw.edit)(&mut flawed.configuration);
            cluster.stop_part(Part::Controller, Signal::KILL).await;
            let before = controller_log(cluster).len();
            cluster.respecify(|spec| spec.controller = flawed);
            cluster.start_part(Part::Controller).await?;
            // A check reports a controller that does not exit.
            let code = cluster.ended(Part::Controller, limits::REACTION.length).await.ok().flatten();
            let said = controller_log(cluster).split_off(before);
            self.mark(SharedMark::StartedWithFlaw, json!({"title": flaw.title, "code": code, "said": said}));
        }
        cluster.stop_part(Part::Controller, Signal::KILL).await;
        Ok(())
    }

    /// Records the controller's process id and readiness in a mark.
    pub async fn look_at_controller(&self) -> Result<(), Stop> {
        self.controller_mark(Value::Null).await
    }

    async fn controller_mark(&self, said: Value) -> Result<(), Stop> {
        let cluster = self.local()?;
        let readiness = cluster.controller_ready().await?;
        self.mark(
            SharedMark::Controller,
            json!({"pid": cluster.pid(Part::Controller), "readiness": readiness, "said": said}),
        );
        Ok(())
    }

    /// Waits until the watches on cluster-scoped objects have recovered from an API server restart, so that
    /// their gaps do not affect the next case. It patches one object of each kind and waits for the event.
    pub async fn until_cluster_watched(&self) -> Result<(), Stop> {
        const SEEN: &str = "conformance.grove.io/watched-for";
        let token = self.namespace.as_str();
        let touched = [
            ("Namespace", token.to_owned()),
            ("Node", format!("{token}-0")),
            ("ClusterTopologyBinding", TOPOLOGY.into()),
        ];
        for (kind, name) in &touched {
            self.patch(kind, name, json!({"metadata": {"annotations": {SEEN: token}}})).await?;
        }
        let seen = |live: &Live| {
            touched.iter().all(|(kind, name)| {
                live.get(kind, name).is_some_and(|object| object["metadata"]["annotations"][SEEN] == token)
            })
        };
        let recorder = &self.test_cluster.recorder;
        let mut changes = recorder.follow("");
        let begin = Instant::now();
        let wait = async { while !recorder.look("", seen) && changes.changed().await.is_ok() {} };
        let limit = limits::RECOVERY;
        let awaited = || Awaited::of_harness("the watches on cluster-scoped objects re-established");
        let late = || self.waited(awaited(), limit, begin, String::new());
        self.within(limit, wait).await.ok_or_else(late)
    }
}

fn controller_log(cluster: &LocalCluster) -> Vec<String> {
    let log = cluster.log(Part::Controller);
    let text = std::fs::read(log).map(|raw| String::from_utf8_lossy(&raw).into_owned()).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::api(|spec: &mut ClusterSpec| spec.runtime_config.clear(), &[
        Part::Apiserver, Part::KUBE_SCHEDULER, Part::Kwok, Part::ControllerManager,
    ])]
    #[case::scheduler(|spec: &mut ClusterSpec| spec.scheduler_gates = Default::default(), &[Part::KUBE_SCHEDULER])]
    #[case::controller(
        |spec: &mut ClusterSpec| spec.controller = ControllerSpec::with_profile(json!({})),
        &[Part::Controller]
    )]
    #[case::proxy(|spec: &mut ClusterSpec| spec.proxied = [Part::KUBE_SCHEDULER].into(), &[Part::KUBE_SCHEDULER])]
    #[case::nothing(|_: &mut ClusterSpec| {}, &[])]
    fn only_what_was_changed_is_started_again(#[case] change: fn(&mut ClusterSpec), #[case] parts: &[Part]) {
        let was = ClusterSpec::default();
        let mut now = was.clone();
        change(&mut now);
        let concerned: Vec<_> = was.parts().filter(|part| concerns(*part, &now, &was)).collect();
        assert_eq!(concerned, parts);
    }
}
