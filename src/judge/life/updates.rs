//! Rules for rolling updates: which pods are replaced, when and in which order, and the reported progress
//! (UPD).
//!
//! A pod is new if it has what cases change in a template: labels, annotations, and the variable [`REVISION`]
//! of a container. Every deletion that neither the harness nor a scale-in explains counts as the updater's.
//! The checks follow the order of the writes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::{Code, Violation};
use conformance_expect::scopes::{Clique, ScalingGroup, Scope, SetReplica, clique_template, floor, replicas};
use conformance_expect::{schedulers, startup};
use conformance_history::{Change, History, Live, Pod, SharedMark, Version, count, list, text};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::generations::taken_away;
use super::health::{is_bound, is_live, is_ready};
use crate::{Shown, all, ensure, none, patience, violation};

const TOO_FEW_UP: Code = Code::new("update-leaves-too-few");
const PARENT_DOWN: Code = Code::new("turn-before-its-parents-stand");
const TURNS_OVERLAP: Code = Code::new("turns-overlap");
const REPLICAS_OVERLAP: Code = Code::new("replicas-overlap");
const UP_BEFORE_DOWN: Code = Code::new("replica-up-before-one-down");
const HIGHER_BEFORE_LOWER: Code = Code::new("higher-replica-before-a-lower-one");
const REPLICA_UNNAMED: Code = Code::new("updated-replica-not-named");
const NEW_TAKEN: Code = Code::new("new-pod-taken");
const NOT_ENDED: Code = Code::new("update-not-ended");
const ENDED_EARLY: Code = Code::new("update-ended-early");
const UNTRUE_PROGRESS: Code = Code::new("untrue-progress");
const GANG_CHANGED: Code = Code::new("gang-changed-by-update");
const NO_MEMBER: Code = Code::new("replacement-is-no-member");
const BEYOND_FIRST_TURN: Code = Code::new("beyond-the-first-turn");
const TAKEN_IN_VAIN: Code = Code::new("taken-without-an-update");
const OLD_MADE: Code = Code::new("old-pod-made");
const NOT_AS_IT_WAS: Code = Code::new("not-as-it-was");
const MADE_TWICE: Code = Code::new("pod-made-twice");
const MISCOUNTED: Code = Code::new("update-miscounted");

/// The variable whose value identifies the revision of a template.
pub const REVISION: &str = "REVISION";

/// The operator admits updates. Returns `NotAsked` with the operator's message if it does not.
pub fn are_admitted(history: &History) -> Ruling {
    match history.marks(SharedMark::UpdateRefused).next() {
        None => Ok(()),
        Some((_, mark)) => {
            let why = text(&mark.detail["message"]);
            Err(Broken::NotAsked(format!("the operator refuses a change of pod templates: {why}")))
        }
    }
}

/// Whether a pod matches the current template of its clique.
pub fn is_new(pod: Pod<'_>, template: &Value) -> bool {
    let has = |field: &str| {
        let wanted = template[field].as_object().into_iter().flatten();
        wanted.into_iter().all(|(key, value)| pod.0["metadata"][field][key] == *value)
    };
    has("labels") && has("annotations") && revision(&pod.0["spec"]) == revision(&template["spec"]["podSpec"])
}

/// Whether a pod is of this revision.
pub fn is_of_revision(pod: Pod<'_>, wanted: &str) -> bool {
    revision(&pod.0["spec"]) == Some(wanted)
}

fn revision(spec: &Value) -> Option<&str> {
    let variables = list(&spec["containers"]).iter().flat_map(|container| list(&container["env"]));
    variables.into_iter().find(|variable| variable["name"] == REVISION)?["value"].as_str()
}

/// The fields of a PodCliqueSet that determine its pods.
fn templates(pcs: &Value) -> Vec<Value> {
    let template = &pcs["spec"]["template"];
    let of = |clique: &Value| {
        json!([
            clique["name"],
            clique["labels"],
            clique["annotations"],
            clique["spec"]["podSpec"],
            template["priorityClassName"]
        ])
    };
    list(&template["cliques"]).iter().map(of).collect()
}

/// The state of a PodCliqueSet at a point of the history.
#[derive(Debug, Clone, Default)]
struct Scene<'a> {
    set: Option<Version<'a>>,
    pods: BTreeMap<&'a str, Version<'a>>,
    /// `spec.replicas` of PodCliques and groups.
    sizes: BTreeMap<&'a str, usize>,
    /// How often the templates have changed, and the last change.
    update: usize,
    changed: Option<Version<'a>>,
}

impl<'a> Scene<'a> {
    fn take(&mut self, version: Version<'a>, set: &str) {
        let is_there = version.change != Change::Deleted;
        match version.kind() {
            "PodCliqueSet" if version.name() == set && is_there => {
                let before = self.set.map(|before| templates(before.object));
                if before.is_some_and(|before| before != templates(version.object)) {
                    self.update += 1;
                    self.changed = Some(version);
                }
                self.set = Some(version);
            }
            "PodClique" | "PodCliqueScalingGroup" if is_there => {
                self.sizes
                    .extend(count(&version.object["spec"]["replicas"]).map(|size| (version.name(), size)));
            }
            "Pod" if version.label(names::PART_OF) == Some(set) => match is_there && is_live(version.pod()) {
                true => drop(self.pods.insert(version.uid(), version)),
                false => drop(self.pods.remove(version.uid())),
            },
            _ => {}
        }
    }

