//! What changed that should not have: quiet at rest, unrelated objects left alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::belonging::{belongs, is_scaled_by};
use super::gang_resources::is_gang_resource;
use super::gangs::controller;
use super::{Ruling, Shown, Violation, none, violation};
use crate::suite::expect::Gang;
use crate::suite::history::{Change, History, Kind, Version};
use crate::suite::target::Target;
use crate::suite::{names, schedulers};

/// Who writes of its own accord, by field manager or event source: schedulers write conditions of pods and gang
/// resources and their events, KWOK writes the status of pods and nodes. A rest is a rest beside them (GANG-11).
pub const OF_THEIR_OWN_ACCORD: [&str; 9] = [
    "kube-scheduler",
    "default-scheduler",
    "kwok",
    "vc-scheduler",
    "volcano",
    "koord-scheduler",
    "kai-scheduler",
    "kai-binder",
    "binder",
];

fn is_known(writer: &str) -> bool {
    OF_THEIR_OWN_ACCORD.iter().any(|known| writer.starts_with(known))
}

/// A write in a history.
#[derive(Debug, Clone)]
pub struct Write<'a> {
    /// What it made.
    pub version: Version<'a>,
    /// The object before; `None` if it is new.
    pub previous: Option<Version<'a>>,
    /// By whom, as far as managed fields tell: field managers, or an event's source.
    pub by: Vec<String>,
}

impl Write<'_> {
    fn is_of_its_own_accord(&self) -> bool {
        self.version.change != Change::Deleted
            && !self.by.is_empty()
            && self.by.iter().all(|writer| is_known(writer))
    }

    fn authors(&self) -> String {
        if self.by.is_empty() { "an unknown writer".into() } else { self.by.join(", ") }
    }
}

/// Every write from entry `from` up to entry `to` that nobody makes of its own accord. Canaries do not count, nor does
/// what is the cluster's and shared with other trials.
pub fn writes(history: &History, from: usize, to: usize) -> Vec<Write<'_>> {
    let mut latest: BTreeMap<(&str, &str), Version<'_>> = BTreeMap::new();
    let mut found = Vec::new();
    for version in history.versions().filter(|version| version.index < to && is_of_workload(version)) {
        let key = (version.kind(), version.name());
        let previous = match version.change {
            Change::Deleted => latest.remove(&key),
            Change::Added | Change::Modified => latest.insert(key, version),
        };
        let write = Write { version, previous, by: writers(previous.map(|p| p.object), version.object) };
        if version.index >= from && !write.is_of_its_own_accord() {
            found.push(write);
        }
    }
    found
}

fn is_of_workload(version: &Version<'_>) -> bool {
    let about = version.object["involvedObject"]["name"].as_str().unwrap_or_default();
    let of_canary = version.label(names::CANARY).is_some() || about.starts_with("canary-");
    let of_the_cluster = Kind::named(version.kind()).is_some_and(|kind| !kind.namespaced);
    !of_canary && !of_the_cluster
}

