//! Proof without a sleep that a scheduler has decided *not* to bind a gang: two canary gangs.
//!
//! When the pending pods are ungated, the harness creates a canary: a gang of one pod, for the same scheduler
//! and a separate node. It creates a second canary when the first is bound. The scheduler's queue is first
//! in, first out, so the scheduler tried the pending gang before it bound the first canary. Any binding of
//! that try completes before the second canary is bound. A scheduler that works in sessions (Volcano, KAI)
//! includes the pending gang in the sessions of both canaries.
//!
//! Canaries bypass the operator under test, so they measure the scheduler alone. A scheduler that reads
//! PodGangs needs a one-pod PodCliqueSet as canary, which goes through the operator.

use std::time::Instant;

use conformance_contract::names;
use conformance_expect::{Gang, schedulers};
use conformance_history::{SharedMark, condition, is_of_canary, text};
use serde_json::{Value, json};

use super::limits::{self, Limit};
use crate::context::{Awaited, Stop, TestContext};

impl TestContext {
    pub async fn scheduler_passes_over(&mut self, gang: &Gang) -> Result<(), Stop> {
        self.until_released(gang).await?;
        self.scheduler_passes().await
    }

    /// Like [`TestContext::scheduler_passes_over`], for pods that are already ungated.
    pub async fn scheduler_passes(&mut self) -> Result<(), Stop> {
        let released = Instant::now();
        self.canaries().await?;
        self.negative_verdict = Some(released.elapsed());
        Ok(())
    }

    /// Records the mark `scheduler passed` after both canaries: the scheduler has decided not to bind a gang
    /// that is unbound before this mark.
    pub async fn canaries(&self) -> Result<(), Stop> {
        self.two_canaries().await?;
        self.mark(SharedMark::SchedulerPassed, Value::Null);
        Ok(())
    }

    async fn two_canaries(&self) -> Result<(), Stop> {
        for _ in 0..2 {
            match schedulers::of(self.target).canary_set() {
                None => self.canary().await?,
                Some(set) => self.canary_of_the_operator(set).await?,
            }
        }
        Ok(())
    }

    /// Returns how long the scheduler may take to retry a gang that it has already rejected. For a scheduler
    /// that works in sessions, two canaries first prove that another session ran. The canaries do not prove
    /// that the gang will stay pending, because the scheduler may have bound a part of it so far.
    pub async fn limit_of_next_try(&self) -> Result<Limit, Stop> {
        if schedulers::of(self.target).retries_in_sessions() {
            self.two_canaries().await?;
            return Ok(limits::LATER_SESSION);
        }
        Ok(limits::ANOTHER_TRY)
    }

    /// Deletes the canaries, for a case whose own pods need the canary node.
    pub async fn delete_canaries(&self) -> Result<(), Stop> {
        // The watches may deliver a bound pod before its gang resource.
        self.caught_up().await?;
        let scheduler = schedulers::of(self.target);
        let kinds: Vec<_> = match scheduler.canary_set() {
            // Delete the pods first, because they can block the deletion of their gang resource.
            None => scheduler.canary("").into_iter().map(|(kind, _)| kind).rev().collect(),
            Some(_) => vec!["PodCliqueSet"],
        };
        for kind in &kinds {
            let names = self.look(|live| {
                let canaries = live.of(kind).filter(|object| is_of_canary(object));
                canaries
                    .filter_map(|object| object["metadata"]["name"].as_str())
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            });
            for name in names {
                self.delete(kind, &name).await?;
            }
        }
        self.until(Awaited::of_harness("the canary pods deleted".to_owned()), limits::CLEANUP, |live| {
            kinds.iter().copied().chain(["Pod"]).all(|kind| !live.of(kind).any(is_of_canary))
        })
        .await
    }