    fn set(&self) -> &'a Value {
        self.set.map_or(&Value::Null, |set| set.object)
    }

    fn is_old(&self, pod: Pod<'_>) -> bool {
        let (set, clique) = (text(&self.set()["metadata"]["name"]), pod.pod_clique().unwrap_or_default());
        let template = clique_template(&self.set()["spec"]["template"], set, clique);
        template.is_some_and(|template| !is_new(pod, template))
    }

    fn pods_of(&self, clique: &str) -> Vec<Pod<'a>> {
        let pods = self.pods.values().map(Version::pod);
        pods.filter(|pod| pod.pod_clique() == Some(clique)).collect()
    }

    fn size(&self, name: &str, otherwise: usize) -> usize {
        self.sizes.get(name).copied().unwrap_or(otherwise)
    }

    fn count(&self, clique: &str, holds: impl Fn(Pod<'a>) -> bool) -> usize {
        self.pods_of(clique).into_iter().filter(|pod| holds(*pod)).count()
    }

    fn replicas(&self) -> Vec<SetReplica> {
        replicas(self.set())
    }

    /// Every clique of a replica, including those of its scaling-group replicas.
    fn cliques(&self, replica: &SetReplica) -> Vec<Clique> {
        let of_groups = replica.groups.iter().flat_map(|group| {
            (0..self.size(&group.name, group.replicas)).flat_map(|j| group.replica(j).collect::<Vec<_>>())
        });
        replica.standalone.iter().cloned().chain(of_groups).collect()
    }

    /// Whether a replica has no bound pod, or a clique below its minimum.
    fn is_down(&self, replica: &SetReplica) -> bool {
        let cliques = self.cliques(replica);
        !cliques.iter().any(|clique| self.count(&clique.name, is_bound) > 0)
            || cliques.iter().any(|clique| self.count(&clique.name, is_ready) < clique.min)
    }

    /// What a clique lacks to be complete, new and Ready.
    fn lacks(&self, clique: &Clique) -> Option<String> {
        let pods = self.pods_of(&clique.name);
        let old = pods.iter().find(|pod| self.is_old(**pod));
        old.map(|old| format!("Pod {} has an old template", old.name())).or_else(|| self.lacks_pods(clique))
    }

    /// What a clique lacks to be complete and Ready, old or new.
    fn lacks_pods(&self, clique: &Clique) -> Option<String> {
        let (size, pods) = (self.size(&clique.name, clique.replicas), self.pods_of(&clique.name));
        let unready = pods.iter().find(|pod| !is_ready(**pod));
        unready.map(|unready| format!("Pod {} is not Ready", unready.name())).or_else(|| {
            (pods.len() != size)
                .then(|| format!("PodClique {} has {} of {size} pods", clique.name, pods.len()))
        })
    }

    fn is_available(&self, group: &ScalingGroup, j: usize) -> bool {
        group.replica(j).all(|member| self.count(&member.name, is_ready) >= member.min)
    }

    fn has_old(&self, group: &ScalingGroup, j: usize) -> bool {
        group.replica(j).any(|member| self.count(&member.name, |pod| self.is_old(pod)) > 0)
    }

    /// The current counts of a pod's clique or scaling group.
    fn units(&self, pod: Pod<'_>) -> Option<Units> {
        let all = self.replicas();
        let replica = all.iter().find(|replica| replica.scope().has(pod))?;
        let grouped = pod.label(names::SCALING_GROUP);
        let Some(name) = grouped else {
            let clique = replica.standalone.iter().find(|clique| pod.pod_clique() == Some(&clique.name))?;
            let name = &clique.name;
            return Some(Units {
                name: name.clone(),
                wanted: self.size(name, clique.replicas),
                min: clique.min,
                up: self.count(name, is_ready),
                replaced: self.count(name, |pod| is_ready(pod) && !self.is_old(pod)),
                old: self.count(name, |pod| self.is_old(pod)),
            });
        };
        let group = replica.groups.iter().find(|group| group.name == name)?;
        let size = self.size(name, group.replicas);
        let count = |holds: &dyn Fn(usize) -> bool| (0..size).filter(|j| holds(*j)).count();
        Some(Units {
            name: name.to_owned(),
            wanted: size,
            min: group.min,
            up: count(&|j| self.is_available(group, j)),
            replaced: count(&|j| self.is_available(group, j) && !self.has_old(group, j)),
            old: count(&|j| self.has_old(group, j)),
        })
    }

    /// The unit that a pod belongs to: itself, or its scaling-group replica. With it, whether the unit is up
    /// and whether it is old.
    fn unit(&self, pod: Pod<'_>) -> (String, bool, bool) {
        let name_and_index =
            pod.label(names::SCALING_GROUP).zip(pod.label(names::SCALING_GROUP_REPLICA_INDEX));
        let Some((name, index)) = name_and_index else {
            return (pod.name().to_owned(), is_ready(pod), self.is_old(pod));
        };
        let j: usize = index.parse().unwrap_or(usize::MAX);
        let groups: Vec<_> = self.replicas().into_iter().flat_map(|replica| replica.groups).collect();
        let group = groups.iter().find(|group| group.name == name);
        (
            format!("replica {index} of scaling group {name}"),
            group.is_some_and(|group| self.is_available(group, j)),
            group.is_some_and(|group| self.has_old(group, j)),
        )
    }

    /// The cliques that are deleted together with a pod, and all cliques of its scaling group. Without a
    /// scaling group, both are the pod's clique.
    fn taken_together(&self, pod: Pod<'_>) -> (Vec<String>, BTreeSet<String>) {
        let own = pod.pod_clique().unwrap_or_default().to_owned();
        let groups: Vec<_> = self.replicas().into_iter().flat_map(|replica| replica.groups).collect();
        let group = groups.iter().find(|group| pod.label(names::SCALING_GROUP) == Some(&group.name));
        let index = pod.label(names::SCALING_GROUP_REPLICA_INDEX).and_then(|index| index.parse().ok());
        let Some((group, j)) = group.zip(index) else { return (vec![own.clone()], [own].into()) };
        let names = |j: usize| group.replica(j).map(|member| member.name).collect::<Vec<_>>();
        (names(j), (0..self.size(&group.name, group.replicas)).flat_map(names).collect())
    }

    /// Whether a pod is beyond the wanted replicas.
    fn is_surplus(&self, pod: Pod<'_>) -> bool {
        let beyond = |label: &str, size: Option<usize>| {
            let index = pod.label(label).and_then(|index| index.parse::<usize>().ok());
            index.zip(size).is_some_and(|(index, size)| index >= size)
        };
        let clique = pod.pod_clique().unwrap_or_default();
        let group = pod.label(names::SCALING_GROUP).and_then(|group| self.sizes.get(group).copied());
        beyond(names::REPLICA_INDEX, count(&self.set()["spec"]["replicas"]))
            || beyond(names::SCALING_GROUP_REPLICA_INDEX, group)
            || self.pods_of(clique).len() > self.size(clique, usize::MAX)
    }
}

/// A clique counted in pods, or a scaling group counted in replicas.
#[derive(Debug, Clone)]
struct Units {
    name: String,
    wanted: usize,
    min: usize,
    up: usize,
    replaced: usize,
    old: usize,
}

/// A pod that the updater deleted.
struct Taken<'a> {
    /// The version in which it is no longer live.
    at: Version<'a>,
    /// The pod before that.
    pod: Pod<'a>,
    /// The state right before that.
    scene: Scene<'a>,
}

impl Taken<'_> {
    fn replica(&self) -> Option<usize> {
        self.pod.label(names::REPLICA_INDEX)?.parse().ok()
    }
}

/// All versions in the order of the writes.
fn in_order(history: &History) -> Vec<Version<'_>> {
    let mut all: Vec<_> = history.versions().filter(|version| !version.pod().is_canary()).collect();
    all.sort_by_cached_key(|version| (version.revision(), version.index));
    all
}

/// Walks through the history of a PodCliqueSet; `look` gets each version with the state right before it.
fn walk<'a>(history: &'a History, set: &str, mut look: impl FnMut(&Scene<'a>, Version<'a>)) {
    let mut scene = Scene::default();
    for version in in_order(history) {
        look(&scene, version);
        scene.take(version, set);
    }
}

/// The pods of a PodCliqueSet that the updater deleted.
fn taken<'a>(history: &'a History, set: &str) -> Vec<Taken<'a>> {
    let excused = taken_away(history);
    let mut found = Vec::new();
    walk(history, set, |scene, version| {
        let before = scene.pods.get(version.uid()).filter(|_| version.kind() == "Pod");
        let ends = version.change == Change::Deleted || !is_live(version.pod());
        if let Some(before) = before.filter(|before| ends && !excused.contains(before.name()))
            && !scene.is_surplus(before.pod())
        {
            found.push(Taken { at: version, pod: before.pod(), scene: scene.clone() });
        }
    });
    found
}

/// An update step: the updater deletes a Ready pod, or an available scaling-group replica.
struct Step<'a> {
    at: Version<'a>,
    unit: String,
    /// Its clique or scaling group right before the step.
    units: Units,
    /// The number of earlier steps of the same clique or group and update that must be complete.
    earlier: usize,
}

