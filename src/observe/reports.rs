//! What a gang reports: the conditions of its pods, the status of its gang resource, and events.

use std::collections::BTreeSet;
use std::ops::Range;

use conformance_contract::target::Target;
use conformance_expect::schedulers;
use conformance_history::{History, Live, Pod, event_about, event_note, list, name, text};
use serde_json::Value;

use crate::answer::{Answer, Answered, NoAnswer};
use crate::plain_gang::PlainGang;
use crate::seen;

/// Maximum length of a quoted message, in characters.
const QUOTED: usize = 160;

/// Answers about PodScheduled conditions: none, the reason in lower case, or several reasons.
pub(crate) const ON_PODS: &[&str] = &[
    "no-condition",
    "unschedulable",
    "schedulable",
    "undetermined",
    "not-enough-resources",
    "not-enough-tasks",
    "scheduling-gated",
    "scheduler-error",
    "differs-by-pod",
];

pub(crate) const ON_RESOURCE: &[&str] = &["nothing", "phase-only", "condition-without-refusal", "refusal"];

pub(crate) const IN_EVENTS: &[&str] = &["none", "on-pods", "on-gang-resource", "on-both"];

/// The PodScheduled condition of a pod, while it is False.
fn refused(pod: Pod<'_>) -> Option<&Value> {
    pod.condition("PodScheduled").filter(|condition| condition["status"] == "False")
}

pub(crate) fn on_pods(live: &Live, gang: &PlainGang) -> Answered {
    let pods = seen::pods(live, gang);
    let reasons: BTreeSet<&str> =
        pods.iter().map(|pod| refused(*pod).map_or("", |condition| text(&condition["reason"]))).collect();
    let mut words = BTreeSet::new();
    for reason in reasons {
        // Reason NotEnoughTasks becomes the word not-enough-tasks.
        let is_word = |word: &&&str| word.replace('-', "") == reason.to_ascii_lowercase();
        let word = if reason.is_empty() { Some(&ON_PODS[0]) } else { ON_PODS.iter().find(is_word) };
        let unknown = || NoAnswer::Because(format!("reason {reason:?} of PodScheduled is not in the list"));
        words.insert(*word.ok_or_else(unknown)?);
    }
    let first = words.first().ok_or_else(|| NoAnswer::Because(format!("gang {} has no pods", gang.name)))?;
    let word = if words.len() == 1 { *first } else { "differs-by-pod" };
    Ok(Answer::new(word).notes(pod_messages(live, gang)))
}

/// Whether a pod reports that GPUs are missing. Schedulers write the name of the resource, or `GPUs`.
pub(crate) fn names_gpus(pod: Pod<'_>) -> bool {
    refused(pod).is_some_and(|condition| text(&condition["message"]).to_ascii_lowercase().contains("gpu"))
}

pub(crate) fn pod_messages(live: &Live, gang: &PlainGang) -> BTreeSet<String> {
    let conditions = seen::pods(live, gang).into_iter().filter_map(refused);
    conditions
        .map(|condition| quoted("pods", text(&condition["reason"]), text(&condition["message"])))
        .collect()
}

