//! What dedicated cases ([`super::case::Isolation::Dedicated`]) do to their control plane: they stop components, or
//! start them with other settings, and everything is restored for the next case.

use std::time::{Duration, Instant};

use conformance_cluster::ClusterError;
use conformance_cluster::local::{ClusterSpec, ControllerSpec, LocalCluster, Part};
use conformance_cluster::schedulers::kai;
use conformance_history::{Live, SharedMark};
use conformance_judge::configuration::Flaw;
use futures::future::BoxFuture;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::limits;
use crate::context::{Awaited, Stop, TestContext};
use crate::test_cluster::TOPOLOGY;

/// Runs `change`, which may stop, restart and reconfigure parts, and then puts everything back as it was, whatever
/// came of it. Parts that run as they did are not touched.
///
/// # Errors
/// What `change` stopped with; [`Stop::Cluster`] if a part does not come back.
pub async fn restored(
    test: &mut TestContext,
    change: for<'a> fn(&'a mut TestContext) -> BoxFuture<'a, Result<(), Stop>>,
) -> Result<(), Stop> {
    let was = test.local()?.spec();
    let outcome = change(test).await;
    // A watch may be late after a restart; what has happened by now is to stand before the mark. One that stays away is
    // found out at the end of the test.
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

/// Whether a part has to be started again where the cluster is to be as in `b` and is as in `a`. Kubernetes' own
/// components look for API groups that come and go only every 30 s; the controller under test has to find them itself.
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
    /// Takes a part away, as a crash would.
    ///
    /// # Errors
    /// [`Stop::Cluster`] on a cluster that is not the harness's own.
    pub async fn take_away(&self, part: Part) -> Result<(), Stop> {
        self.local()?.stop_part(part, Signal::KILL).await;
        self.mark(SharedMark::PartTakenAway, json!({"part": part.program()}));
        Ok(())
    }

    /// Takes the target's scheduler away, every process of it, as a crash of its machine would.
    ///
    /// # Errors
    /// [`Stop::Cluster`] on a cluster that is not the harness's own.
    pub async fn kill_scheduler(&self) -> Result<(), Stop> {
        let cluster = self.local()?;
        for part in cluster.spec().parts_of(self.target.scheduler()) {
            cluster.stop_part(part, Signal::KILL).await;
        }
        Ok(())
    }

    /// Starts the target's scheduler again.
    ///
    /// # Errors
    /// [`Stop::Cluster`].
    pub async fn start_scheduler(&self) -> Result<(), Stop> {
        let cluster = self.local()?;
        for part in cluster.spec().parts_of(self.target.scheduler()) {
            cluster.start_part(part).await?;
        }
        Ok(cluster.scheduler_ready(self.target.scheduler()).await?)
    }

    /// Starts KAI again as one that evicts what is left of a gang that is not whole for so long.
    ///
    /// # Errors
    /// [`Stop::Cluster`] on a cluster that is not the harness's own.
    pub async fn evict_stale_gangs(&self, grace: Duration) -> Result<(), Stop> {
        self.kill_scheduler().await?;
        self.local()?.respecify(|spec| spec.stale_gangs_for = Some(grace));
        self.start_scheduler().await
    }

    /// Starts the API server again with a changed specification; returns when it is ready.
    ///
    /// # Errors
    /// [`Stop::Cluster`].
    pub async fn restart_api_server(&self, change: impl FnOnce(&mut ClusterSpec)) -> Result<(), Stop> {
        let cluster = self.local()?;
        cluster.respecify(change);
        self.mark(SharedMark::ApiServerRestarted, Value::Null);
        cluster.stop_part(Part::Apiserver, Signal::KILL).await;
        cluster.start_part(Part::Apiserver).await?;
        Ok(cluster.apiserver_ready().await?)
    }

    /// Starts the controller again with this specification; returns when it is ready, and leaves a mark with what it
    /// says of itself.
    ///
    /// # Errors
    /// [`Stop::Cluster`].
    pub async fn restart_controller(&self, spec: ControllerSpec) -> Result<(), Stop> {
        let cluster = self.local()?;
        let before = controller_log(cluster).len();
        cluster.restart_controller(spec).await?;
        let said = controller_log(cluster).split_off(before);
        self.controller_mark(json!(said)).await
    }

    /// Starts the controller with each of these flaws in its configuration, one after the other, and leaves a mark with
    /// how it ended and what it said. There is no controller afterwards.
    ///
    /// # Errors
    /// [`Stop::Cluster`].
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
            // One that does not end is what the judge is to hear of.
            let code = cluster.ended(Part::Controller, limits::REACTION.length).await.ok().flatten();
            let said = controller_log(cluster).split_off(before);
            self.mark(SharedMark::StartedWithFlaw, json!({"title": flaw.title, "code": code, "said": said}));
        }
        cluster.stop_part(Part::Controller, Signal::KILL).await;
        Ok(())
    }

    /// Leaves a mark with the controller's process id and its readiness.
    ///
    /// # Errors
    /// [`Stop::Cluster`].
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

    /// Waits until the watches on objects of the cluster are back after the API server was away, so that their gaps
    /// are not the next case's: touches one object of each kind and waits for the sight of it.
    ///
    /// # Errors
    /// [`Stop::Wait`], [`Stop::Cluster`].
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
        let awaited = || Awaited::of_harness("the watches on the cluster's objects back");
        let late = || self.waited(awaited(), limit, begin, String::new());
        self.within(limit, wait).await.ok_or_else(late)
    }
}

/// The controller's log so far, by line.
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
