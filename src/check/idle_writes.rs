use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::names;
use conformance_contract::ruling::Ruling;
use conformance_contract::target::Target;
use conformance_contract::violation::Code;
use conformance_contract::violation::Violation;
use conformance_expect::schedulers::is_exempt_writer;
use conformance_expect::{Gang, schedulers};
use conformance_facts::gang_resources::is_gang_resource;
use conformance_facts::leftovers::operators;
use conformance_facts::ownership::{belongs, is_scaled_by};
use conformance_history::{
    Change, History, Kind, SharedMark, Version, counted_times, event_about, owners, text,
};
use serde_json::Value;

use super::{Shown, none, violation};

const WRITTEN_WHILE_IDLE: Code = Code::new("written-while-idle");
const TOUCHED: Code = Code::new("touched");

#[derive(Debug, Clone)]
pub struct Write<'a> {
    pub version: Version<'a>,
    pub previous: Option<Version<'a>>,
    pub by: Vec<String>,
}

impl Write<'_> {
    /// Whether only exempt writers wrote the version (GANG-11). The operator under test is never exempt.
    fn is_exempt(&self, target: Target, operators: &BTreeSet<String>) -> bool {
        let is_excepted = |writer: &String| is_exempt_writer(target, writer) && !operators.contains(writer);
        self.version.change != Change::Deleted && !self.by.is_empty() && self.by.iter().all(is_excepted)
    }

    fn authors(&self) -> String {
        if self.by.is_empty() { "an unknown writer".into() } else { self.by.join(", ") }
    }
}

/// Returns the writes by other than exempt writers, except to canaries, Events and cluster-scoped objects.
pub fn writes(history: &History, from: usize, to: usize) -> Vec<Write<'_>> {
    counted_and_exempt(history, from, to).0
}

pub fn exempt(history: &History) -> BTreeMap<(String, String), usize> {
    let index = |mark| history.reached(mark).map(|(index, _)| index);
    let (Ok(from), Ok(to)) = (index(SharedMark::OperatorIdle), index(SharedMark::IdlePeriodEnded)) else {
        return BTreeMap::new();
    };
    counted_and_exempt(history, from, to).1.into_iter().fold(BTreeMap::new(), |mut counts, write| {
        let object = format!("{} {}", write.version.kind(), write.version.name());
        *counts.entry((write.authors(), object)).or_default() += 1;
        counts
    })
}

fn counted_and_exempt(history: &History, from: usize, to: usize) -> (Vec<Write<'_>>, Vec<Write<'_>>) {
    let target = history.header.target;
    let operators = operators(history);
    let mut latest: BTreeMap<(&str, &str), Version<'_>> = BTreeMap::new();
    let (mut found, mut exempt) = (Vec::new(), Vec::new());
    for version in history.versions().filter(|version| version.index < to && is_of_workload(version)) {
        let key = (version.kind(), version.name());
        let previous = match version.change {
            Change::Deleted => latest.remove(&key),
            Change::Added | Change::Modified => latest.insert(key, version),
        };
        let by = writers(target, previous.map(|p| p.object), version.object);
        let write = Write { version, previous, by };
        if version.index >= from {
            let is_exempt = write.is_exempt(target, &operators);
            if is_exempt { &mut exempt } else { &mut found }.push(write);
        }
    }
    (found, exempt)
}

fn is_of_workload(version: &Version<'_>) -> bool {
    let about = text(&event_about(version.object)["name"]);
    let of_canary = version.label(names::CANARY).is_some() || about.starts_with("canary-");
    let cluster_scoped = Kind::named(version.kind()).is_some_and(|kind| !kind.namespaced);
    // GANG-11 does not cover Events.
    !of_canary && !cluster_scoped && version.kind() != "Event"
}

/// A second write within one second may leave managedFields unchanged. Then the latest entries count.
fn writers(target: Target, previous: Option<&Value>, object: &Value) -> Vec<String> {
    let entries =
        |object: &Value| object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let (before, now) = (previous.map(entries).unwrap_or_default(), entries(object));
    let traced = now.iter().any(|entry| !before.contains(entry));
    let newest = now.iter().filter_map(|entry| entry["time"].as_str()).max();
    let of_status = previous.is_some_and(|previous| differs_only_in_status(previous, object));
    // If the kind has no status subresource, only the scheduler writes the status.
    let has_status = now.iter().any(|entry| entry["subresource"] == "status");
    let is_author = |entry: &&Value| match (traced, of_status) {
        (true, _) => !before.contains(entry),
        (false, true) if has_status => entry["time"].as_str() == newest && entry["subresource"] == "status",
        (false, true) => is_exempt_writer(target, entry["manager"].as_str().unwrap_or_default()),
        (false, false) => entry["time"].as_str() == newest,
    };
    let authors = now.iter().filter(is_author);
    let names: BTreeSet<_> = authors.filter_map(|entry| entry["manager"].as_str()).collect();
    names.into_iter().map(str::to_owned).collect()
}

