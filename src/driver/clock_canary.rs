//! Proves without a sleep that a termination delay has expired: the pod of a one-pod PodCliqueSet with the
//! same delay fails when the delay under test starts. Once the operator has terminated and recreated this
//! canary, the delay under test has also expired.

use conformance_contract::names;
use conformance_expect::schedulers;
use conformance_history::{Live, MarkName, Pod, condition, is_of_canary};
use serde_json::json;

use super::barrier::place_on_canary_node;
use super::limits;
use super::pod_health::Containers;
use crate::context::{Awaited, Stop, TestContext};

#[derive(Debug)]
pub struct Clock {
    set: String,
}

impl TestContext {
    pub async fn start_clock(&self, delay: &str) -> Result<Clock, Stop> {
        // KAI identifies a PodGroup by its name alone, across namespaces.
        let number =
            self.namespace.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let set = format!("{}{number:08x}", names::CANARY_SET);
        let clique = json!({"name": "c", "spec": {"roleName": "c", "replicas": 1, "podSpec": {}}});
        let mut pcs = json!({
            "apiVersion": "grove.io/v1alpha1",
            "kind": "PodCliqueSet",
            "metadata": {"name": set, "namespace": self.namespace, "labels": {names::CANARY: "true"}},
            "spec": {"replicas": 1, "template": {"terminationDelay": delay, "cliques": [clique]}},
        });
        place_on_canary_node(&mut pcs["spec"]["template"]["cliques"][0]["spec"]["podSpec"]);
        schedulers::of(self.target).assign(&mut pcs);
        schedulers::of(self.target).add_requests(&mut pcs);
        self.create("PodCliqueSet", &pcs).await?;
        let clock = Clock { set };
        self.until_canary_runs(&clock, None).await?;
        Ok(clock)
    }

    /// Lets the delay expire `times` times in sequence, and records the mark after the last time.
    pub async fn run_clock(&self, clock: &Clock, times: usize, mark: MarkName) -> Result<(), Stop> {
        for _ in 0..times {
            let Some((name, uid)) = self.look(|live| clock.pod(live)) else { continue };
            match self.set_pod_status(&name, Containers::Crashing).await {
                // The pod may no longer exist, because a faulty operator may terminate healthy pods.
                Err(Stop::Refused { .. }) if self.is_deleted(&name).await? => {}
                written => written?,
            }
            self.until_canary_runs(clock, Some(&uid)).await?;
        }
        self.mark(mark, json!({"times": times}));
        Ok(())
    }

    pub async fn stop_clock(&self, clock: Clock) -> Result<(), Stop> {
        self.delete("PodCliqueSet", &clock.set).await
    }

    async fn is_deleted(&self, pod: &str) -> Result<bool, Stop> {
        self.caught_up().await?;
        Ok(self.look(|live| live.get("Pod", pod).is_none()))
    }

    async fn until_canary_runs(&self, clock: &Clock, old: Option<&str>) -> Result<(), Stop> {
        let awaited = match old {
            Some(_) => Awaited::demanded_by(
                "TERM-02",
                format!("PodCliqueSet {} terminated and recreated", clock.set),
            ),
            None => Awaited::of_harness(format!("the pod of PodCliqueSet {} Ready", clock.set)),
        };
        self.until(awaited, limits::REACTION, |live| {
            clock.pod(live).is_some_and(|(_, uid)| old != Some(uid.as_str()))
        })
        .await
    }
}

impl Clock {
    fn pod(&self, live: &Live) -> Option<(String, String)> {
        let mut pods = live.of("Pod").filter(|pod| is_of_canary(pod)).map(Pod);
        let is_ready = |pod: &Pod<'_>| pod.condition("Ready").is_some_and(|ready| ready["status"] == "True");
        let pod = pods.find(|pod| {
            pod.label(names::PART_OF) == Some(&self.set) && is_ready(pod) && !pod.is_terminating()
        });
        pod.map(|pod| (pod.name().to_owned(), pod.uid().to_owned()))
    }
}

impl TestContext {
    /// Returns the names of the clique's pods that are not terminating, bound pods first.
    pub fn pods_of(&self, clique: &str) -> Vec<String> {
        self.look(|live| {
            let is_of_clique = |pod: &Pod<'_>| pod.pod_clique() == Some(clique) && !pod.is_terminating();
            let mut pods: Vec<_> = live
                .pods()
                .filter(is_of_clique)
                .map(|pod| (pod.node().is_none(), pod.name().to_owned()))
                .collect();
            pods.sort();
            pods.into_iter().map(|(_, name)| name).collect()
        })
    }