fn steps<'a>(history: &'a History, set: &str) -> Vec<Step<'a>> {
    // The units that were up, by update and clique or group.
    let mut seen: BTreeMap<(usize, String), BTreeSet<String>> = BTreeMap::new();
    let mut steps = Vec::new();
    for taken in taken(history, set) {
        let (unit, is_up, _) = taken.scene.unit(taken.pod);
        let Some(units) = taken.scene.units(taken.pod).filter(|_| is_up) else { continue };
        let before = seen.entry((taken.scene.update, units.name.clone())).or_default();
        if !before.insert(unit.clone()) {
            continue;
        }
        let earlier = (before.len() - 1).min(units.wanted.saturating_sub(units.old));
        steps.push(Step { at: taken.at, unit, units, earlier });
    }
    steps
}

/// A Ready pod or an available scaling-group replica is deleted only if enough stay up, and only after the
/// previously deleted ones were replaced.
pub fn one_turn_at_a_time(history: &History, set: &str) -> Ruling {
    all([minimum_stays(history, set), steps_do_not_overlap(history, set)])
}

/// A Ready pod or an available scaling-group replica is deleted only if the minimum of its clique or group
/// stays up. If all are needed, all but one must stay up (UPD-30).
pub fn minimum_stays(history: &History, set: &str) -> Ruling {
    none(steps(history, set).into_iter().filter_map(|step| {
        let units = &step.units;
        let least = floor(units.min, units.wanted);
        (units.up <= least).then(|| {
            let (unit, name, left) = (&step.unit, &units.name, units.up.saturating_sub(1));
            let message =
                format!("{unit} was deleted, which left {left} of {name} available, want at least {least}");
            violation(TOO_FEW_UP, message).shown_by("deleted", step.at)
        })
    }))
}

/// A Ready pod or an available scaling-group replica is deleted only after the earlier ones were replaced,
/// within one clique or group and one update (UPD-04).
pub fn steps_do_not_overlap(history: &History, set: &str) -> Ruling {
    none(steps(history, set).into_iter().filter_map(|step| {
        let (unit, earlier) = (&step.unit, step.earlier);
        let (name, replaced) = (&step.units.name, step.units.replaced);
        (replaced < earlier).then(|| {
            let message = format!(
                "{unit} was deleted when {replaced} of the {earlier} earlier deleted units of {name} were \
                 replaced, want all"
            );
            violation(TURNS_OVERLAP, message).shown_by("deleted", step.at)
        })
    }))
}

/// A pod or scaling-group replica that is up is not deleted while a clique that it starts after has too few
/// Ready pods (START-08).
pub fn parents_stand(history: &History, set: &str) -> Ruling {
    let all = startup::parents(history.submitted(set)?);
    let mut begun: BTreeSet<(usize, String)> = BTreeSet::new();
    none(taken(history, set).into_iter().filter_map(|taken| {
        let scene = &taken.scene;
        let (unit, is_up, _) = scene.unit(taken.pod);
        if !is_up || !begun.insert((scene.update, unit.clone())) {
            return None;
        }
        let (own, together) = scene.taken_together(taken.pod);
        let mut parents = own.iter().filter_map(|clique| all.get(clique)).flatten();
        let (parent, needed) = parents
            .find(|(parent, needed)| !together.contains(parent) && scene.count(parent, is_ready) < *needed)?;
        let ready = scene.count(parent, is_ready);
        let message = format!(
            "{unit} was deleted when {ready} of {needed} pods of parent PodClique {parent} were Ready"
        );
        Some(violation(PARENT_DOWN, message).shown_by("deleted", taken.at))
    }))
}

/// Only old pods of standalone cliques and scaling-group replicas with an old pod are deleted (UPD-11,
/// UPD-15).
pub fn only_old_is_taken(history: &History, set: &str) -> Ruling {
    let mut begun: BTreeSet<(usize, String)> = BTreeSet::new();
    none(taken(history, set).into_iter().filter_map(|taken| {
        let (unit, _, is_old) = taken.scene.unit(taken.pod);
        let is_grouped = taken.pod.label(names::SCALING_GROUP).is_some();
        let is_first = begun.insert((taken.scene.update, unit)) || !is_grouped;
        (is_first && !is_old).then(|| {
            let message =
                format!("Pod {} was deleted although it has the current template", taken.pod.name());
            violation(NEW_TAKEN, message).shown_by("deleted", taken.at)
        })
    }))
}

/// The updater deletes no pod (UPD-21, UPD-26).
pub fn nothing_is_taken(history: &History, set: &str) -> Ruling {
    none(taken(history, set).iter().map(|taken| taken_in_vain(taken)))
}

/// While the strategy is OnDelete, the updater deletes at most the pod of the update step in progress
/// (UPD-24).
pub fn nothing_is_taken_on_delete(history: &History, set: &str) -> Ruling {
    let mut in_hand = None;
    let mut violations = Vec::new();
    for taken in taken(history, set) {
        let is_on_delete = taken.scene.set()["spec"]["updateStrategy"]["type"] == "OnDelete";
        if !is_on_delete {
            in_hand = Some(taken.scene.update);
        } else if in_hand.take_if(|update| *update == taken.scene.update).is_none() {
            violations.push(taken_in_vain(&taken));
        }
    }
    none(violations)
}

fn taken_in_vain(taken: &Taken<'_>) -> Violation {
    let message = format!("Pod {} was deleted although no update requires it", taken.pod.name());
    violation(TAKEN_IN_VAIN, message).shown_by("deleted", taken.at)
}

/// Only one PodCliqueSet replica is updated at a time (UPD-03). A pod is deleted only if every other replica
/// that this update has touched is complete, new and Ready. A replica that an earlier change left incomplete
/// must be complete and Ready again first, old or new.
pub fn one_replica_at_a_time(history: &History, set: &str) -> Ruling {
    let mut touched: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut in_the_middle: BTreeSet<usize> = BTreeSet::new();
    let mut violations = Vec::new();
    for taken in taken(history, set) {
        let Some(own) = taken.replica() else { continue };
        let (scene, update, name) = (&taken.scene, taken.scene.update, taken.pod.name());
        touched.insert((update, own));
        in_the_middle.insert(own);
        let replicas = scene.replicas();
        for other in replicas.iter().filter(|other| other.index != own) {
            let has_turned = touched.contains(&(update, other.index));
            let cliques = scene.cliques(other);
            let down = cliques.iter().find_map(|clique| scene.lacks_pods(clique));
            if down.is_none() {
                in_the_middle.remove(&other.index);
            }
            let is_left = in_the_middle.contains(&other.index);
            let lack = cliques.iter().find_map(|clique| scene.lacks(clique)).filter(|_| has_turned);
            if let Some(lack) = lack.or(down.filter(|_| is_left)) {
                let message = format!(
                    "Pod {name} was deleted while the update of replica {} was not complete: {lack}",
                    other.index
                );
                violations.push(violation(REPLICAS_OVERLAP, message).shown_by("deleted", taken.at));
            }
        }
    }
    none(violations)
}

