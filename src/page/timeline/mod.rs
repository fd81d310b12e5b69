//! The timeline of a history: a lane per object, and all events. Those that prove a violation are marked.

mod edit;
mod lane;
mod phase;
mod words;

use std::collections::BTreeMap;

use conformance_history::{Change, Entry, History, Recorded, Version, What};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use conformance_report::Violation;
use edit::Edit;
use lane::{Lane, Lanes};
use phase::Phase;
use words::EventKind;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Timeline<'a> {
    /// Time of the first entry. All other times are relative to it.
    pub begin: Timestamp,
    pub length: u64,
    pub lanes: Vec<Lane<'a>>,
    pub events: Vec<Event<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Event<'a> {
    /// In milliseconds.
    pub at: u64,
    pub lane: usize,
    pub sort: EventKind,
    pub what: String,
    /// The field manager that wrote the version, or the component that reported the Event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proves: Vec<&'a str>,
    /// The change since the previous version of the object, or since the event `like` for a first version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit: Option<Edit<'a>>,
    /// The first event of the same kind: the base of `edit` for a first version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub like: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<&'a Value>,
    #[serde(skip)]
    object: Option<&'a Value>,
}

pub(crate) type FoundViolation<'a> = (&'a str, &'a Violation);

type Observed<'a> = (&'a str, &'a str, &'a str);

fn proofs<'a>(violations: &[FoundViolation<'a>]) -> BTreeMap<Observed<'a>, Vec<&'a str>> {
    let mut proofs: BTreeMap<Observed<'a>, Vec<&'a str>> = BTreeMap::new();
    for (clause, violation) in violations {
        for proof in &violation.proof {
            let clauses = proofs.entry((&proof.kind, &proof.name, &proof.resource_version)).or_default();
            if !clauses.contains(clause) {
                clauses.push(clause);
            }
        }
    }
    proofs
}

impl<'a> Timeline<'a> {
    pub(crate) fn of(history: &'a Readable, violations: &[FoundViolation<'a>]) -> Self {
        let entries = &history.history.entries;
        let begin = entries.iter().map(|entry| entry.at).min().unwrap_or(Timestamp::UNIX_EPOCH);
        let since = |at: Timestamp| u64::try_from(at.duration_since(begin).as_millis()).unwrap_or_default();
        let length = entries.iter().map(|entry| since(entry.at)).max().unwrap_or_default();
        let proofs = proofs(violations);
        let mut lanes = Lanes::default();
        let mut latest: BTreeMap<usize, &Value> = BTreeMap::new();
        let mut first: BTreeMap<&str, (usize, &Value)> = BTreeMap::new();
        let mut events = Vec::with_capacity(entries.len());
        for (index, Entry { at, what }) in entries.iter().enumerate() {
            let at = since(*at);
            let event = |lane, sort, what| Event {
                at,
                lane,
                sort,
                what,
                by: None,
                revision: None,
                proves: Vec::new(),
                edit: None,
                like: None,
                detail: None,
                object: None,
            };
            let event = match what {
                What::Mark(mark) => {
                    let words = words::of_mark(&mark.name, &mark.detail);
                    let detail = (!mark.detail.is_null()).then_some(&mark.detail);
                    Event { detail, ..event(lanes.of_driver(), EventKind::Mark, words) }
                }
                What::Gap(gap) => {
                    let words = format!("the watch of {} has a gap: {}", gap.kind, gap.reason);
                    event(lanes.of_driver(), EventKind::Gap, words)
                }
                What::Object(Recorded { change, object }) => {
                    let version = Version { change: *change, at: entries[index].at, index, object };
                    let revision = object["metadata"]["resourceVersion"].as_str();
                    let observed = (version.kind(), version.name(), revision.unwrap_or_default());
                    let proves = proofs.get(&observed).cloned().unwrap_or_default();
                    let like = first.get(version.kind()).copied();
                    first.entry(version.kind()).or_insert((events.len(), version.object));
                    let edit = |before: Option<&'a Value>| match before.or(like.map(|(_, other)| other)) {
                        Some(before) => Edit::between(before, object),
                        None => Edit::whole(object),
                    };
                    let like = like.map(|(index, _)| index);
                    let object = Some(object.as_ref());
                    if version.kind() == "Event" {
                        let (words, by) = words::of_event(version.object);
                        let event = event(lanes.involved(version.object), EventKind::Event, words);
                        Event { by, revision, proves, edit: Some(edit(None)), like, object, ..event }
                    } else {
                        let lane = lanes.of_object(&version);
                        let before = latest.insert(lane, version.object);
                        // An object that was deleted and created again has a different UID.
                        let uid = &version.object["metadata"]["uid"];
                        let known = before.filter(|before| before["metadata"]["uid"] == *uid);
                        let edit = edit(before);
                        let (sort, words) = words::of_version(known, &version, &edit);
                        lanes.phase(lane, at, (*change != Change::Deleted).then(|| Phase::of(&version)));
                        let by = history.writers.get(&index).cloned();
                        let like = like.filter(|_| before.is_none());
                        Event {
                            by,
                            revision,
                            proves,
                            edit: Some(edit),
                            like,
                            object,
                            ..event(lane, sort, words)
                        }
                    }
                }
            };
            events.push(event);
        }
        let (lanes, places) = lanes.in_order(length);
        for event in &mut events {
            event.lane = places[event.lane];
        }
        Self { begin, length, lanes, events }
    }

    pub(crate) fn find(&self, kind: &str, name: &str, revision: &str) -> Option<usize> {
        self.events.iter().position(|event| {
            let lane = &self.lanes[event.lane];
            let is_of_object = match event.sort {
                EventKind::Event => {
                    kind == "Event" && event.object.is_some_and(|of| of["metadata"]["name"] == name)
                }
                _ => lane.kind == kind && lane.name == name,
            };
            is_of_object && event.revision == Some(revision)
        })
    }
}

/// A history whose `managedFields` are reduced to the names of the writers.
#[derive(Debug)]
pub(crate) struct Readable {
    history: History,
    writers: BTreeMap<usize, String>,
}

impl From<History> for Readable {
    fn from(mut history: History) -> Self {
        let mut writers = BTreeMap::new();
        let mut latest: BTreeMap<(String, String), std::sync::Arc<Value>> = BTreeMap::new();
        for version in history.versions().filter(|version| version.kind() != "Event") {
            let key = (version.kind().to_owned(), version.name().to_owned());
            let before = latest.get(&key).map(|object| object.as_ref());
            if let Some(writer) = words::writer(before, &version) {
                writers.insert(version.index, writer);
            }
            if let What::Object(Recorded { object, .. }) = &history.entries[version.index].what {
                latest.insert(key, object.clone());
            }
        }
        drop(latest);
        for entry in &mut history.entries {
            let What::Object(Recorded { object, .. }) = &mut entry.what else { continue };
            let metadata = std::sync::Arc::make_mut(object).get_mut("metadata");
            if let Some(metadata) = metadata.and_then(Value::as_object_mut) {
                metadata.remove("managedFields");
            }
        }
        Self { history, writers }
    }
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