/// The field managers whose entry is new; those with the latest time where a second write within a second left no trace.
fn writers(previous: Option<&Value>, object: &Value) -> Vec<String> {
    if object["kind"] == "Event" {
        let source = [&object["source"]["component"], &object["reportingComponent"]];
        return source
            .into_iter()
            .filter_map(Value::as_str)
            .find(|name| !name.is_empty())
            .map(str::to_owned)
            .into_iter()
            .collect();
    }
    let entries =
        |object: &Value| object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let (before, now) = (previous.map(entries).unwrap_or_default(), entries(object));
    let traced = now.iter().any(|entry| !before.contains(entry));
    let newest = now.iter().filter_map(|entry| entry["time"].as_str()).max();
    let of_status = previous.is_some_and(|previous| is_but_for_its_status(previous, object));
    // Where a kind has no status of its own, it is its scheduler who writes there.
    let has_status = now.iter().any(|entry| entry["subresource"] == "status");
    let is_author = |entry: &&Value| match (traced, of_status) {
        (true, _) => !before.contains(entry),
        (false, true) if has_status => entry["time"].as_str() == newest && entry["subresource"] == "status",
        (false, true) => is_known(entry["manager"].as_str().unwrap_or_default()),
        (false, false) => entry["time"].as_str() == newest,
    };
    let authors = now.iter().filter(is_author);
    let names: BTreeSet<_> = authors.filter_map(|entry| entry["manager"].as_str()).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// Whether two versions differ in nothing but their status.
fn is_but_for_its_status(a: &Value, b: &Value) -> bool {
    let same = |field: &str| a["metadata"][field] == b["metadata"][field];
    let fields = ["labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp"];
    a["spec"] == b["spec"] && fields.into_iter().all(same)
}

/// Nothing was written between the entries at `from` and `until`, two marks (GANG-11).
///
/// # Errors
/// A violation per object that was, with how often and by whom.
pub fn quiet(history: &History, from: usize, until: usize) -> Ruling {
    let mut by_object: BTreeMap<(&str, &str), Vec<Write<'_>>> = BTreeMap::new();
    for write in writes(history, from, until) {
        by_object.entry((write.version.kind(), write.version.name())).or_default().push(write);
    }
    none(by_object.into_iter().filter_map(|((kind, name), writes)| {
        let last = writes.last()?;
        let message =
            format!("{kind} {name} was written {} times at rest, last by {}", writes.len(), last.authors());
        Some(violation(message).shown_by("first", writes[0].version).shown_by("last", last.version))
    }))
}

/// No gang resource of a PodGang was written from entry `from` up to entry `to` (GANG-09).
///
/// # Errors
/// A violation per write.
pub fn no_gang_resource_written_of(history: &History, pod_gang: &str, from: usize, to: usize) -> Ruling {
    let is_its = |write: &&Write<'_>| {
        let object = write.version.object;
        is_gang_resource(object) && controller(object).is_some_and(|owner| owner["name"] == pod_gang)
    };
    none(writes(history, from, to).iter().filter(is_its).map(touch))
}

fn touch(write: &Write<'_>) -> Violation {
    let version = write.version;
    // Nothing tells who deleted an object.
    let what = match version.change {
        Change::Deleted => "deleted".to_owned(),
        Change::Added | Change::Modified => format!("written by {}", write.authors()),
    };
    let found = violation(format!("{} {} was {what}", version.kind(), version.name()));
    let found = write.previous.into_iter().fold(found, |found, previous| found.shown_by("before", previous));
    found.shown_by("after", version)
}

/// What a change from some PodGangs to others is about.
#[derive(Debug)]
pub struct Concern<'a> {
    target: Target,
    set: &'a str,
    /// PodGangs that come or go, with all that belongs to them.
    whole: Vec<&'a Gang>,
    /// PodGangs and PodCliques whose number of pods changes.
    resized: Vec<(&'a Gang, &'a str)>,
}

impl<'a> Concern<'a> {
    /// The change of a PodCliqueSet from `before` to `after`.
    pub fn of(target: Target, set: &'a str, before: &'a [Gang], after: &'a [Gang]) -> Self {
        let lacks = |gangs: &'a [Gang], gang: &Gang| gangs.iter().all(|other| other.name != gang.name);
        let gone = before.iter().filter(|gang| lacks(after, gang));
        let whole = gone.chain(after.iter().filter(|gang| lacks(before, gang))).collect();
        let resized = after
            .iter()
            .flat_map(|gang| gang.groups.iter().map(move |group| (gang, group)))
            .filter(|(_, group)| {
                let old = before.iter().flat_map(|gang| &gang.groups).find(|old| old.clique == group.clique);
                old.is_some_and(|old| old.replicas != group.replicas)
            });
        let resized = resized.map(|(gang, group)| (gang, group.clique.as_str())).collect();
        Self { target, set, whole, resized }
    }

