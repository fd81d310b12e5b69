//! An excerpt of a history: the marks, and the versions of the gang with the fields that answers read. Each
//! reduction is kept only if the answer remains the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use conformance_contract::names;
use conformance_history::{Change, Entry, History, Recorded, SharedMark, What, is_of_canary, name, text};
use serde_json::{Value, json};

use crate::answer::{Answered, NoAnswer};
use crate::observation::Observation;

/// Maximum size of an excerpt, in bytes.
pub const LIMIT: usize = 4096;

/// The fields that stay at any path. Labels and conditions are selected by key and type.
const FIELDS: &[&str] = &[
    "kind",
    "metadata",
    "name",
    "deletionTimestamp",
    "labels",
    "spec",
    "nodeName",
    "schedulingGates",
    "priorityClassName",
    "minMember",
    "schedulingPolicy",
    "gang",
    "minCount",
    "queue",
    "schedulingConstraints",
    "topology",
    "key",
    "topologyConstraint",
    "requiredTopologyLevel",
    "status",
    "phase",
    "conditions",
    // KAI's second list of conditions.
    "schedulingConditions",
    "type",
    "reason",
    "message",
    "count",
    "series",
    "involvedObject",
];
/// The labels that stay; those of nodes all stay.
const LABELS: [&str; 2] = [names::GANG, names::CANARY];
const CONDITIONS_OF_PODS: [&str; 2] = ["PodScheduled", "DisruptionTarget"];
/// Maximum length of messages, in characters: longer than any quotation in an answer.
const MESSAGE: usize = 200;

/// Whether a shorter history still proves the answer.
type Proves<'a> = &'a dyn Fn(&History) -> bool;

/// The excerpt has the same answer as the history, and the same figures and notes if they fit.
pub fn excerpt(observation: &Observation, history: &History) -> Result<History, NoAnswer> {
    let wanted = observation.answer(history);
    let is_same = |found: &History| observation.answer(found) == wanted;
    let has_word = |found: &History| word(&observation.answer(found)) == word(&wanted);
    let stopped = shorter_if(&is_same, history.clone(), with_short_reasons(history.clone()));
    let mut found = shorter_if(&is_same, stopped.clone(), with_objects(&stopped, reduced));
    let shortened = with_objects(&found, shortened);
    found = shorter_if(&is_same, found, shortened);
    found = thin(shrink(found, &is_same), &is_same, false);
    if size(&found) > LIMIT {
        found = thin(shrink(found, &has_word), &has_word, false);
        found = thin(found, &has_word, true);
    }
    let bytes = size(&found);
    if bytes <= LIMIT {
        return Ok(found);
    }
    let id = observation.id();
    Err(NoAnswer::Because(format!("the excerpt for {id} has {bytes} bytes, want at most {LIMIT}")))
}

fn word(answered: &Answered) -> Result<&'static str, &NoAnswer> {
    answered.as_ref().map(|answer| answer.word)
}

fn shorter_if(proves: Proves<'_>, history: History, shorter: History) -> History {
    if proves(&shorter) { shorter } else { history }
}

fn size(history: &History) -> usize {
    let mut bytes = Vec::new();
    match history.write(&mut bytes) {
        Ok(()) => bytes.len(),
        Err(_) => usize::MAX,
    }
}

fn versions(history: &History) -> impl Iterator<Item = (usize, &Recorded)> {
    history.entries.iter().enumerate().filter_map(|(index, entry)| match &entry.what {
        What::Object(recorded) => Some((index, recorded)),
        What::Mark(_) | What::Gap(_) => None,
    })
}

fn key(object: &Value) -> (&str, &str) {
    (text(&object["kind"]), name(object))
}

fn is_of_gang(object: &Value) -> bool {
    object["metadata"]["labels"][names::GANG].is_string() && !is_of_canary(object)
}

fn with_objects(history: &History, change: fn(&Value) -> Value) -> History {
    let entry = |entry: &Entry| {
        let what = match &entry.what {
            What::Object(recorded) => {
                What::Object(Recorded { change: recorded.change, object: Arc::new(change(&recorded.object)) })
            }
            other => other.clone(),
        };
        Entry { at: entry.at, what }
    };
    let entries = history.entries.iter().map(entry).collect();
    History { header: history.header.clone(), entries }
}

