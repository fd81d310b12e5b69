//! 2 nodes x 8 GPUs; a bound gang of 2 pods x 8 GPUs, then a pod x 8 GPUs with a higher priority.

use conformance_history::{event_about, event_note, text};
use serde_json::Value;

use super::{GANG, WITHOUT_PREEMPTION, preempt};
use crate::answer::NoAnswer;
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("How is it reported that a pod of a gang was evicted for a pod with a higher priority?")
        .answers(&["nothing", "condition", "event", "condition-and-event"])
        .not_on(WITHOUT_PREEMPTION)
        .nodes(&[nodes(2).gpus(8)]);

const PREEMPTED: &str = "Preempted";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    preempt(test).await
}

fn answer(history: &History) -> Answered {
    let live = seen::observed(history)?;
    if seen::bound(&live, &GANG) == GANG.minimum {
        return Err(NoAnswer("no pod was evicted".into()));
    }
    let conditions: Vec<String> = history
        .versions()
        .filter(|version| GANG.owns(version.object))
        .filter_map(|version| version.pod().condition("DisruptionTarget"))
        .filter(|condition| condition["status"] == "True")
        .map(|condition| format!("DisruptionTarget: {}", text(&condition["message"])))
        .collect();
    let is_about_gang = |event: &Value| {
        event["reason"] == PREEMPTED && text(&event_about(event)["name"]).starts_with(GANG.name)
    };
    let events: Vec<String> = live
        .of("Event")
        .filter(|event| is_about_gang(event))
        .map(|event| format!("event: {}", event_note(event)))
        .collect();
    let word = match (conditions.is_empty(), events.is_empty()) {
        (true, true) => "nothing",
        (false, true) => "condition",
        (true, false) => "event",
        (false, false) => "condition-and-event",
    };
    Ok(Answer::new(word).notes(conditions.into_iter().take(1)).notes(events.into_iter().take(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::prelude::*;

    fn bound() -> Story {
        bind(story().all_added(waiting(&GANG, 2)), &GANG, 0..2)
    }

    #[rstest::rstest]
    #[case(false, false, "nothing")]
    #[case(true, false, "condition")]
    #[case(false, true, "event")]
    #[case(true, true, "condition-and-event")]
    fn conditions_and_events_are_the_answer(
        #[case] condition: bool,
        #[case] event: bool,
        #[case] wanted: &'static str,
    ) {
        let mut victim = pod(&GANG, 0, Some("n"));
        let status = if condition { "True" } else { "False" };
        victim["status"]["conditions"] = json!([{"type": "DisruptionTarget", "status": status}]);
        let reason = if event { "Preempted" } else { "Scheduled" };
        let about = json!({"kind": "Pod", "name": "running-0"});
        let event =
            json!({"kind": "Event", "metadata": {"name": "e"}, "reason": reason, "involvedObject": about});
        let evicted = bound().modified(victim.clone()).added(event).deleted(victim);
        assert_eq!(word(&OBSERVATION, evicted.mark(OBSERVED, Value::Null)), Ok(wanted));
    }

    #[test]
    fn without_an_evicted_pod_there_is_no_answer() {
        let reason = word(&OBSERVATION, bound().mark(OBSERVED, Value::Null)).unwrap_err();
        assert_eq!(reason, "no pod was evicted");
    }
}
