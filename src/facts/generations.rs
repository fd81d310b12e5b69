//! Detects when a scope was terminated and created again: every live pod is deleted and new pods are created.
//! No new pod is bound before the deletion of the last old pod starts. Updates, which replace pods one by
//! one, and deletions by the harness are no terminations.
//!
//! The operator may delete PodCliques and pods in any order, so a termination starts at the first deletion. A
//! PodClique that is deleted after its pods may create more in between, which belong to the old generation.
//!
//! Without new pods, this is a termination only if the scope should still have pods at the end.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use conformance_expect::scopes::Scope;
use conformance_history::{Change, History, Live, SharedMark, Version, controller, count, text};

use crate::health::{is_bound, is_live};

#[derive(Debug, Clone)]
pub struct GangTermination<'a> {
    /// The first deletion of a pod, or of a PodClique with pods.
    pub started: Version<'a>,
    pub ended: Version<'a>,
    pub old: BTreeSet<&'a str>,
}

impl GangTermination<'_> {
    /// The version in which the first old pod was bound.
    #[must_use]
    pub fn first_binding<'h>(&self, history: &'h History) -> Option<Version<'h>> {
        let mut pods = history.pods().filter(|version| self.old.contains(version.uid()));
        pods.find(|version| version.pod().node().is_some())
    }
}

#[derive(Debug, Clone, Copy)]
struct Life<'a> {
    uid: &'a str,
    name: &'a str,
    clique: Option<&'a str>,
    /// The uid of the PodClique that created the pod. A recreated PodClique has another uid.
    owner: &'a str,
    created: usize,
    is_released: bool,
    bound: Option<usize>,
    ended: Option<Version<'a>>,
}

impl Life<'_> {
    fn is_live_at(&self, index: usize) -> bool {
        self.created < index && self.ended.is_none_or(|ended| ended.index >= index)
    }
}

fn pods_of_scope<'a>(history: &'a History, scope: &Scope) -> Vec<Life<'a>> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lives: Vec<Life<'a>> = Vec::new();
    for version in history.pods().filter(|version| scope.has(version.pod())) {
        let (uid, name, created) = (version.uid(), version.name(), version.index);
        let place = *places.entry(uid).or_insert_with(|| {
            let owner = controller(version.object).map(|owner| text(&owner["uid"])).unwrap_or_default();
            let clique = version.pod().pod_clique();
            let (is_released, bound, ended) = (false, None, None);
            lives.push(Life { uid, name, clique, owner, created, is_released, bound, ended });
            lives.len() - 1
        });
        let life = &mut lives[place];
        life.is_released |= version.pod().gates().is_empty();
        if life.ended.is_none() && (version.change == Change::Deleted || !is_live(version.pod())) {
            life.ended = Some(version);
        } else if life.bound.is_none() && is_bound(version.pod()) {
            life.bound = Some(version.index);
        }
    }
    lives
}

pub fn deleted_by_harness(history: &History) -> BTreeSet<&str> {
    let lost = history.marks(SharedMark::PodLost);
    let deleted = history.marks(SharedMark::Deleted).filter(|(_, mark)| mark.detail["kind"] == "Pod");
    lost.chain(deleted).map(|(_, mark)| text(&mark.detail["name"])).collect()
}

pub fn terminations<'a>(history: &'a History, scope: &Scope) -> Vec<GangTermination<'a>> {
    let deletions = Deletions::of(history, scope);
    let excused = deleted_by_harness(history);
    let mut ends: Vec<(Version<'a>, &Life<'a>)> =
        deletions.pods.iter().filter_map(|life| Some((life.ended?, life))).collect();
    ends.sort_by_key(|(ended, _)| ended.index);
    let mut found: Vec<GangTermination<'a>> = Vec::new();
    for (ended, life) in ends {
        let is_over = found.last().is_some_and(|last| ended.index <= last.ended.index);
        let is_known = found.iter().any(|earlier| earlier.old.contains(life.uid));
        if is_over || is_known || excused.contains(life.name) {
            continue;
        }
        let after = found.last().map(|last| last.ended.index);
        found.extend(deletions.termination_from(ended, after));
    }
    found
}

struct Deletions<'a, 's> {
    history: &'a History,
    scope: &'s Scope,
    pods: Vec<Life<'a>>,
    cliques: BTreeMap<&'a str, Version<'a>>,
    end: OnceCell<Live>,
}

impl<'a, 's> Deletions<'a, 's> {
    fn of(history: &'a History, scope: &'s Scope) -> Self {
        let mut cliques = BTreeMap::new();
        for version in history.of("PodClique").filter(is_deletion) {
            cliques.entry(version.uid()).or_insert(version);
        }
        Self { history, scope, pods: pods_of_scope(history, scope), cliques, end: OnceCell::new() }
    }