/// The replicas that the status of a PodCliqueSet reports as being updated.
fn said_to_be_updated(set: &Value) -> Vec<usize> {
    let said = list(&set["status"]["updateProgress"]["currentlyUpdating"]).iter();
    said.filter_map(|said| count(&said["replicaIndex"])).collect()
}

/// When a pod of a PodCliqueSet replica is deleted, the status names exactly that replica, or does so within 5 seconds
/// (UPD-29).
pub fn status_names_the_replica(history: &History, set: &str) -> Ruling {
    none(taken(history, set).into_iter().filter_map(|taken| {
        let own = taken.replica()?;
        let said = said_to_be_updated(taken.scene.set());
        let since = taken.at.at;
        let due = since.saturating_add(patience(history)).unwrap_or(since);
        let is_named_later = || {
            let later = history.named("PodCliqueSet", set);
            let mut later = later.filter(|version| version.at >= since && version.at <= due);
            later.any(|version| said_to_be_updated(version.object) == [own])
        };
        (said != [own] && !is_named_later()).then(|| {
            let name = taken.pod.name();
            let message = format!(
                "Pod {name} was deleted while currentlyUpdating named replicas {said:?}, want the \
                     replica of the pod"
            );
            violation(REPLICA_UNNAMED, message).shown_by("deleted", taken.at)
        })
    }))
}

/// The first update step of a PodCliqueSet replica comes after all replicas with lower indexes are updated
/// (UPD-28). Exceptions are a replica that is down, and one that was being updated when the templates changed
/// again.
pub fn lowest_goes_first(history: &History, set: &str) -> Ruling {
    let mut touched: BTreeSet<(usize, usize)> = BTreeSet::new();
    none(taken(history, set).into_iter().filter_map(|taken| {
        let (scene, own) = (&taken.scene, taken.replica()?);
        let replicas = scene.replicas();
        let goes_on = scene.changed.is_some_and(|changed| said_to_be_updated(changed.object) == [own]);
        let is_down = replicas.get(own).is_some_and(|own| scene.is_down(own));
        if !touched.insert((scene.update, own)) || goes_on || is_down {
            return None;
        }
        let mut lower = replicas.iter().filter(|other| other.index < own);
        let (index, lack) = lower.find_map(|other| {
            let cliques = scene.cliques(other);
            cliques.iter().find_map(|clique| scene.lacks(clique)).map(|lack| (other.index, lack))
        })?;
        let name = taken.pod.name();
        let message = format!(
            "Pod {name} was deleted before the update of the lower replica {index} was complete: {lack}"
        );
        Some(violation(HIGHER_BEFORE_LOWER, message).shown_by("deleted", taken.at))
    }))
}

/// A PodCliqueSet replica that is up has its first update step only after the replicas that are down had
/// theirs (UPD-28).
pub fn down_go_first(history: &History, set: &str) -> Ruling {
    let mut touched: BTreeSet<(usize, usize)> = BTreeSet::new();
    none(taken(history, set).into_iter().filter_map(|taken| {
        let (scene, own) = (&taken.scene, taken.replica()?);
        let all = scene.replicas();
        if !touched.insert((scene.update, own)) || scene.is_down(all.get(own)?) {
            return None;
        }
        let is_left = |other: &&SetReplica| !touched.contains(&(scene.update, other.index));
        let down = all.iter().filter(is_left).find(|other| scene.is_down(other))?;
        let name = taken.pod.name();
        let message = format!(
            "Pod {name} was deleted before replica {}, which is unavailable, was updated",
            down.index
        );
        Some(violation(UP_BEFORE_DOWN, message).shown_by("deleted", taken.at))
    }))
}

/// Describes what an update of a PodCliqueSet still lacks: new and Ready pods, or a status that reports the
/// end.
pub fn lacks(live: &Live, set: &str) -> Option<String> {
    let pcs = live.get("PodCliqueSet", set)?;
    let status = &pcs["status"];
    let said = |field: &str| count(&status[field]).unwrap_or(0);
    let size = count(&pcs["spec"]["replicas"]).unwrap_or(0);
    lacks_pods(live, set).or_else(|| {
        if status["updateProgress"]["updateEndedAt"].is_null() {
            Some("updateProgress.updateEndedAt is not set".to_owned())
        } else {
            let updated = said("updatedReplicas");
            (updated != size).then(|| format!("updatedReplicas is {updated}, want {size}"))
        }
    })
}

/// Describes which new and Ready pods a PodCliqueSet lacks, regardless of its status.
pub fn lacks_pods(live: &Live, set: &str) -> Option<String> {
    let mut scene = Scene::default();
    let objects = ["PodCliqueSet", "PodClique", "PodCliqueScalingGroup", "Pod"];
    for object in objects.into_iter().flat_map(|kind| live.of(kind)) {
        let version = Version::of(object);
        if !version.pod().is_canary() {
            scene.take(version, set);
        }
    }
    let cliques: Vec<_> = scene.replicas().iter().flat_map(|replica| scene.cliques(replica)).collect();
    cliques.iter().find_map(|clique| scene.lacks(clique))
}

/// Every pod of a scope is of this revision (TERM-13). Returns `NotReached` if there are no pods.
pub fn all_of_revision(history: &History, scope: &Scope, wanted: &str) -> Ruling {
    let mut seen = BTreeSet::new();
    let its = history.pods().filter(|version| scope.has(version.pod()) && seen.insert(version.uid()));
    let its: Vec<_> = its.collect();
    if its.is_empty() {
        return Err(Broken::NotReached(format!("{scope} has no pods")));
    }
    none(its.into_iter().filter(|version| !is_of_revision(version.pod(), wanted)).map(|version| {
        let message = format!("Pod {} was not created from template revision {wanted}", version.name());
        violation(OLD_MADE, message).shown_by("created", version)
    }))
}

/// The update of a PodCliqueSet is complete.
pub fn through(live: &Live, set: &str) -> Ruling {
    none(lacks(live, set).map(|lack| {
        violation(NOT_ENDED, format!("the update of PodCliqueSet {set} is not complete: {lack}"))
    }))
}

/// All pods of a PodCliqueSet exist, are new and Ready (UPD-02).
pub fn pods_through(live: &Live, set: &str) -> Ruling {
    none(
        lacks_pods(live, set)
            .map(|lack| violation(NOT_ENDED, format!("PodCliqueSet {set} is not updated: {lack}"))),
    )
}

/// The update has ended and the statuses report it, with hashes that differ from those before (UPD-02).
/// Returns `NotReached` if the templates never changed.
pub fn ended(history: &History, set: &str) -> Ruling {
    let live = history.end();
    let end = live.get("PodCliqueSet", set).unwrap_or(&Value::Null);
    let hash = |pcs: &Value| pcs["status"]["currentGenerationHash"].as_str().map(str::to_owned);
    let mut before: Option<Version<'_>> = None;
    let mut before_change = None;
    for version in history.named("PodCliqueSet", set) {
        let is_changed = |before: &Version<'_>| templates(before.object) != templates(version.object);
        before_change = before.filter(is_changed).or(before_change);
        before = Some(version);
    }
    let Some(before_change) = before_change else {
        return Err(Broken::NotReached(format!("the pod templates of PodCliqueSet {set} never changed")));
    };
    let lack = lacks(&live, set).or_else(|| {
        let stale = hash(end).is_none() || hash(before_change.object) == hash(end);
        stale.then(|| "currentGenerationHash did not change".to_owned())
    });
    let of_cliques = live.of("PodClique").filter(|found| found["metadata"]["labels"][names::PART_OF] == set);
    let lack = lack.or_else(|| {
        let mut others = of_cliques.filter(|found| {
            let said = &found["status"]["currentPodCliqueSetGenerationHash"];
            !said.is_null() && said.as_str() != hash(end).as_deref()
        });
        others.next().map(|found| {
            format!(
                "PodClique {} reports another currentPodCliqueSetGenerationHash",
                text(&found["metadata"]["name"])
            )
        })
    });
    let shown = |lack: String| {
        violation(NOT_ENDED, format!("the update of PodCliqueSet {set} has not ended: {lack}"))
            .shown_by_object("observed", end)
    };
    none(lack.map(shown))
}