fn without(history: &History, dropped: &BTreeSet<usize>) -> History {
    let all = history.entries.iter().enumerate();
    let kept = all.filter(|(index, _)| !dropped.contains(index)).map(|(_, entry)| entry.clone());
    History { header: history.header.clone(), entries: kept.collect() }
}

fn reduced(object: &Value) -> Value {
    let (is_node, is_pod) = (object["kind"] == "Node", object["kind"] == "Pod");
    let mut short = filtered(object);
    for (key, value) in object["metadata"]["labels"].as_object().into_iter().flatten() {
        if is_node || LABELS.contains(&key.as_str()) {
            short["metadata"]["labels"][key.as_str()] = value.clone();
        }
    }
    if let Some(conditions) = short.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
        let is_read = |of_type: &str| if is_pod { CONDITIONS_OF_PODS.contains(&of_type) } else { !is_node };
        conditions.retain(|condition| is_read(text(&condition["type"])));
    }
    short
}

fn filtered(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| FIELDS.contains(&key.as_str()));
            kept.map(|(key, value)| (key.clone(), filtered(value))).collect()
        }
        Value::Array(items) => items.iter().map(filtered).collect(),
        other => other.clone(),
    }
}

fn shortened(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), shortened(value))).collect(),
        Value::Array(items) => items.iter().map(shortened).collect(),
        Value::String(message) => message.chars().take(MESSAGE).collect::<String>().into(),
        other => other.clone(),
    }
}

/// Answers read only the first line of the reason for a stop.
fn with_short_reasons(mut history: History) -> History {
    for entry in &mut history.entries {
        if let What::Mark(mark) = &mut entry.what
            && mark.name == SharedMark::Stopped.as_str()
        {
            let reason = text(&mark.detail["reason"]).lines().next().unwrap_or_default();
            mark.detail = json!({"reason": reason.chars().take(MESSAGE).collect::<String>()});
        }
    }
    history
}

/// Drops objects outside the gang, kind by kind, and repeated versions.
fn shrink(history: History, proves: Proves<'_>) -> History {
    let kinds: BTreeSet<String> =
        versions(&history).map(|(_, recorded)| text(&recorded.object["kind"]).to_owned()).collect();
    let mut found = history;
    for kind in kinds {
        let mut others = BTreeSet::new();
        for (index, recorded) in versions(&found) {
            if text(&recorded.object["kind"]) == kind && !is_of_gang(&recorded.object) {
                others.insert(index);
            }
        }
        let shorter = without(&found, &others);
        found = shorter_if(proves, found, shorter);
    }
    let shorter = without(&found, &repetitions(&found));
    shorter_if(proves, found, shorter)
}

fn repetitions(history: &History) -> BTreeSet<usize> {
    let mut last = BTreeMap::new();
    let mut repeated = BTreeSet::new();
    for (index, recorded) in versions(history) {
        let object: &Value = &recorded.object;
        let before = last.insert(key(object), object);
        if recorded.change == Change::Modified && before == Some(object) {
            repeated.insert(index);
        }
    }
    repeated
}

/// The versions that may be dropped: objects outside the gang, and changes of the gang's objects. Without
/// `with_bindings`, the versions in which a pod gets its node stay.
fn droppable(history: &History, with_bindings: bool) -> Vec<usize> {
    let mut nodes = BTreeMap::new();
    let mut found = Vec::new();
    for (index, recorded) in versions(history) {
        let object: &Value = &recorded.object;
        let node = text(&object["spec"]["nodeName"]);
        let before = nodes.insert(key(object), node);
        let is_change = recorded.change == Change::Modified && (with_bindings || before == Some(node));
        if is_change || !is_of_gang(object) {
            found.push(index);
        }
    }
    found
}

