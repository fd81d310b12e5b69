//! Proof without a sleep that a scheduler has decided *not* to bind a gang: two canary gangs.
//!
//! Once the pending pods are ungated, a one-pod gang is sent through the same scheduler to a separate node. A
//! second one follows when the first is bound. The queue is first in, first out, so the pending gang was
//! tried before the first canary was bound. Bindings that this attempt started take no longer than the second
//! canary. A scheduler that works in sessions (Volcano, KAI) had the pending gang in the sessions of both
//! canaries.
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
    /// Waits until all pods of the PodGang are released and the scheduler has made a full pass.
    pub async fn scheduler_passes_over(&mut self, gang: &Gang) -> Result<(), Stop> {
        self.until_released(gang).await?;
        self.scheduler_passes().await
    }

    /// The same for pods that are already released. The time to the negative verdict is measured from here.
    pub async fn scheduler_passes(&mut self) -> Result<(), Stop> {
        let visible = Instant::now();
        self.canaries().await?;
        self.negative_verdict = Some(visible.elapsed());
        Ok(())
    }

    /// Runs two canaries, one after the other, and sets the mark `scheduler passed`. A check may conclude
    /// that what has not happened before this mark never happens.
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

    /// Upper bound until the scheduler retries a gang that it has already rejected. A session-based scheduler
    /// gets two canaries first, which prove that another session ran. They are no barrier, because the gang
    /// may be half bound at that point.
    pub async fn limit_of_next_try(&self) -> Result<Limit, Stop> {
        if schedulers::of(self.target).works_in_sessions() {
            self.two_canaries().await?;
            return Ok(limits::LATER_SESSION);
        }
        Ok(limits::ANOTHER_TRY)
    }

    pub(crate) async fn canaries_leave(&self) -> Result<(), Stop> {
        // The watches may deliver a bound pod before its gang resource.
        self.caught_up().await?;
        let scheduler = schedulers::of(self.target);
        let kinds: Vec<_> = match scheduler.canary_set() {
            // Pods first, because they can block the deletion of their gang resource.
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

    async fn canary(&self) -> Result<(), Stop> {
        let number = self.look(|live| live.of("Pod").filter(|object| is_of_canary(object)).count());
        // KAI identifies a PodGroup by its name alone, across namespaces.
        let name = format!("canary-{number}-{}", self.namespace);
        let scheduler = schedulers::of(self.target);
        let parts = scheduler.canary(&name);
        for (kind, object) in &parts {
            self.create(kind, &on_canary_node(kind, object.clone(), &name)).await?;
        }
        if scheduler.overlooks_gang_resources() {
            self.until(
                Awaited::of_harness(format!("canary {name} tried by the scheduler")),
                limits::SCHEDULING,
                |live| live.get("Pod", &name).is_some_and(|pod| scheduled(pod).is_some()),
            )
            .await?;
            let told = self.look(|live| live.get("Pod", &name).and_then(scheduled).map(str::to_owned));
            if told.is_some_and(|told| told == "False") {
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

    /// One canary for a scheduler that reads PodGangs, which only the operator under test creates.
    async fn canary_of_the_operator(&self, mut set: Value) -> Result<(), Stop> {
        let number = self.look(|live| live.of("PodCliqueSet").filter(|object| is_of_canary(object)).count());
        let name = format!("{}{number}", names::CANARY_SET);
        set["metadata"]["name"] = name.as_str().into();
        set["metadata"]["labels"][names::CANARY] = "true".into();
        lead_to_canary_node(&mut set["spec"]["template"]["cliques"][0]["spec"]["podSpec"]);
        self.create("PodCliqueSet", &set).await?;
        self.until(Awaited::of_harness(format!("canary {name} bound")), limits::SCHEDULING, |live| {
            let mut pods =
                live.of("Pod").filter(|pod| pod["metadata"]["labels"][names::PART_OF] == name.as_str());
            pods.any(|pod| pod["spec"]["nodeName"].is_string())
        })
        .await
    }
}

/// Status of the `PodScheduled` condition, which the scheduler sets once it has tried the pod.
fn scheduled(pod: &Value) -> Option<&str> {
    condition(pod, "PodScheduled").map(|told| text(&told["status"]))
}

fn on_canary_node(kind: &str, mut object: Value, name: &str) -> Value {
    object["metadata"]["name"] = name.into();
    object["metadata"]["labels"][names::CANARY] = "true".into();
    if kind == "Pod" {
        lead_to_canary_node(&mut object["spec"]);
    }
    object
}

pub(crate) fn lead_to_canary_node(spec: &mut Value) {
    spec["nodeSelector"] = json!({names::CANARY: "true"});
    spec["tolerations"] = json!([{"key": names::CANARY, "operator": "Exists"}]);
    spec["terminationGracePeriodSeconds"] = 0.into();
    // Volcano does not treat a pod without requests as a gang.
    spec["containers"] = json!([{
        "name": "pause", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"cpu": "1m"}},
    }]);
}