/// The status reports the end of an update only when no pod is old and every clique has its minimum Ready
/// (UPD-27). The strategy OnDelete is excluded, because such an update ends at once.
pub fn never_ended_early(history: &History, set: &str) -> Ruling {
    let mut violations = Vec::new();
    walk(history, set, |scene, version| {
        if version.kind() != "PodCliqueSet" || version.name() != set {
            return;
        }
        let mut now = scene.clone();
        now.take(version, set);
        let ended = |pcs: &Value| pcs["status"]["updateProgress"]["updateEndedAt"].clone();
        let is_said = !ended(now.set()).is_null() && ended(scene.set()).is_null();
        if !is_said || now.set()["spec"]["updateStrategy"]["type"] == "OnDelete" {
            return;
        }
        let old = now.pods.values().find(|pod| now.is_old(pod.pod()));
        let cliques: Vec<_> = now.replicas().iter().flat_map(|replica| now.cliques(replica)).collect();
        let below = cliques.iter().find(|clique| {
            now.count(&clique.name, is_ready) < clique.min.min(now.size(&clique.name, clique.replicas))
        });
        let why = old.map(|old| format!("Pod {} has an old template", old.name()));
        let why = why.or(below.map(|clique| format!("PodClique {} is below its minAvailable", clique.name)));
        violations.extend(why.map(|why| {
            let message = format!("the update of PodCliqueSet {set} was reported as ended, but {why}");
            violation(ENDED_EARLY, message).shown_by("reported", version)
        }));
    });
    none(violations)
}

/// The reported progress of an update is correct in every status (UPD-18). The reported number of updated
/// pods or replicas is at most the number of new ones. Pods reported as replaced no longer exist.
pub fn progress_is_true(history: &History, set: &str) -> Ruling {
    let mut before: BTreeMap<&str, Version<'_>> = BTreeMap::new();
    let mut ever: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut said = BTreeMap::new();
    let (mut update, mut of_former) = (0, BTreeMap::new());
    let mut violations = Vec::new();
    walk(history, set, |scene, version| {
        if std::mem::replace(&mut update, scene.update) != scene.update {
            of_former.clone_from(&said);
        }
        let is_its = version.label(names::PART_OF) == Some(set) || version.name() == set;
        if let Some(clique) = version.pod().pod_clique().filter(|_| version.kind() == "Pod" && is_its) {
            ever.entry(clique).or_default().insert(version.name());
        }
        if !is_its || version.change == Change::Deleted {
            return;
        }
        // A scaling group reports progress against the templates at its start, until it observes the next
        // change.
        let generation = &version.object["status"]["updateProgress"]["podCliqueSetGenerationHash"];
        said.insert(version.uid(), generation);
        let is_of_former = version.kind() == "PodCliqueScalingGroup"
            && of_former.get(version.uid()).is_some_and(|former| !former.is_null() && *former == generation);
        if is_of_former {
            before.remove(version.uid());
            return;
        }
        let faults = match version.kind() {
            "PodClique" => clique_says(scene, version, ever.get(version.name())),
            "PodCliqueScalingGroup" => group_says(scene, version),
            "PodCliqueSet" => set_says(scene, version),
            _ => return,
        };
        let old = before.get(version.uid());
        if old.is_some_and(|old| old.object["status"] == version.object["status"]) {
            return;
        }
        before.insert(version.uid(), version);
        violations.extend(faults.into_iter().map(|fault| {
            let message = format!("{} {}: {fault}", version.kind(), version.name());
            violation(UNTRUE_PROGRESS, message).shown_by("reported", version)
        }));
    });
    none(violations)
}

/// `updatedReplicas` of a status that reports an update.
fn updated(object: &Value) -> Option<usize> {
    let status = &object["status"];
    status["updateProgress"].is_object().then(|| count(&status["updatedReplicas"]).unwrap_or(0))
}

fn too_many(said: Option<usize>, are: usize) -> Option<String> {
    said.filter(|said| *said > are).map(|said| format!("updatedReplicas is {said}, want at most {are}"))
}

fn clique_says(scene: &Scene<'_>, version: Version<'_>, ever: Option<&BTreeSet<&str>>) -> Vec<String> {
    let are = scene.count(version.name(), |pod| is_as_asked(pod, version.object));
    let selected = &version.object["status"]["updateProgress"]["readyPodsSelectedToUpdate"];
    let completed: Vec<_> = list(&selected["completed"]).iter().filter_map(Value::as_str).collect();
    let all = completed.iter().copied().chain(selected["current"].as_str().filter(|name| !name.is_empty()));
    let unknown = all.clone().find(|name| !ever.is_some_and(|ever| ever.contains(name)));
    let unknown = unknown
        .map(|name| format!("readyPodsSelectedToUpdate names {name}, which was never one of its pods"));
    let pods = scene.pods_of(version.name());
    let kept = completed.iter().find(|name| pods.iter().any(|pod| pod.name() == **name));
    let kept = kept.map(|name| format!("Pod {name} is reported as completed but still exists"));
    too_many(updated(version.object), are).into_iter().chain(unknown).chain(kept).collect()
}

fn group_says(scene: &Scene<'_>, version: Version<'_>) -> Vec<String> {
    let groups: Vec<_> = scene.replicas().into_iter().flat_map(|replica| replica.groups).collect();
    let Some(group) = groups.iter().find(|group| group.name == version.name()) else { return Vec::new() };
    let size = scene.size(&group.name, group.replicas);
    let are = (0..size).filter(|j| !scene.has_old(group, *j)).count();
    let selected = &version.object["status"]["updateProgress"]["readyReplicaIndicesSelectedToUpdate"];
    let completed: Vec<_> = list(&selected["completed"]).iter().filter_map(count).collect();
    let kept = completed.iter().find(|j| **j < size && scene.has_old(group, **j));
    let kept =
        kept.map(|j| format!("replica {j} is reported as completed but has a pod with an old template"));
    too_many(updated(version.object), are).into_iter().chain(kept).collect()
}

fn set_says(scene: &Scene<'_>, version: Version<'_>) -> Vec<String> {
    let mut now = scene.clone();
    now.take(version, version.name());
    // A status from before the change of the templates does not refer to the new ones.
    let is_told = scene.set.is_some_and(|before| before.object["status"] != version.object["status"]);
    let is_new = |replica: &SetReplica| {
        let cliques = now.cliques(replica);
        cliques.iter().all(|clique| now.count(&clique.name, |pod| now.is_old(pod)) == 0)
    };
    let are = now.replicas().iter().filter(|replica| is_new(replica)).count();
    too_many(updated(version.object).filter(|_| is_told), are).into_iter().collect()
}