pub(crate) type State = (&'static str, fn(&Live) -> bool);

/// The answer is the first of the states that is true when observed, or `neither`. The driver waits for one.
pub(crate) fn first_of(history: &History, states: [State; 2]) -> Answered {
    let live = seen::observed(history)?;
    let reached = states.iter().find(|(_, is_reached)| is_reached(&live));
    let after =
        seen::seconds_after_change(history, |live| states.iter().any(|(_, is_reached)| is_reached(live)));
    Ok(Answer::new(reached.map_or("neither", |(word, _)| *word)).seconds("change to binding", after))
}

pub(crate) const ON_REPLY: &[&str] = &["refused", "bound", "waits"];

/// The answer is `refused` if the API server refused the change, otherwise whether the pods are bound.
pub(crate) fn by_reply(history: &History, gang: &PlainGang, indices: Range<usize>) -> Answered {
    let answer = by_binding(history, gang, indices, ["bound", "waits"])?;
    match seen::refusal(history)? {
        Some(refusal) => Ok(Answer::new("refused").notes([refusal])),
        None => Ok(answer),
    }
}

pub(crate) fn by_binding(
    history: &History,
    gang: &PlainGang,
    indices: Range<usize>,
    [bound, unbound]: [&'static str; 2],
) -> Answered {
    let live = seen::observed(history)?;
    let are_bound = move |live: &Live| indices.clone().all(|index| seen::is_bound(live, gang, index));
    let word = if are_bound(&live) { bound } else { unbound };
    let after = seen::seconds_after_change(history, are_bound);
    Ok(Answer::new(word).seconds("change to binding", after).notes(pod_messages(&live, gang)))
}

fn quoted(place: &str, reason: &str, message: &str) -> String {
    let short: String = message.chars().take(QUOTED).collect();
    let more = if short.len() < message.len() { "…" } else { "" };
    format!("{place}: {reason}: {short}{more}")
}

/// The conditions of a gang resource; KAI has a second list of them.
fn conditions(resource: &Value) -> impl Iterator<Item = &Value> {
    let status = &resource["status"];
    list(&status["conditions"]).iter().chain(list(&status["schedulingConditions"]))
}

pub(crate) fn refuses(target: Target, resource: &Value) -> bool {
    conditions(resource).any(|condition| schedulers::of(target).is_refusal(condition))
}

/// What a gang resource reports about a scheduled gang: the types of its True conditions, and its phase.
pub(crate) fn claims(target: Target, resource: &Value) -> BTreeSet<String> {
    let expectations = schedulers::of(target);
    let positive = conditions(resource)
        .filter(|condition| condition["status"] == "True" && !expectations.is_refusal(condition))
        .map(|condition| format!("condition {}", text(&condition["type"])));
    let phase = text(&resource["status"]["phase"]);
    let phase = ["Scheduled", "Running", "Finished"].contains(&phase).then(|| format!("phase {phase}"));
    positive.chain(phase).collect()
}

pub(crate) fn on_resource(live: &Live, target: Target, gang: &PlainGang) -> Answered {
    let resource = seen::resource(live, target, gang).ok_or_else(|| {
        NoAnswer::Because(format!("the gang resource of gang {} does not exist", gang.name))
    })?;
    let phase = text(&resource["status"]["phase"]);
    let word = match (conditions(resource).next(), phase) {
        (Some(_), _) if refuses(target, resource) => "refusal",
        (Some(_), _) => "condition-without-refusal",
        (None, "") => "nothing",
        (None, _) => "phase-only",
    };
    let quotes = conditions(resource).map(|condition| {
        let place = format!("{} {}", text(&condition["type"]), text(&condition["status"]));
        quoted(&place, text(&condition["reason"]), text(&condition["message"]))
    });
    let phase = (!phase.is_empty()).then(|| format!("phase {phase}"));
    Ok(Answer::new(word).notes(quotes.chain(phase)))
}

pub(crate) fn in_events(live: &Live, target: Target, gang: &PlainGang) -> Answered {
    let pods = seen::pods(live, gang);
    let resource = seen::resource(live, target, gang).map(name);
    let is_on_pod = |event: &&Value| {
        let about = event_about(event);
        about["kind"] == "Pod" && pods.iter().any(|pod| pod.name() == text(&about["name"]))
    };
    let is_on_resource = |event: &&Value| {
        let about = event_about(event);
        about["kind"] != "Pod" && resource == Some(text(&about["name"]))
    };
    let on_pods: Vec<_> = live.of("Event").filter(is_on_pod).collect();
    let on_resource: Vec<_> = live.of("Event").filter(is_on_resource).collect();
    let word = match (on_pods.is_empty(), on_resource.is_empty()) {
        (true, true) => "none",
        (false, true) => "on-pods",
        (true, false) => "on-gang-resource",
        (false, false) => "on-both",
    };
    let all = || on_pods.iter().chain(&on_resource);
    let times: u64 = all().map(|event| repetitions(event)).sum();
    let quotes: BTreeSet<_> =
        all().map(|event| quoted("event", text(&event["reason"]), event_note(event))).collect();
    Ok(Answer::new(word).figure("events", times as f64, "events").notes(quotes))
}

/// Clients of the newer events API count repetitions in a series.
fn repetitions(event: &Value) -> u64 {
    let counts = [&event["count"], &event["series"]["count"]];
    counts.into_iter().find_map(Value::as_u64).unwrap_or(1)
}

/// Whether every pod, the gang resource, and events about both report something.
pub(crate) fn are_complete(live: &Live, target: Target, gang: &PlainGang) -> bool {
    let resource = seen::resource(live, target, gang);
    seen::pods(live, gang).into_iter().all(|pod| refused(pod).is_some())
        && resource.is_some_and(|resource| conditions(resource).next().is_some())
        && in_events(live, target, gang).is_ok_and(|answer| answer.word == "on-both")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{TARGET, pod, refused as refused_pod, resource, story};

    const GANG: PlainGang = PlainGang::new("g", 3);

    fn words(answered: Answered) -> Result<&'static str, String> {
        answered.map(|answer| answer.word).map_err(|reason| reason.to_string())
    }

    #[rstest::rstest]
    #[case::none(&[""], Ok("no-condition"))]
    #[case::unschedulable(&["Unschedulable", "Unschedulable"], Ok("unschedulable"))]
    #[case::some_would_fit(&["Schedulable", "Unschedulable"], Ok("differs-by-pod"))]
    #[case::one_is_silent(&["", "Unschedulable"], Ok("differs-by-pod"))]
    #[case::volcano(&["NotEnoughResources"], Ok("not-enough-resources"))]
    #[case::gated(&["SchedulingGated"], Ok("scheduling-gated"))]
    #[case::unknown(&["Tired"], Err("reason \"Tired\" of PodScheduled is not in the list"))]
    #[case::no_pods(&[], Err("gang g has no pods"))]
    fn the_reasons_of_the_pods_are_the_answer(
        #[case] reasons: &[&str],
        #[case] wanted: Result<&'static str, &str>,
    ) {
        let pods = reasons.iter().enumerate().map(|(index, reason)| match *reason {
            "" => pod(&GANG, index, None),
            reason => refused_pod(&GANG, index, reason, "0/3 nodes"),
        });
        let live = story().all_added(pods).end().end();
        assert_eq!(words(on_pods(&live, &GANG)), wanted.map_err(str::to_owned));
    }

    #[rstest::rstest]
    #[case::empty(json!({}), "nothing")]
    #[case::phase(json!({"phase": "Pending"}), "phase-only")]
    #[case::refusal(json!({"conditions": [{"type": "Unschedulable", "status": "True"}]}), "refusal")]
    #[case::scheduled(
        json!({"phase": "Running", "conditions": [{"type": "Scheduled", "status": "True"}]}),
        "condition-without-refusal"
    )]
    fn the_status_of_the_gang_resource_is_the_answer(#[case] status: Value, #[case] wanted: &'static str) {
        let live = story().added(resource(&GANG, status)).end().end();
        assert_eq!(words(on_resource(&live, TARGET, &GANG)), Ok(wanted));
    }

    #[test]
    fn claims_are_true_conditions_that_do_not_refuse() {
        let status = json!({"phase": "Running", "conditions": [
            {"type": "Unschedulable", "status": "True"}, {"type": "Scheduled", "status": "True"},
            {"type": "Old", "status": "False"},
        ]});
        let found = claims(TARGET, &resource(&GANG, status));
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["condition Scheduled", "phase Running"]);
        assert!(claims(TARGET, &resource(&GANG, json!({"phase": "Inqueue"}))).is_empty());
    }

    #[rstest::rstest]
    #[case(&[], "none", 0.0)]
    #[case(&[("Pod", "g-0")], "on-pods", 3.0)]
    #[case(&[("PodGroup", "g")], "on-gang-resource", 3.0)]
    #[case(&[("Pod", "g-0"), ("PodGroup", "g")], "on-both", 6.0)]
    #[case::of_others(&[("Pod", "h-0"), ("PodGroup", "h")], "none", 0.0)]
    fn events_about_the_gang_are_the_answer(
        #[case] about: &[(&str, &str)],
        #[case] wanted: &'static str,
        #[case] times: f64,
    ) {
        let events = about.iter().enumerate().map(|(index, (kind, name))| {
            json!({"kind": "Event", "metadata": {"name": index.to_string()}, "count": 3,
                "reason": "FailedScheduling", "involvedObject": {"kind": kind, "name": name}})
        });
        let gang = [pod(&GANG, 0, None), resource(&GANG, json!({}))];
        let live = story().all_added(gang).all_added(events).end().end();
        let answer = in_events(&live, TARGET, &GANG).unwrap();
        assert_eq!((answer.word, answer.figures[0].value), (wanted, times));
    }

    #[rstest::rstest]
    #[case::counted(json!({"count": 3}), 3)]
    #[case::series(json!({"count": null, "series": {"count": 5}}), 5)]
    #[case::once(json!({}), 1)]
    fn repetitions_of_an_event_are_counted(#[case] event: Value, #[case] wanted: u64) {
        assert_eq!(repetitions(&event), wanted);
    }

    #[test]
    fn long_messages_are_shortened() {
        let live = story().added(refused_pod(&GANG, 0, "Unschedulable", &"é".repeat(200))).end().end();
        let notes = pod_messages(&live, &GANG);
        let note = notes.first().unwrap();
        assert!(note.starts_with("pods: Unschedulable: é") && note.ends_with('…'), "{note}");
    }
}