    /// Whether an object may be written on the way. `stays` tells that it was there before and is there after.
    fn covers(&self, version: Version<'_>, stays: bool) -> bool {
        let name = version.name();
        if self.whole.iter().any(|gang| belongs(self.target, gang, version)) {
            return true;
        }
        match version.kind() {
            "PodCliqueSet" => name == self.set,
            "PodCliqueScalingGroup" => {
                let resized = self.resized.iter().map(|(gang, _)| gang);
                self.whole.iter().chain(resized).any(|gang| is_scaled_by(gang, name))
            }
            "PodGang" => self.resized.iter().any(|(gang, _)| gang.name == name),
            "PodClique" => self.resized.iter().any(|(_, clique)| *clique == name),
            "Pod" => {
                !stays && self.resized.iter().any(|(_, clique)| version.pod().pod_clique() == Some(clique))
            }
            "Event" => true,
            kind => {
                let resources =
                    self.resized.iter().flat_map(|(gang, _)| schedulers::resources_of(self.target, gang));
                schedulers::of(self.target).counts_pods() && { resources }
                    .any(|resource| resource.kind == kind && resource.name.matches(name))
            }
        }
    }
}

/// Objects that the change does not concern kept uid and resourceVersion from entry `from` to entry `to`
/// (GANG-10, DEL-02).
///
/// # Errors
/// A violation per write to one.
pub fn others_untouched(history: &History, from: usize, to: usize, concern: &Concern<'_>) -> Ruling {
    let (before, after) = (history.before(from), history.before(to));
    let there = |live: &crate::suite::history::Live, version: Version<'_>| {
        live.get(version.kind(), version.name())
            .is_some_and(|object| object["metadata"]["uid"] == version.uid())
    };
    let writes = writes(history, from, to);
    let touched = writes.iter().filter(|write| {
        let version = write.version;
        let was = there(&before, version);
        was && !concern.covers(version, there(&after, version))
    });
    none(touched.map(touch))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::suite::expect;
    use crate::suite::history::testing::{Story, object, owned};
    use crate::suite::judge::Broken;
    use crate::suite::target::TARGETS;

    fn written(kind: &str, name: &str, by: &str, time: &str) -> Value {
        let mut object = object(kind, name);
        object["metadata"]["managedFields"] = json!([{"manager": by, "operation": "Update", "time": time}]);
        object
    }

    fn gangs(replicas: u64, pods: u64) -> Vec<Gang> {
        expect::gangs(&json!({"metadata": {"name": "w"}, "spec": {"replicas": replicas, "template": {
            "cliques": [{"name": "a", "spec": {"replicas": pods, "minAvailable": 1}}],
        }}}))
    }

    fn pod(name: &str, by: &str) -> Value {
        let mut pod = written("Pod", name, by, "1");
        pod["metadata"]["labels"] = json!({"grove.io/podclique": "w-0-a"});
        pod
    }

    fn messages(ruling: Ruling) -> Vec<String> {
        match ruling {
            Ok(()) => Vec::new(),
            Err(Broken::Violated(all)) => all.into_iter().map(|violation| violation.message).collect(),
            Err(other) => panic!("{other:?}"),
        }
    }

    /// A PodGang is made, `rest` happens between the marks, and `after` behind them.
    fn at_rest(made: Value, rest: impl Fn(Story) -> Story, after: impl Fn(Story) -> Story) -> Vec<String> {
        let story = rest(Story::flat().added(made).mark("converged", Value::Null));
        let history = after(story.mark("watched", Value::Null)).end();
        let place = |name| history.reached(name).unwrap().0;
        messages(quiet(&history, place("converged"), place("watched")))
    }

    #[test]
    fn every_write_between_the_marks_disturbs_a_rest() {
        let gang = || written("PodGang", "w-0", "op", "1");
        let write = |story: Story| story.modified(written("PodGang", "w-0", "op", "2"));
        assert_eq!(
            at_rest(gang(), |story| write(story).later(20), |story| story),
            ["PodGang w-0 was written 1 times at rest, last by op"],
            "however long it is quiet thereafter"
        );
        assert!(at_rest(gang(), |story| story.later(10), write).is_empty());
    }

    #[test]
    fn schedulers_and_kwok_do_not_disturb_a_rest() {
        let again =
            |made: Value, object: Value| at_rest(made, |story| story.modified(object.clone()), |story| story);
        let story = |object: Value| again(written("PodGroup", "g", "op", "1"), object);
        let mut by_scheduler = written("PodGroup", "g", "op", "1");
        let entry = json!({"manager": "kube-scheduler", "subresource": "status", "time": "2"});
        by_scheduler["metadata"]["managedFields"].as_array_mut().unwrap().push(entry);
        assert!(story(by_scheduler).is_empty(), "only the new entry counts");
        let begin = || {
            let mut group = written("PodGroup", "g", "kube-scheduler", "1");
            let creation = json!({"manager": "op", "operation": "Update", "time": "1"});
            group["metadata"]["managedFields"].as_array_mut().unwrap().push(creation);
            group["metadata"]["managedFields"][0]["subresource"] = json!("status");
            group
        };
        assert!(again(begin(), begin()).is_empty(), "a status is told from the rest");
        let event = |source: &str| json!({"kind": "Event", "metadata": {"name": "e"}, "source": {"component": source}});
        assert!(story(event("default-scheduler")).is_empty());
        assert_eq!(story(event("operator")).len(), 1);
        assert_eq!(
            story(written("PodGroup", "g", "op", "1")).len(),
            1,
            "a second write in a second leaves no trace"
        );
    }

    #[test]
    fn gang_resources_unwritten() {
        let begin = || {
            Story::flat()
                .added(owned(written("Workload", "w-0", "op", "1"), "PodGang", "w-0"))
                .added(written("PodGang", "w-0", "op", "1"))
        };
        let of = |story: Story| messages(no_gang_resource_written_of(&story.end(), "w-0", 2, usize::MAX));
        assert!(of(begin().modified(written("PodGang", "w-0", "op", "2"))).is_empty());
        assert_eq!(
            of(begin().modified(owned(written("Workload", "w-0", "op", "2"), "PodGang", "w-0"))),
            ["Workload w-0 was written by op"]
        );
        let deleted = owned(written("Workload", "w-0", "op", "1"), "PodGang", "w-0");
        assert_eq!(of(begin().deleted(deleted)).len(), 1);
    }

    fn touched(before: &[Gang], after: &[Gang], story: Story) -> Vec<String> {
        let concern = Concern::of(TARGETS[0], "w", before, after);
        messages(others_untouched(&story.end(), 4, usize::MAX, &concern))
    }

    fn converged() -> Story {
        let all = [("PodCliqueSet", "w"), ("PodGang", "w-0"), ("PodClique", "w-0-a")];
        Story::flat()
            .all_added(all.map(|(kind, name)| written(kind, name, "op", "1")))
            .added(pod("w-0-a-x", "op"))
    }

    #[test]
    fn scaling_the_set_leaves_the_first_replica_alone() {
        let (one, two) = (gangs(1, 1), gangs(2, 1));
        let scaled = |story: Story| touched(&one, &two, story);
        let growing =
            || converged().modified(written("PodCliqueSet", "w", "me", "2")).added(object("PodGang", "w-1"));
        assert!(scaled(growing()).is_empty());
        assert_eq!(
            scaled(growing().modified(written("PodGang", "w-0", "op", "2"))),
            ["PodGang w-0 was written by op"]
        );
        assert_eq!(scaled(growing().deleted(pod("w-0-a-x", "op"))), ["Pod w-0-a-x was deleted"]);
    }

    #[test]
    fn scaling_a_clique_leaves_its_remaining_pods_alone() {
        let (one, two) = (gangs(1, 1), gangs(1, 2));
        let scaled = |story: Story| touched(&one, &two, story);
        let growing =
            || converged().modified(written("PodGang", "w-0", "op", "2")).added(pod("w-0-a-y", "op"));
        assert!(scaled(growing()).is_empty());
        assert_eq!(scaled(growing().modified(pod("w-0-a-x", "else"))), ["Pod w-0-a-x was written by else"]);
        assert!(
            touched(&two, &one, converged().deleted(pod("w-0-a-x", "op"))).is_empty(),
            "one of them has to go"
        );
    }
}