/// PodGangs stay the same objects with the same minimums during an update, and so do their gang resources.
/// Gang resources of a gang that was down as a whole may be new (UPD-07).
pub fn gangs_stay(history: &History, set: &str) -> Ruling {
    let Some(begin) = first_change(history, set) else { return Ok(()) };
    let (before, after) = (history.before(begin.index), history.end());
    let mut violations = Vec::new();
    let of_set = |object: &&Value| object["metadata"]["labels"][names::PART_OF] == set;
    let minimums = |gang: &Value| {
        let podgroups = list(&gang["spec"]["podgroups"]).iter();
        podgroups.map(|podgroup| json!([podgroup["name"], podgroup["minReplicas"]])).collect::<Vec<_>>()
    };
    let differ = |what: &str, object: &Value| {
        let message = format!("{} {} {what}", text(&object["kind"]), text(&object["metadata"]["name"]));
        violation(GANG_CHANGED, message).shown_by_object("before", object)
    };
    let survived = survivors(history, set, begin);
    for gang in before.of("PodGang").filter(of_set) {
        let name = text(&gang["metadata"]["name"]);
        let mut versions = history.named("PodGang", name).filter(|version| version.index >= begin.index);
        if after.get("PodGang", name).is_none_or(|now| now["metadata"]["uid"] != gang["metadata"]["uid"]) {
            violations.push(differ("was deleted or created again", gang));
        } else if versions.any(|version| minimums(version.object) != minimums(gang)) {
            violations.push(differ("has other minReplicas", gang));
        }
        if !survived.contains(name) {
            continue;
        }
        let expectations = schedulers::of(history.header.target);
        let resources = schedulers::kinds().into_iter().flat_map(|(kind, _)| before.of(kind));
        let owned = resources.filter(|found| {
            list(&found["metadata"]["ownerReferences"])
                .iter()
                .any(|owner| owner["uid"] == gang["metadata"]["uid"])
        });
        for resource in owned {
            let found = after.get(text(&resource["kind"]), text(&resource["metadata"]["name"]));
            let same = |now: &Value| now["metadata"]["uid"] == resource["metadata"]["uid"];
            match found.filter(|now| same(now)) {
                None => violations.push(differ("was deleted or created again", resource)),
                Some(now) if expectations.size(now) != expectations.size(resource) => {
                    violations.push(differ("has another size", resource));
                }
                Some(_) => {}
            }
        }
    }
    none(violations)
}

/// Describes a mismatch: a PodGang refers to a missing pod, or no PodGang refers to an existing one.
pub fn misnamed(live: &Live, set: &str) -> Option<String> {
    let of_set = |object: &&Value| object["metadata"]["labels"][names::PART_OF] == set;
    let podgroups = live.of("PodGang").filter(of_set).flat_map(|gang| list(&gang["spec"]["podgroups"]));
    let references = podgroups.flat_map(|podgroup| list(&podgroup["podReferences"]));
    let named: BTreeSet<_> = references.filter_map(|reference| reference["name"].as_str()).collect();
    let pods = live.pods().filter(|pod| pod.label(names::PART_OF) == Some(set) && is_live(*pod));
    let there: BTreeSet<_> = pods.map(Pod::name).collect();
    let stale = named
        .difference(&there)
        .next()
        .map(|name| format!("a PodGang refers to Pod {name}, which does not exist"));
    stale.or_else(|| there.difference(&named).next().map(|name| format!("no PodGang refers to Pod {name}")))
}

/// References of PodGangs are added only for existing pods, and removed soon after their pods are deleted
/// (UPD-31).
pub fn references_follow_the_pods(history: &History, set: &str) -> Ruling {
    let Some(begin) = first_change(history, set) else { return Ok(()) };
    none(references(history, set, begin))
}

/// PodGangs refer to exactly the existing pods (UPD-31).
pub fn names_what_there_is(live: &Live, set: &str) -> Ruling {
    none(misnamed(live, set).map(|fault| violation(GANG_CHANGED, fault)))
}

fn first_change<'a>(history: &'a History, set: &str) -> Option<Version<'a>> {
    let mut first = None;
    walk(history, set, |scene, _| first = first.or(scene.changed));
    first
}

/// The PodGangs that had at least one bound pod at every point since `begin`.
fn survivors<'a>(history: &'a History, set: &str, begin: Version<'_>) -> BTreeSet<&'a str> {
    let mut live: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut died = BTreeSet::new();
    walk(history, set, |scene, version| {
        let Some(gang) = version.pod().pod_gang().filter(|_| version.kind() == "Pod") else { return };
        let its = live.entry(gang).or_default();
        let is_bound_now = version.change != Change::Deleted && is_bound(version.pod());
        let had = !its.is_empty();
        match is_bound_now {
            true => drop(its.insert(version.uid())),
            false => drop(its.remove(version.uid())),
        }
        if had && its.is_empty() && version.index >= begin.index && scene.set.is_some() {
            died.insert(gang);
        }
    });
    live.into_keys().filter(|gang| !died.contains(gang)).collect()
}

/// Violations of the references of PodGangs since an update began.
fn references(history: &History, set: &str, begin: Version<'_>) -> Vec<Violation> {
    let mut made: BTreeSet<&str> = BTreeSet::new();
    let mut gone: BTreeMap<&str, Version<'_>> = BTreeMap::new();
    let mut known: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut violations = Vec::new();
    walk(history, set, |_, version| {
        let name = version.name();
        match (version.kind(), version.change) {
            ("Pod", Change::Deleted) => drop(gone.insert(name, version)),
            ("Pod", _) => drop(made.insert(name)),
            ("PodGang", Change::Added | Change::Modified) if version.label(names::PART_OF) == Some(set) => {
                let podgroups = list(&version.object["spec"]["podgroups"]).iter();
                let references = podgroups.flat_map(|podgroup| list(&podgroup["podReferences"]));
                let now: BTreeSet<_> =
                    references.filter_map(|reference| reference["name"].as_str()).collect();
                let old = known.insert(name, now.clone()).unwrap_or_default();
                if version.index < begin.index {
                    return;
                }
                let unmade = now.difference(&old).find(|pod| !made.contains(*pod));
                let unmade =
                    unmade.map(|pod| format!("PodGang {name} referred to Pod {pod} before it existed"));
                let late = old.iter().find(|pod| {
                    gone.get(*pod).is_some_and(|gone| version.at.duration_since(gone.at) > patience(history))
                });
                let late = late.map(|pod| {
                    format!("PodGang {name} still referred to Pod {pod} long after it was deleted")
                });
                let found = unmade.into_iter().chain(late);
                violations.extend(
                    found.map(|message| violation(GANG_CHANGED, message).shown_by("PodGang", version)),
                );
            }
            _ => {}
        }
    });
    violations
}

