//! 2 nodes x 8 GPUs; a bound gang of 2 pods x 8 GPUs, then a pod x 8 GPUs with a higher priority.

use conformance_driver::control_plane::restored;
use conformance_history::{event_about, event_note, text};
use serde_json::Value;

use super::{GANG, URGENT, WITHOUT_PREEMPTION, preempt};
use crate::answer::NoAnswer;
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "How is it reported that a pod of a gang was evicted for a pod with a higher priority?",
    restored
)
.answers(&["nothing", "condition", "event", "condition-and-event"])
.not_on(WITHOUT_PREEMPTION)
.isolation(Isolation::Exclusive)
.nodes(&[nodes(2).gpus(8)]);

/// Parts of the reasons of events: `Preempted` of kube-scheduler, `Evict` of Volcano and KAI.
const REASONS: [&str; 2] = ["preempt", "evict"];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    preempt(test).await?;
    // Schedulers write events after their decision.
    let is_reported = |live: &Live| seen::is_bound(live, &URGENT, 0) && !events(live).is_empty();
    steps::observe(test, "the other pod bound, and an event about its victim", is_reported).await
}

fn events(live: &Live) -> Vec<String> {
    let is_about_gang = |event: &&Value| {
        let reason = text(&event["reason"]).to_ascii_lowercase();
        let is_eviction = REASONS.iter().any(|part| reason.contains(part));
        is_eviction && text(&event_about(event)["name"]).starts_with(GANG.name)
    };
    let found = live.of("Event").filter(is_about_gang);
    found.map(|event| format!("event: {}", event_note(event))).collect()
}

fn answer(history: &History) -> Answered {
    let live = seen::observed(history)?;
    if seen::bound(&live, &GANG) == GANG.minimum {
        return Err(NoAnswer::Because("no pod was evicted".into()));
    }
    let conditions: Vec<String> = history
        .versions()
        .filter(|version| GANG.owns(version.object))
        .filter_map(|version| version.pod().condition("DisruptionTarget"))
        .filter(|condition| condition["status"] == "True")
        .map(|condition| format!("DisruptionTarget: {}", text(&condition["message"])))
        .collect();
    let events = events(&live);
    let word = match (conditions.is_empty(), events.is_empty()) {
        (true, true) => "nothing",
        (false, true) => "condition",
        (true, false) => "event",
        (false, false) => "condition-and-event",
    };
    Ok(Answer::new(word).notes(conditions.into_iter().take(1)).notes(events.into_iter().take(1)))
}