    pub async fn until_breach_is(&self, status: &str, clique: &str) -> Result<(), Stop> {
        let awaited = Awaited::demanded_by("TERM-01", format!("MinAvailableBreached={status} on {clique}"));
        self.until(awaited, limits::REACTION, |live| {
            let breached =
                live.get("PodClique", clique).and_then(|found| condition(found, "MinAvailableBreached"));
            breached.is_some_and(|breached| breached["status"] == status)
        })
        .await
    }

    pub async fn delay_termination(&self, set: &str, delay: &str) -> Result<(), Stop> {
        let change = json!({"spec": {"template": {"terminationDelay": delay}}});
        self.patch("PodCliqueSet", set, change).await.map(drop)
    }

    pub async fn until_ready_replicas(&self, clique: &str, count: u32) -> Result<(), Stop> {
        let counted = Awaited::demanded_by("STAT-01", format!("{count} pods of {clique} counted as Ready"));
        self.until(counted, limits::REACTION, |live| {
            live.get("PodClique", clique).is_some_and(|found| found["status"]["readyReplicas"] == count)
        })
        .await
    }

    /// Waits until all `old` pods are deleted and the cliques have as many new ones, Ready if `ready`.
    pub async fn until_recreated(
        &self,
        what: &str,
        clause: &'static str,
        cliques: &[&str],
        old: &[String],
        ready: bool,
    ) -> Result<(), Stop> {
        let awaited = Awaited::demanded_by(clause, format!("{what} terminated and recreated"));
        self.until(awaited, limits::SCHEDULING, |live| has_replaced(live, cliques, old, ready)).await
    }

    pub fn node_of(&self, name: &str) -> Result<String, Stop> {
        let node = self.look(|live| live.get("Pod", name).and_then(|pod| Pod(pod).node().map(str::to_owned)));
        node.ok_or_else(|| Stop::Refused {
            action: format!("read the node of Pod {name}"),
            reason: "the pod is not bound".into(),
        })
    }

    pub async fn delete_pod_and_cordon_node(&self, name: &str) -> Result<String, Stop> {
        let node = self.node_of(name)?;
        self.cordon(&node, true).await?;
        self.force_delete_pod(name).await?;
        Ok(node)
    }
}

/// A terminating pod does not count as new, because the operator may have terminated its generation too.
fn has_replaced(live: &Live, cliques: &[&str], old: &[String], ready: bool) -> bool {
    let is_of_cliques = |pod: &Pod<'_>| pod.pod_clique().is_some_and(|clique| cliques.contains(&clique));
    let pods: Vec<_> = live.pods().filter(is_of_cliques).collect();
    let is_new = |pod: &Pod<'_>| !old.iter().any(|name| name == pod.name());
    let is_ready = |pod: &Pod<'_>| pod.condition("Ready").is_some_and(|ready| ready["status"] == "True");
    let replacements = pods.iter().filter(|pod| !pod.is_terminating() && (!ready || is_ready(pod)));
    pods.iter().all(is_new) && replacements.count() >= old.len()
}

#[cfg(test)]
mod tests {
    use conformance_facts::testing::{pod, running, terminating_pod};
    use conformance_history::testing::Story;
    use serde_json::Value;

    use super::*;

    fn ready(mut pod: Value) -> Value {
        pod["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
        pod
    }

    fn replaced() -> Story {
        let deleted = running().deleted(pod("a", Some("n"))).deleted(pod("b", Some("n")));
        deleted.added(ready(pod("c", Some("n")))).added(pod("d", Some("n")))
    }

    #[rstest::rstest]
    #[case::one_is_not_ready(replaced(), false)]
    #[case::both_are_ready(replaced().modified(ready(pod("d", Some("n")))), true)]
    #[case::one_is_of_a_terminated_generation(
        replaced().modified(ready(terminating_pod("d"))).added(pod("e", None)),
        false
    )]
    #[case::an_old_pod_is_left(replaced().modified(ready(pod("d", Some("n")))).added(pod("a", None)), false)]
    fn pods_are_replaced_when_enough_new_ones_are_ready(#[case] story: Story, #[case] wanted: bool) {
        let (live, old) = (story.end().end(), ["a".to_owned(), "b".to_owned()]);
        assert_eq!(has_replaced(&live, &["w-0-a"], &old, true), wanted);
        assert!(!has_replaced(&live, &["w-0-a"], &["c".to_owned()], true), "c still exists");
    }
}