fn differs_only_in_status(a: &Value, b: &Value) -> bool {
    let same = |field: &str| a["metadata"][field] == b["metadata"][field];
    let fields = ["labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp"];
    a["spec"] == b["spec"] && fields.into_iter().all(same)
}

pub fn quiet(history: &History, from: usize, until: usize) -> Ruling {
    let mut by_object: BTreeMap<(&str, &str), Vec<Write<'_>>> = BTreeMap::new();
    for write in writes(history, from, until) {
        by_object.entry((write.version.kind(), write.version.name())).or_default().push(write);
    }
    none(by_object.into_iter().filter_map(|((kind, name), writes)| {
        let last = writes.last()?;
        let message = format!(
            "{kind} {name} was written {} while the cluster was idle, want 0; last written by {}",
            counted_times(writes.len()),
            last.authors()
        );
        Some(
            violation(WRITTEN_WHILE_IDLE, message)
                .shown_by("first", writes[0].version)
                .shown_by("last", last.version),
        )
    }))
}

pub fn no_gang_resource_written(history: &History, pod_gang: &str, from: usize, to: usize) -> Ruling {
    let is_of_gang = |write: &&Write<'_>| {
        let object = write.version.object;
        is_gang_resource(object) && owners(object).iter().any(|owner| owner["name"] == pod_gang)
    };
    none(writes(history, from, to).iter().filter(is_of_gang).map(touch))
}

fn touch(write: &Write<'_>) -> Violation {
    let version = write.version;
    // Managed fields do not show which client deleted an object.
    let what = match version.change {
        Change::Deleted => "deleted".to_owned(),
        Change::Added | Change::Modified => format!("written by {}", write.authors()),
    };
    let found =
        violation(TOUCHED, format!("{} {} was {what}, want it untouched", version.kind(), version.name()));
    let found = write.previous.into_iter().fold(found, |found, previous| found.shown_by("before", previous));
    found.shown_by("after", version)
}

/// The objects that may change when some PodGangs are replaced by others.
#[derive(Debug)]
pub struct AffectedObjects<'a> {
    target: Target,
    set: &'a str,
    /// PodGangs that are created or deleted, including all their objects.
    whole: Vec<&'a Gang>,
    /// PodGangs and PodCliques whose number of pods changes.
    resized: Vec<(&'a Gang, &'a str)>,
}

impl<'a> AffectedObjects<'a> {
    pub fn of(target: Target, set: &'a str, before: &'a [Gang], after: &'a [Gang]) -> Self {
        let lacks = |gangs: &'a [Gang], gang: &Gang| !gangs.iter().any(|other| other.is_same(gang));
        let removed = before.iter().filter(|gang| lacks(after, gang));
        let whole = removed.chain(after.iter().filter(|gang| lacks(before, gang))).collect();
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

    /// `stays`: the object exists before and after the replacement.
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
            "PodGang" => self.resized.iter().any(|(gang, _)| gang.name == name || gang.is(version.object)),
            "PodClique" => self.resized.iter().any(|(_, clique)| *clique == name),
            "Pod" => {
                !stays && self.resized.iter().any(|(_, clique)| version.pod().pod_clique() == Some(clique))
            }
            "Event" => true,
            _ => {
                let is_resource_of = |gang: &Gang| {
                    schedulers::resources_of(self.target, gang)
                        .iter()
                        .any(|resource| resource.is_of(gang, version.object))
                };
                schedulers::of(self.target).counts_pods()
                    && self.resized.iter().any(|(gang, _)| is_resource_of(gang))
            }
        }
    }
}

pub fn others_untouched(history: &History, from: usize, to: usize, affected: &AffectedObjects<'_>) -> Ruling {
    untouched_by_all(history, from, to, std::slice::from_ref(affected))
}

pub fn untouched_by_all(
    history: &History,
    from: usize,
    to: usize,
    affected: &[AffectedObjects<'_>],
) -> Ruling {
    let (before, after) = (history.before(from), history.before(to));
    let exists = |live: &conformance_history::Live, version: Version<'_>| {
        live.get(version.kind(), version.name())
            .is_some_and(|object| object["metadata"]["uid"] == version.uid())
    };
    let writes = writes(history, from, to);
    let touched = writes.iter().filter(|write| {
        let version = write.version;
        let stays = exists(&after, version);
        exists(&before, version) && !affected.iter().any(|affected| affected.covers(version, stays))
    });
    none(touched.map(touch))
}

#[cfg(test)]
#[path = "idle_writes_tests.rs"]
mod tests;
