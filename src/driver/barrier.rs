//! The proof that a scheduler has decided *not* to bind: no sleep, but two canary gangs.
//!
//! Once the pending pods are released to the scheduler (ungated), a gang of one pod is sent through the same
//! scheduler to a separate node, and when it is bound a second one. The queue is first in, first out: the pending
//! gang was in it before the first canary, so it has been tried by the time the first is bound; bindings that this
//! attempt started are not in flight longer than the second canary takes. A scheduler that works in sessions
//! (Volcano, KAI) has had the pending gang in the session in which the first canary is bound, and in one more for
//! the second.
//!
//! A canary is created without the controller under test, so that it measures the scheduler alone. For a scheduler
//! that reads PodGangs this is not possible: there it is a PodCliqueSet of one pod, which goes through the
//! operator.

use std::time::Instant;

use conformance_contract::names;
use conformance_expect::{Gang, schedulers};
use conformance_history::{SharedMark, condition, is_of_canary, text};
use serde_json::{Value, json};

use super::limits::{self, Limit};
use crate::context::{Awaited, Stop, TestContext};

impl TestContext {
    /// Waits until every pod of the PodGang is in the scheduler's hands, and the scheduler has had a whole pass since.
    ///
    /// # Errors
    /// [`Stop::Wait`] if the pods are not released, or the scheduler does not bind a canary.
    pub async fn scheduler_passes_over(&mut self, gang: &Gang) -> Result<(), Stop> {
        self.until_released(gang).await?;
        self.scheduler_passes().await
    }

    /// The same for pods that are in the scheduler's hands already: from here on the time to the negative verdict counts.
    ///
    /// # Errors
    /// [`Stop::Wait`] if the scheduler does not bind a canary.
    pub async fn scheduler_passes(&mut self) -> Result<(), Stop> {
        let visible = Instant::now();
        self.canaries().await?;
        self.negative_verdict = Some(visible.elapsed());
        Ok(())
    }

    /// The barrier: two canaries, one after the other. The mark `scheduler passed` is where a judge may say "until here,
    /// never".
    ///
    /// # Errors
    /// [`Stop::Wait`] if the scheduler does not bind a canary.
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

    /// How long a gang that fits may still wait for the next try of a scheduler that has looked at it before. One that works in
    /// sessions is sent canaries first, which show that it had another; they are no barrier, for the gang may be half bound then.
    ///
    /// # Errors
    /// [`Stop::Wait`] if the scheduler does not bind a canary.
    pub async fn limit_of_next_try(&self) -> Result<Limit, Stop> {
        if schedulers::of(self.target).works_in_sessions() {
            self.two_canaries().await?;
            return Ok(limits::LATER_SESSION);
        }
        Ok(limits::ANOTHER_TRY)
    }

    /// Deletes the canaries, their gang resources included, and waits until they are gone.
    ///
    /// # Errors
    /// [`Stop::Refused`], [`Stop::Cluster`]; [`Stop::Wait`] if something keeps them.
    pub(crate) async fn canaries_leave(&self) -> Result<(), Stop> {
        // A pod may be seen bound before its gang resource is seen at all.
        self.caught_up().await?;
        let scheduler = schedulers::of(self.target);
        let kinds: Vec<_> = match scheduler.canary_set() {
            // What holds a gang resource goes first.
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
        self.until(Awaited::of_harness("the canaries gone".to_owned()), limits::CLEANUP, |live| {
            kinds.iter().copied().chain(["Pod"]).all(|kind| !live.of(kind).any(is_of_canary))
        })
        .await
    }

    /// One canary, made without the controller under test.
    async fn canary(&self) -> Result<(), Stop> {
        let number = self.look(|live| live.of("Pod").filter(|object| is_of_canary(object)).count());
        // KAI knows a PodGroup by its name alone, whatever its namespace.
        let name = format!("canary-{number}-{}", self.namespace);
        let scheduler = schedulers::of(self.target);
        let parts = scheduler.canary(&name);
        for (kind, object) in &parts {
            self.create(kind, &on_canary_node(kind, object.clone(), &name)).await?;
        }
        if scheduler.overlooks_gang_resources() {
            self.until(Awaited::of_harness(format!("{name} tried")), limits::SCHEDULING, |live| {
                live.get("Pod", &name).is_some_and(|pod| scheduled(pod).is_some())
            })
            .await?;
            let told = self.look(|live| live.get("Pod", &name).and_then(scheduled).map(str::to_owned));
            if told.is_some_and(|told| told == "False") {
                for (kind, _) in parts.iter().filter(|(kind, _)| *kind != "Pod") {
                    let change = json!({"metadata": {"annotations": {names::CANARY: "tried"}}});
                    self.patch(kind, &name, change).await?;
                }
            }
        }
        self.until(Awaited::of_harness(format!("{name} bound")), limits::SCHEDULING, |live| {
            live.get("Pod", &name).is_some_and(|pod| pod["spec"]["nodeName"].is_string())
        })
        .await
    }

    /// One canary of a scheduler that reads PodGangs, which only the operator under test makes.
    async fn canary_of_the_operator(&self, mut set: Value) -> Result<(), Stop> {
        let number = self.look(|live| live.of("PodCliqueSet").filter(|object| is_of_canary(object)).count());
        let name = format!("{}{number}", names::CANARY_SET);
        set["metadata"]["name"] = name.as_str().into();
        set["metadata"]["labels"][names::CANARY] = "true".into();
        lead_to_canary_node(&mut set["spec"]["template"]["cliques"][0]["spec"]["podSpec"]);
        self.create("PodCliqueSet", &set).await?;
        self.until(Awaited::of_harness(format!("{name} bound")), limits::SCHEDULING, |live| {
            let mut pods =
                live.of("Pod").filter(|pod| pod["metadata"]["labels"][names::PART_OF] == name.as_str());
            pods.any(|pod| pod["spec"]["nodeName"].is_string())
        })
        .await
    }
}

/// What a pod's scheduler has said of it, once it has tried it.
fn scheduled(pod: &Value) -> Option<&str> {
    condition(pod, "PodScheduled").map(|told| text(&told["status"]))
}

/// A part of a canary with name and label, and a pod's way to the canaries' node.
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
    // Asks for something: to Volcano a pod that does not is no gang.
    spec["containers"] = json!([{
        "name": "pause", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"cpu": "1m"}},
    }]);
}