/// Pods that an update creates are members of their gang like the pods before (UPD-08). They are released
/// only after their PodGang refers to them. They are in the same gang resource if the gang survived the
/// update.
pub fn replacements_are_members(history: &History, set: &str) -> Ruling {
    let Some(begin) = first_change(history, set) else { return Ok(()) };
    let expectations = schedulers::of(history.header.target);
    let (before, after) = (history.before(begin.index), history.end());
    let survived = survivors(history, set, begin);
    let mut named: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut released = BTreeSet::new();
    let mut violations = Vec::new();
    walk(history, set, |_, version| {
        if version.kind() == "PodGang" {
            let podgroups = list(&version.object["spec"]["podgroups"]).iter();
            let references = podgroups.flat_map(|podgroup| list(&podgroup["podReferences"]));
            let names = references.filter_map(|reference| reference["name"].as_str()).collect();
            named.insert(version.uid(), names);
        }
        let pod = version.pod();
        let is_its = version.kind() == "Pod" && version.label(names::PART_OF) == Some(set);
        let is_released = is_its && version.change != Change::Deleted && !pod.gates().contains(&names::GATE);
        if is_released
            && released.insert(version.uid())
            && version.index > begin.index
            && !named.values().any(|names| names.contains(pod.name()))
        {
            let message = format!("Pod {} lost its gate before a PodGang referred to it", pod.name());
            violations.push(violation(NO_MEMBER, message).shown_by("gate removed", version));
        }
    });
    let place =
        |pod: &Pod<'_>| (pod.pod_clique().map(str::to_owned), pod.label(names::POD_INDEX).map(str::to_owned));
    for old in before.pods().filter(|pod| pod.label(names::PART_OF) == Some(set)) {
        let new = after.pods().find(|pod| place(pod) == place(&old) && !pod.is_terminating());
        let Some(new) = new.filter(|_| old.pod_gang().is_some_and(|gang| survived.contains(gang))) else {
            continue;
        };
        let groups = (expectations.named_by(old), expectations.named_by(new));
        if groups.0 != groups.1 || old.pod_gang() != new.pod_gang() {
            let message = format!(
                "Pod {} replaced Pod {} but names another gang resource or PodGang: {groups:?}",
                new.name(),
                old.name()
            );
            violations.push(violation(NO_MEMBER, message).shown_by_object("observed", new.0));
        }
    }
    none(violations)
}

/// An update is blocked in its first update steps, because the replaced pods are broken or do not fit. It has
/// deleted exactly one unit of each clique or group that was up, and at least one unit overall (UPD-06,
/// UPD-12).
pub fn stopped_after_the_first_turn(history: &History, set: &str, until: usize) -> Ruling {
    let part = history.upto(until);
    let mut turns: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for taken in taken(&part, set) {
        let (unit, is_up, _) = taken.scene.unit(taken.pod);
        let name = taken.scene.units(taken.pod).map(|units| units.name).filter(|_| is_up);
        if let Some(name) = name {
            turns.entry(name).or_default().insert(unit);
        }
    }
    ensure(!turns.is_empty(), || {
        violation(NOT_ENDED, format!("no pod of PodCliqueSet {set} was deleted by the update"))
    })?;
    none(turns.iter().filter(|(_, units)| units.len() > 1).map(|(name, units)| {
        let message =
            format!("the first update step of {name} was not complete, but {units:?} had been deleted");
        violation(BEYOND_FIRST_TURN, message)
    }))
}

/// A lost pod and its replacement.
struct Replaced<'a> {
    lost: Pod<'a>,
    /// The state right before the loss.
    lost_in: Scene<'a>,
    made: Version<'a>,
    /// The state right before the replacement.
    made_in: Scene<'a>,
}

impl Replaced<'_> {
    fn is_restored(&self) -> bool {
        is_alike(self.lost, self.made.pod())
    }
}

/// Whether two pods have the same revision.
fn is_alike(one: Pod<'_>, other: Pod<'_>) -> bool {
    revision(&one.0["spec"]) == revision(&other.0["spec"])
}

/// The pods that were lost other than by the updater, with their replacements in order within each clique.
fn replaced<'a>(history: &'a History, set: &str) -> Vec<Replaced<'a>> {
    let excused = taken_away(history);
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    let mut missing: BTreeMap<&str, VecDeque<(Pod<'a>, Scene<'a>)>> = BTreeMap::new();
    walk(history, set, |scene, version| {
        if version.kind() != "Pod" || version.label(names::PART_OF) != Some(set) {
            return;
        }
        let is_gone = version.change == Change::Deleted || !is_live(version.pod());
        let before =
            scene.pods.get(version.uid()).filter(|before| is_gone && excused.contains(before.name()));
        if let Some(lost) = before.map(|before| before.pod()) {
            missing
                .entry(lost.pod_clique().unwrap_or_default())
                .or_default()
                .push_back((lost, scene.clone()));
        }
        if is_gone || !seen.insert(version.uid()) {
            return;
        }
        let lost = missing.get_mut(version.pod().pod_clique().unwrap_or_default());
        found.extend(lost.and_then(VecDeque::pop_front).map(|(lost, lost_in)| Replaced {
            lost,
            lost_in,
            made: version,
            made_in: scene.clone(),
        }));
    });
    found
}

/// A pod that was lost and replaced before the update step of its replica is replaced with its old template
/// (UPD-16). Returns `NotReached` if no pod was lost this way.
pub fn restored_as_it_was(history: &History, set: &str) -> Ruling {
    let taken = taken(history, set);
    let has_come = |scene: &Scene<'_>, pod: Pod<'_>, until: Version<'_>| {
        let replica: Option<usize> = pod.label(names::REPLICA_INDEX).and_then(|index| index.parse().ok());
        let said = &scene.set()["status"]["updateProgress"]["currentlyUpdating"];
        let is_said = list(said).iter().any(|said| count(&said["replicaIndex"]) == replica);
        let is_done = |taken: &Taken<'_>| taken.replica() == replica && taken.scene.update == scene.update;
        is_said || taken.iter().any(|taken| is_done(taken) && taken.at.index < until.index)
    };
    let replaced = replaced(history, set);
    let mut judged = replaced.iter().filter(|replaced| {
        let (lost, made) = (replaced.lost, replaced.made);
        let is_under_way = replaced.lost_in.update > 0 && replaced.lost_in.is_old(lost);
        is_under_way && !has_come(&replaced.lost_in, lost, made) && !has_come(&replaced.made_in, lost, made)
    });
    let first = judged
        .next()
        .ok_or_else(|| Broken::NotReached("no pod was lost before the update step of its replica".into()))?;
    none([first].into_iter().chain(judged).filter(|replaced| !replaced.is_restored()).map(|replaced| {
        let (lost, made) = (replaced.lost.name(), replaced.made.name());
        let message = format!(
            "Pod {made} replaced Pod {lost} before the update step of its replica, want the old template"
        );
        violation(NOT_AS_IT_WAS, message).shown_by("created", replaced.made)
    }))
}

/// During an update a pod with an old template is created only to replace a lost pod with that template
/// (UPD-10).
pub fn made_later_is_new_or_restored(history: &History, set: &str) -> Ruling {
    let replaced = replaced(history, set);
    let restored = replaced.iter().filter(|replaced| replaced.is_restored());
    let restored: BTreeSet<_> = restored.map(|replaced| replaced.made.uid()).collect();
    made_later(history, set, &restored)
}

