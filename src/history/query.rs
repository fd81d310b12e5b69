#![allow(missing_docs, reason = "an accessor without a comment is named after the field that it returns")]

use std::collections::BTreeSet;

use conformance_contract::names;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::fields::list;
use super::live::Live;
use super::log::{Change, Entry, Gap, History, Mark, Recorded, What};
use super::mark::{MarkName, SharedMark};

/// Returns the resourceVersion as a number, or 0. Within one etcd, it orders versions across kinds.
pub fn revision(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|raw| raw.parse().ok()).unwrap_or(0)
}

/// One version of one object in a history.
#[derive(Debug, Clone, Copy)]
pub struct Version<'a> {
    pub change: Change,
    /// Arrival time.
    pub at: Timestamp,
    /// Index in the history.
    pub index: usize,
    pub object: &'a Value,
}

impl<'a> Version<'a> {
    /// Creates a version of an object that is not in a history.
    pub fn of(object: &'a Value) -> Self {
        Self { change: Change::Added, at: Timestamp::UNIX_EPOCH, index: 0, object }
    }

    /// Returns the time of the change. This is the arrival or, if it is earlier, the time that the API server
    /// recorded plus one second. Recorded times are truncated to whole seconds.
    pub fn happened(&self) -> Timestamp {
        let metadata = &self.object["metadata"];
        let time = |value: &Value| value.as_str().and_then(|time| time.parse::<Timestamp>().ok());
        let deleted = time(&metadata["deletionTimestamp"]).map(|due| {
            let grace = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
            due.saturating_sub(SignedDuration::from_secs(grace)).unwrap_or(due)
        });
        let written =
            || list(&metadata["managedFields"]).iter().filter_map(|entry| time(&entry["time"])).max();
        let recorded = match self.change {
            Change::Deleted => None,
            Change::Added | Change::Modified => deleted.or_else(written),
        };
        let at_most = recorded.and_then(|time| time.saturating_add(SignedDuration::from_secs(1)).ok());
        at_most.map_or(self.at, |at_most| at_most.min(self.at))
    }

    /// The kind as histories name it, such as `Queue.scheduling.volcano.sh`.
    pub fn kind(&self) -> &'a str {
        self.object["kind"].as_str().unwrap_or_default()
    }

    pub fn name(&self) -> &'a str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }

    pub fn uid(&self) -> &'a str {
        self.object["metadata"]["uid"].as_str().unwrap_or_default()
    }

    pub fn revision(&self) -> u64 {
        revision(self.object)
    }

    pub fn pod(&self) -> Pod<'a> {
        Pod(self.object)
    }

    pub fn label(&self, key: &str) -> Option<&'a str> {
        self.object["metadata"]["labels"][key].as_str()
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Pod<'a>(pub &'a Value);

impl<'a> Pod<'a> {
    pub fn name(self) -> &'a str {
        self.0["metadata"]["name"].as_str().unwrap_or_default()
    }

    pub fn uid(self) -> &'a str {
        self.0["metadata"]["uid"].as_str().unwrap_or_default()
    }

    /// `spec.nodeName`, or `None` until the pod is bound.
    pub fn node(self) -> Option<&'a str> {
        self.0["spec"]["nodeName"].as_str().filter(|node| !node.is_empty())
    }

    pub fn gates(self) -> Vec<&'a str> {
        self.0["spec"]["schedulingGates"]
            .as_array()
            .map(|gates| gates.iter().filter_map(|gate| gate["name"].as_str()).collect())
            .unwrap_or_default()
    }

    /// The PodGang that the pod's label names.
    pub fn pod_gang(self) -> Option<&'a str> {
        self.label(names::POD_GANG)
    }

    /// The PodClique that the pod's label names.
    pub fn pod_clique(self) -> Option<&'a str> {
        self.label(names::POD_CLIQUE)
    }

    pub fn label(self, key: &str) -> Option<&'a str> {
        self.0["metadata"]["labels"][key].as_str()
    }

    pub fn is_canary(self) -> bool {
        is_of_canary(self.0)
    }

    /// Whether the pod has a deletion timestamp.
    pub fn is_terminating(self) -> bool {
        self.0["metadata"]["deletionTimestamp"].is_string()
    }

    pub fn condition(self, of_type: &str) -> Option<&'a Value> {
        condition(self.0, of_type)
    }
}