    /// `after`: the end of the previous termination.
    fn termination_from(&self, first: Version<'a>, after: Option<usize>) -> Option<GangTermination<'a>> {
        // The operator may recreate a PodClique with new pods before it deletes the old pods.
        let is_of_new_owner = |life: &Life<'_>| {
            let mut before = self
                .pods
                .iter()
                .filter(|other| other.created < life.created && other.is_live_at(first.index));
            before.any(|other| other.clique == life.clique && other.owner != life.owner)
        };
        let (new, old): (Vec<&Life<'_>>, Vec<_>) = self
            .pods
            .iter()
            .filter(|life| life.created > first.index || life.is_live_at(first.index))
            .partition(|life| life.created > first.index || is_of_new_owner(life));
        let ends: Vec<_> = old.iter().map(|life| life.ended).collect::<Option<_>>()?;
        let ended = ends.iter().copied().max_by_key(|ended| ended.index)?;
        let owners: BTreeSet<&str> = old.iter().map(|life| life.owner).collect();
        let (between, new): (Vec<&Life<'_>>, Vec<_>) = new.into_iter().partition(|life| {
            let has_deleted_owner = owners.contains(life.owner) && self.cliques.contains_key(life.owner);
            has_deleted_owner && life.ended.is_some() && !life.is_released
        });
        let is_termination = if new.is_empty() {
            ends.iter().all(is_deletion) && self.should_have_pods(&old)
        } else {
            new.iter().all(|life| life.bound.is_none_or(|bound| bound > ended.index))
        };
        let of_owners = owners.iter().filter_map(|owner| self.cliques.get(owner)).copied();
        let of_owners = of_owners.filter(|deletion| after.is_none_or(|after| deletion.index > after));
        let started = of_owners.chain([first]).min_by_key(|deletion| deletion.index)?;
        // Other clients may have deleted pods after the first PodClique and before the first pod.
        let lost = self.pods.iter().filter(|life| {
            life.is_live_at(started.index) && life.ended.is_some_and(|ended| ended.index < first.index)
        });
        let old = old.into_iter().chain(between).chain(lost).map(|life| life.uid).collect();
        is_termination.then_some(GangTermination { started, ended, old })
    }

    /// Whether the scope should still have pods, even if a PodClique was recreated with 0 replicas.
    fn should_have_pods(&self, old: &[&Life<'_>]) -> bool {
        let end = self.end.get_or_init(|| self.history.end());
        let is_idle = |life: &&Life<'_>| {
            let clique = life.clique.and_then(|clique| end.get("PodClique", clique));
            clique.is_some_and(|clique| {
                clique["metadata"]["uid"] == life.owner && clique["spec"]["replicas"] == 0
            })
        };
        is_wanted(end, self.scope) && !old.iter().any(is_idle)
    }
}

fn is_deletion(version: &Version<'_>) -> bool {
    version.change == Change::Deleted || version.object["metadata"]["deletionTimestamp"].is_string()
}

pub fn is_wanted(live: &Live, scope: &Scope) -> bool {
    let (kind, name, index) = match scope {
        Scope::Replica { set, index } => ("PodCliqueSet", set, index),
        Scope::GroupReplica { group, index } => ("PodCliqueScalingGroup", group, index),
    };
    live.get(kind, name).is_some_and(|found| {
        let replicas = count(&found["spec"]["replicas"]).unwrap_or(0);
        found["metadata"]["deletionTimestamp"].is_null() && *index < replicas
    })
}

/// The history without the scope's pods of other generations. Generation 0 precedes the first termination.
#[must_use]
pub fn only_generation(history: &History, scope: &Scope, generation: usize) -> History {
    let terminations = terminations(history, scope);
    let is_after = |life: &Life<'_>, termination: &GangTermination<'_>| {
        let has_ended = life.ended.is_some_and(|ended| ended.index < termination.started.index);
        !has_ended && !termination.old.contains(life.uid)
    };
    let selected: BTreeSet<&str> = pods_of_scope(history, scope)
        .into_iter()
        .filter(|life| {
            terminations.iter().filter(|termination| is_after(life, termination)).count() == generation
        })
        .map(|life| life.uid)
        .collect();
    without(history, |version| scope.has(version.pod()) && !selected.contains(version.uid()))
}

/// Returns the history without those pods of a scope that existed before the entry `since`.
#[must_use]
pub fn created_since(history: &History, scope: &Scope, since: usize) -> History {
    let before = history.upto(since);
    let old: BTreeSet<&str> =
        before.pods().filter(|version| scope.has(version.pod())).map(|version| version.uid()).collect();
    without(history, |version| old.contains(version.uid()))
}

fn without(history: &History, is_left_out: impl Fn(&Version<'_>) -> bool) -> History {
    let left_out: BTreeSet<usize> = history.pods().filter(is_left_out).map(|version| version.index).collect();
    let mut left = history.clone();
    let mut index = 0;
    left.entries.retain(|_| {
        index += 1;
        !left_out.contains(&(index - 1))
    });
    left
}

#[cfg(test)]
#[path = "generations_tests.rs"]
mod tests;