/// Every pod created during an update is new (UPD-34). Pods created within the operator's reaction time are
/// excluded, unless its status already reported the end of an OnDelete update.
pub fn made_later_is_new(history: &History, set: &str) -> Ruling {
    made_later(history, set, &BTreeSet::new())
}

fn made_later(history: &History, set: &str, excused: &BTreeSet<&str>) -> Ruling {
    let mut seen = BTreeSet::new();
    let mut violations = Vec::new();
    walk(history, set, |scene, version| {
        let is_its = version.kind() == "Pod" && version.label(names::PART_OF) == Some(set);
        let is_made = version.change != Change::Deleted && !excused.contains(version.uid());
        if !is_its || !is_made || !seen.insert(version.uid()) {
            return;
        }
        let Some(changed) = scene.changed else { return };
        let is_told = scene.set()["status"]["observedGeneration"] == scene.set()["metadata"]["generation"]
            && !scene.set()["status"]["updateProgress"]["updateEndedAt"].is_null()
            && scene.set()["spec"]["updateStrategy"]["type"] == "OnDelete"
            && is_said_since(scene, changed);
        let is_late = version.happened().duration_since(changed.at) > patience(history);
        if (is_told || is_late) && scene.is_old(version.pod()) {
            let message = format!("Pod {} was created from an old template", version.name());
            violations.push(violation(OLD_MADE, message).shown_by("created", version));
        }
    });
    none(violations)
}

/// Whether the reported hash differs from that at the change of the templates.
fn is_said_since(scene: &Scene<'_>, changed: Version<'_>) -> bool {
    let hash = |pcs: &Value| pcs["status"]["currentGenerationHash"].clone();
    hash(scene.set()) != hash(changed.object)
}

/// With the strategy OnDelete the update is reported as ended at once (UPD-35).
pub fn ended_at_once(history: &History, set: &str) -> Ruling {
    let Some(begin) = first_change(history, set) else { return Ok(()) };
    let mut versions = history.named("PodCliqueSet", set).filter(|version| version.index >= begin.index);
    let ended =
        versions.find(|version| !version.object["status"]["updateProgress"]["updateEndedAt"].is_null());
    let after = ended.map(|ended| ended.at.duration_since(begin.at));
    ensure(after.is_some_and(|after| after <= patience(history)), || {
        let message = format!("the update of PodCliqueSet {set} was not reported as ended at once");
        violation(NOT_ENDED, message).shown_by("template changed", begin)
    })
}

/// The selected pods created from the entry `since` on are new, until the templates change again (UPD-33,
/// UPD-34).
pub fn made_since_is_new(
    history: &History,
    set: &str,
    since: usize,
    is_meant: impl Fn(Pod<'_>) -> bool,
) -> Ruling {
    let mut seen = BTreeSet::new();
    let mut update = None;
    let mut violations = Vec::new();
    walk(history, set, |scene, version| {
        let is_since = version.index >= since && *update.get_or_insert(scene.update) == scene.update;
        let is_its = version.kind() == "Pod" && version.label(names::PART_OF) == Some(set);
        let is_made = is_its && version.change != Change::Deleted && seen.insert(version.uid());
        if is_made && is_since && is_meant(version.pod()) && scene.is_old(version.pod()) {
            let message = format!("Pod {} was created from an old template during an update", version.name());
            violations.push(violation(OLD_MADE, message).shown_by("created", version));
        }
    });
    none(violations)
}

/// The statuses of a PodCliqueSet, its groups and its cliques report all replicas as existing and updated
/// (UPD-13).
pub fn counted(live: &Live, set: &str) -> Ruling {
    let of_set = |found: &&Value| found["metadata"]["labels"][names::PART_OF] == set;
    let parts =
        ["PodClique", "PodCliqueScalingGroup"].into_iter().flat_map(|kind| live.of(kind)).filter(of_set);
    none(live.get("PodCliqueSet", set).into_iter().chain(parts).filter_map(|found| {
        let wanted = count(&found["spec"]["replicas"]).unwrap_or(0);
        let said = |field: &str| count(&found["status"][field]).unwrap_or(0);
        let field = ["replicas", "updatedReplicas"].into_iter().find(|field| said(field) != wanted)?;
        let (kind, name) = (text(&found["kind"]), text(&found["metadata"]["name"]));
        let message = format!("{kind} {name} has {wanted} replicas, but its {field} is {}", said(field));
        Some(violation(MISCOUNTED, message).shown_by_object("observed", found))
    }))
}

/// The status of a PodClique reports as many updated pods as are new (UPD-37).
pub fn counts_the_new(live: &Live, clique: &str) -> Ruling {
    let Some(found) = live.get("PodClique", clique) else {
        return Err(Broken::NotReached(format!("PodClique {clique} does not exist")));
    };
    let own = live.pods().filter(|pod| pod.pod_clique() == Some(clique) && is_live(*pod));
    let are = own.filter(|pod| is_as_asked(*pod, found)).count();
    let said = count(&found["status"]["updatedReplicas"]).unwrap_or(0);
    ensure(said == are, || {
        let message = format!("updatedReplicas of PodClique {clique} is {said}, want {are}");
        violation(MISCOUNTED, message).shown_by_object("observed", found)
    })
}

/// Whether a pod has the revision that its PodClique requests.
pub(super) fn is_as_asked(pod: Pod<'_>, pclq: &Value) -> bool {
    revision(&pod.0["spec"]) == revision(&pclq["spec"]["podSpec"])
}

/// A clique never has more pods than requested, as far as the operator could know (UPD-13, UPD-15).
pub fn nothing_is_made_twice(history: &History, set: &str) -> Ruling {
    let mut seen = BTreeSet::new();
    let mut sizes: BTreeMap<&str, Vec<(Timestamp, usize)>> = BTreeMap::new();
    let mut violations = Vec::new();
    walk(history, set, |scene, version| {
        if version.kind() == "PodClique" {
            let size = count(&version.object["spec"]["replicas"]).unwrap_or(0);
            sizes.entry(version.name()).or_default().push((version.at, size));
        }
        let is_its = version.kind() == "Pod" && version.label(names::PART_OF) == Some(set);
        if !is_its || version.change == Change::Deleted || !seen.insert(version.uid()) {
            return;
        }
        let clique = version.pod().pod_clique().unwrap_or_default();
        let are = scene.pods_of(clique).len() + 1;
        let size = sizes.get(clique).and_then(|sizes| largest(sizes, version.at, patience(history)));
        if let Some(size) = size.filter(|size| are > *size) {
            let message =
                format!("Pod {} is one of {are} pods of PodClique {clique}, want {size}", version.name());
            violations.push(violation(MADE_TWICE, message).shown_by("created", version));
        }
    });
    none(violations)
}

/// The largest size that was requested at that time or shortly before.
fn largest(sizes: &[(Timestamp, usize)], then: Timestamp, before: SignedDuration) -> Option<usize> {
    let ends = sizes.iter().skip(1).map(|(begun, _)| Some(*begun)).chain([None]);
    let known = sizes.iter().zip(ends);
    let recent = known.filter(|(_, end)| end.is_none_or(|end| then.duration_since(end) <= before));
    recent.map(|((_, size), _)| *size).max()
}

#[cfg(test)]
#[path = "updates_tests.rs"]
mod tests;