    /// Creates a canary without the operator. A scheduler may miss a gang resource that precedes its pod.
    /// Then the harness patches the canary's gang resources after the pod was rejected.
    async fn canary(&self) -> Result<(), Stop> {
        let scheduler = schedulers::of(self.target);
        let kinds: Vec<_> = scheduler.canary("").into_iter().map(|(kind, _)| kind).collect();
        // Count gang resources, not pods: the scheduler may have evicted the pod of an earlier canary.
        let number = self.look(|live| {
            let objects = kinds.iter().flat_map(|kind| live.of(kind));
            objects.filter_map(|object| number_of_canary(text(&object["metadata"]["name"]))).max()
        });
        let number = number.map_or(0, |last| last + 1);
        // KAI identifies a PodGroup by its name alone, across namespaces.
        let name = format!("canary-{number}-{}", self.namespace);
        let parts = scheduler.canary(&name);
        for (kind, object) in &parts {
            self.create(kind, &on_canary_node(kind, object.clone(), &name)).await?;
        }
        if scheduler.may_miss_gang_resources() {
            self.until(
                Awaited::of_harness(format!("canary {name} tried by the scheduler")),
                limits::SCHEDULING,
                |live| live.get("Pod", &name).is_some_and(|pod| scheduled(pod).is_some()),
            )
            .await?;
            let status = self.look(|live| live.get("Pod", &name).and_then(scheduled).map(str::to_owned));
            if status.is_some_and(|status| status == "False") {
                for (kind, _) in parts.iter().filter(|(kind, _)| *kind != "Pod") {
                    let change = json!({"metadata": {"annotations": {names::CANARY: "tried"}}});
                    self.patch(kind, &name, change).await?;
                }
            }
        }
        self.until(Awaited::of_harness(format!("canary {name} bound")), limits::SCHEDULING, |live| {
            live.get("Pod", &name).is_some_and(|pod| pod["spec"]["nodeName"].is_string())
        })
        .await
    }

    async fn canary_of_the_operator(&self, mut set: Value) -> Result<(), Stop> {
        let number = self.look(|live| live.of("PodCliqueSet").filter(|object| is_of_canary(object)).count());
        let name = format!("{}{number}", names::CANARY_SET);
        set["metadata"]["name"] = name.as_str().into();
        set["metadata"]["labels"][names::CANARY] = "true".into();
        place_on_canary_node(&mut set["spec"]["template"]["cliques"][0]["spec"]["podSpec"]);
        self.create("PodCliqueSet", &set).await?;
        self.until(Awaited::of_harness(format!("canary {name} bound")), limits::SCHEDULING, |live| {
            let mut pods =
                live.of("Pod").filter(|pod| pod["metadata"]["labels"][names::PART_OF] == name.as_str());
            pods.any(|pod| pod["spec"]["nodeName"].is_string())
        })
        .await
    }
}

fn number_of_canary(name: &str) -> Option<usize> {
    name.strip_prefix("canary-")?.split('-').next()?.parse().ok()
}

/// The status of the `PodScheduled` condition. The scheduler sets the condition once it has tried the pod.
fn scheduled(pod: &Value) -> Option<&str> {
    condition(pod, "PodScheduled").map(|condition| text(&condition["status"]))
}

fn on_canary_node(kind: &str, mut object: Value, name: &str) -> Value {
    object["metadata"]["name"] = name.into();
    object["metadata"]["labels"][names::CANARY] = "true".into();
    if kind == "Pod" {
        place_on_canary_node(&mut object["spec"]);
    }
    object
}

pub(crate) fn place_on_canary_node(spec: &mut Value) {
    spec["nodeSelector"] = json!({names::CANARY: "true"});
    spec["tolerations"] = json!([{"key": names::CANARY, "operator": "Exists"}]);
    spec["terminationGracePeriodSeconds"] = 0.into();
    // Volcano does not treat a pod without requests as a gang.
    spec["containers"] = json!([{
        "name": "pause", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"cpu": "1m"}},
    }]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("canary-3-aon-0", Some(3))]
    #[case("canary-12-0", Some(12))]
    #[case("canary-set-00c0ffee-0-c", None)]
    #[case("workload-0", None)]
    fn the_next_canary_follows_the_names_that_exist(#[case] name: &str, #[case] number: Option<usize>) {
        assert_eq!(number_of_canary(name), number);
    }
}