/// Drops smaller and smaller blocks of versions, until the history is small enough.
fn thin(history: History, proves: Proves<'_>, with_bindings: bool) -> History {
    let mut bytes = size(&history);
    let mut found = history;
    let mut block = droppable(&found, with_bindings).len();
    while block > 0 && bytes > LIMIT {
        let mut begin = 0;
        while bytes > LIMIT {
            let places = droppable(&found, with_bindings);
            let end = (begin + block).min(places.len());
            if begin >= end {
                break;
            }
            let dropped: BTreeSet<usize> = places[begin..end].iter().copied().collect();
            let shorter = without(&found, &dropped);
            if proves(&shorter) {
                bytes = size(&shorter);
                found = shorter;
            } else {
                begin = end;
            }
        }
        block /= 2;
    }
    found
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, canary, node};

    use super::*;
    use crate::plain_gang::PlainGang;
    use crate::seen::{CHANGED, OBSERVED};
    use crate::testing::{pod, refused, resource, story, waiting};

    const GANG: PlainGang = PlainGang::new("losing", 3);
    const OTHER: PlainGang = PlainGang::new("waiting", 3);

    fn observation(id: &str) -> &'static Observation {
        crate::observation(id).unwrap()
    }

    fn noisy(versions: usize) -> Story {
        let created = story().added(node("n", 8)).all_added(waiting(&GANG, 3)).added(canary("c", Some("n")));
        let bound = (0..3).fold(created, |story, index| story.modified(pod(&GANG, index, Some("n"))));
        let lost = bound.deleted(pod(&GANG, 2, Some("n"))).mark(CHANGED, Value::Null);
        let replaced = lost.added(pod(&GANG, 3, None));
        let message = |number: usize| format!("attempt {number}: {}", "0/3 nodes are available ".repeat(20));
        let noise = |story: Story, number: usize| {
            let mut refused = refused(&GANG, 3, "Unschedulable", &message(number));
            refused["metadata"]["managedFields"] = json!([{"manager": "scheduler"}]);
            story.modified(refused).modified(node("n", 8))
        };
        (0..versions).fold(replaced, noise).mark(OBSERVED, Value::Null)
    }

    #[rstest::rstest]
    #[case::few(3)]
    #[case::many(300)]
    fn an_excerpt_is_small_and_has_the_same_answer(#[case] versions: usize) {
        let observation = observation("bound/lost-pod-replaced");
        let history = noisy(versions).end();
        assert!(size(&history) > LIMIT, "{}", size(&history));
        let short = excerpt(observation, &history).unwrap();
        assert!(size(&short) <= LIMIT, "{}", size(&short));
        assert_eq!(observation.answer(&short), observation.answer(&history));
        let kinds: BTreeSet<_> =
            super::versions(&short).map(|(_, recorded)| text(&recorded.object["kind"])).collect();
        assert_eq!(kinds, BTreeSet::from(["Pod"]));
        assert!(
            super::versions(&short)
                .all(|(_, recorded)| recorded.object["metadata"]["managedFields"].is_null())
        );
    }

    /// An excerpt without the pods would have the answer that nothing was bound, and would prove nothing.
    #[test]
    fn the_pods_and_their_bindings_stay() {
        let short = excerpt(observation("bound/lost-pod-replaced"), &noisy(300).end()).unwrap();
        let of = |wanted: Change| super::versions(&short).filter(|(_, found)| found.change == wanted).count();
        assert_eq!((of(Change::Added), of(Change::Deleted)), (4, 1));
        assert_eq!(crate::seen::bound(&short.end(), &GANG), 2);
    }

    #[test]
    fn only_the_word_remains_of_an_answer_about_many_versions() {
        let observation = observation("waits/writes-while-waiting");
        let before = story().added(resource(&OTHER, json!({}))).all_added(waiting(&OTHER, 3));
        let written = (0..500).fold(before.mark(CHANGED, Value::Null), |story, number| {
            let message = format!("attempt {number}");
            story.modified(refused(&OTHER, 0, "Unschedulable", &message))
        });
        let history = written.later(20).mark(OBSERVED, Value::Null).end();
        let short = excerpt(observation, &history).unwrap();
        assert!(size(&short) <= LIMIT, "{}", size(&short));
        assert_eq!(word(&observation.answer(&short)), Ok("pods-written"));
    }

    #[test]
    fn the_reason_for_no_answer_is_kept() {
        let waits = story().all_added(waiting(&GANG, 3));
        let reason = format!("no canary was bound\n{}", "a node without pods\n".repeat(1000));
        let stopped = waits.clone().mark(SharedMark::Stopped, json!({"reason": reason}));
        let observation = observation("bound/lost-pod-replaced");
        for history in [waits.end(), stopped.end()] {
            let short = excerpt(observation, &history).unwrap();
            assert_eq!(observation.answer(&short), observation.answer(&history));
        }
    }
}