/// Whether an object belongs to a canary. Some objects of a canary PodCliqueSet lack the canary label.
pub fn is_of_canary(object: &Value) -> bool {
    let labels = &object["metadata"]["labels"];
    let set = labels[names::PART_OF].as_str().unwrap_or_default();
    labels[names::CANARY].is_string() || set.starts_with(names::CANARY_SET)
}

pub fn condition<'a>(object: &'a Value, of_type: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == of_type)
}

impl History {
    /// Returns all versions in the order of their writes. Watches of several kinds may deliver another order.
    pub fn as_written(&self) -> Vec<Version<'_>> {
        let mut versions: Vec<_> = self.versions().collect();
        versions.sort_by_cached_key(Version::revision);
        versions
    }

    /// Returns all versions of all objects, in the order of arrival.
    pub fn versions(&self) -> impl Iterator<Item = Version<'_>> {
        self.entries.iter().enumerate().filter_map(|(index, Entry { at, what })| match what {
            What::Object(Recorded { change, object }) => {
                Some(Version { change: *change, at: *at, index, object: object.as_ref() })
            }
            What::Mark(_) | What::Gap(_) => None,
        })
    }

    pub fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = Version<'a>> {
        self.versions().filter(move |version| version.kind() == kind)
    }

    /// Returns all versions with this kind and name, including those of different objects with the same name.
    pub fn named<'a>(&'a self, kind: &'a str, name: &'a str) -> impl Iterator<Item = Version<'a>> {
        self.of(kind).filter(move |version| version.name() == name)
    }

    /// Returns all versions of the workload's pods, without canaries.
    pub fn pods(&self) -> impl Iterator<Item = Version<'_>> {
        self.of("Pod").filter(|version| !version.pod().is_canary())
    }

    /// Returns all names that objects of a kind ever had.
    pub fn names<'a>(&'a self, kind: &'a str) -> BTreeSet<&'a str> {
        self.of(kind).map(|version| version.name()).collect()
    }

    pub fn marks(&self, name: impl Into<MarkName>) -> impl Iterator<Item = (usize, &Mark)> {
        let name = name.into();
        self.entries.iter().enumerate().filter_map(move |(index, entry)| match &entry.what {
            What::Mark(mark) if mark.name == name.as_str() => Some((index, mark)),
            _ => None,
        })
    }

    pub fn gaps(&self) -> impl Iterator<Item = &Gap> {
        self.entries.iter().filter_map(|entry| match &entry.what {
            What::Gap(gap) => Some(gap),
            _ => None,
        })
    }

    /// Returns the objects just before the entry at `index`.
    pub fn before(&self, index: usize) -> Live {
        let mut live = Live::default();
        for entry in &self.entries[..index.min(self.entries.len())] {
            if let What::Object(recorded) = &entry.what {
                live.apply(recorded);
            }
        }
        live
    }

    /// Returns the history before the entry at `index`.
    #[must_use]
    pub fn upto(&self, index: usize) -> Self {
        Self { header: self.header.clone(), entries: self.entries[..index.min(self.entries.len())].to_vec() }
    }

    /// Returns the history from the entry at `index` on.
    #[must_use]
    pub fn since(&self, index: usize) -> Self {
        Self { header: self.header.clone(), entries: self.entries[index.min(self.entries.len())..].to_vec() }
    }

    /// Returns the history before the harness restored the control plane, which repairs stuck states.
    #[must_use]
    pub fn before_restore(&self) -> Self {
        let end = self.marks(SharedMark::Restored).next().map_or(self.entries.len(), |(place, _)| place);
        self.upto(end)
    }

    /// The history up to the timeout at which the driver stopped, or the whole history if there was none.
    #[must_use]
    pub fn until_timeout(&self) -> Self {
        let gave_up = self.marks(SharedMark::Stopped).any(|(_, mark)| mark.detail["wait"] == true);
        let continued = self.marks(SharedMark::ContinuedAfterTimeout).last().map(|(index, _)| index);
        let timeout = self.marks(SharedMark::WaitTimedOut).last();
        let timeout = timeout.filter(|(index, _)| gave_up && continued.is_none_or(|later| later < *index));
        let Some(last) = timeout.and_then(|(_, mark)| mark.detail["revision"].as_u64()) else {
            return self.clone();
        };
        let is_in_time = |entry: &&Entry| match &entry.what {
            What::Object(recorded) => revision(&recorded.object) <= last,
            What::Mark(_) | What::Gap(_) => true,
        };
        Self {
            header: self.header.clone(),
            entries: self.entries.iter().filter(is_in_time).cloned().collect(),
        }
    }

    pub fn last_at(&self) -> Timestamp {
        self.entries.last().map_or(Timestamp::UNIX_EPOCH, |entry| entry.at)
    }

    /// Returns a time limit of the contract, extended if the machine was slow.
    pub fn allowed(&self, limit: SignedDuration) -> SignedDuration {
        let longer = limit.as_secs_f64() * self.header.slowness.unwrap_or(1.0).max(1.0);
        SignedDuration::try_from_secs_f64(longer).unwrap_or(SignedDuration::MAX)
    }

    /// Returns the objects at the end of the history.
    pub fn end(&self) -> Live {
        self.before(self.entries.len())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Story, object};

    #[test]
    fn the_time_of_a_late_event_is_that_of_its_write() {
        let recorded = |object: Value| Story::flat().later(60).modified(object).end();
        let happened = |object: Value| recorded(object).versions().next().unwrap().happened().as_second();
        assert_eq!(happened(object("Pod", "a")), 60);
        let mut written = object("Pod", "a");
        written["metadata"]["managedFields"] =
            json!([{"time": "1970-01-01T00:00:20Z"}, {"time": "1970-01-01T00:00:50Z"}, {"manager": "x"}]);
        assert_eq!(happened(written.clone()), 51);
        written["metadata"]["managedFields"][0]["time"] = json!("1970-01-01T00:00:59.5Z");
        assert_eq!(happened(written.clone()), 60, "the arrival is earlier than the rounded write");
        written["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:01:00Z");
        written["metadata"]["deletionGracePeriodSeconds"] = json!(30);
        assert_eq!(happened(written), 31);
    }

    #[test]
    fn writes_after_the_timeout_that_stopped_the_driver_are_excluded() {
        // Pod `a` was written before the timeout and delivered after it.
        let timed_out =
            |revision| Story::flat().mark(SharedMark::WaitTimedOut, json!({"revision": revision}));
        let with_pods = |story: Story| story.added(object("Pod", "a")).added(object("Pod", "b"));
        let finished = |story: Story| with_pods(story).mark(SharedMark::Restored, Value::Null).end();
        let names = |history: History| {
            assert!(history.reached(SharedMark::Restored).is_ok());
            history.until_timeout().names("Pod").into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let stopped = |revision, wait| timed_out(revision).mark(SharedMark::Stopped, json!({"wait": wait}));
        assert_eq!(names(finished(timed_out(Some(3)))), ["a", "b"], "the driver continued");
        assert_eq!(names(finished(stopped(Some(3), true))), ["a"]);
        assert_eq!(names(finished(stopped(None, true))), ["a", "b"], "the revision is unknown");
        let continued = stopped(Some(3), true).mark(SharedMark::ContinuedAfterTimeout, Value::Null);
        assert_eq!(names(finished(continued)), ["a", "b"], "the driver stopped at another point");
        assert_eq!(names(finished(stopped(Some(3), false))), ["a", "b"]);
    }
}
