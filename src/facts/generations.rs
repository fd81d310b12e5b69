//! When a scope was terminated and created again, and which of its pods belong to which generation.
//!
//! A termination is recognized by its effect on pods, not by what an operator reports. From some point on,
//! every live pod of the scope is deleted, except those of a recreated PodClique. New pods are created, and
//! none of them is bound before the last old one is being deleted. An update replaces pods one after the
//! other and is no termination. A pod that the harness deletes does not start one.

use std::collections::{BTreeMap, BTreeSet};

use conformance_expect::scopes::Scope;
use conformance_history::{Change, History, SharedMark, Version, controller, text};

use crate::health::{is_bound, is_live};

/// A termination of a scope: all its pods were deleted and created again.
#[derive(Debug, Clone)]
pub struct GangTermination<'a> {
    /// The first deletion.
    pub started: Version<'a>,
    /// The last deletion.
    pub ended: Version<'a>,
    /// The deleted pods, by uid.
    pub old: BTreeSet<&'a str>,
}

/// A pod from its creation to its deletion.
#[derive(Debug, Clone, Copy)]
struct Life<'a> {
    uid: &'a str,
    name: &'a str,
    clique: Option<&'a str>,
    /// The uid of the PodClique that created the pod; a recreated PodClique has another one.
    owner: &'a str,
    created: usize,
    bound: Option<usize>,
    ended: Option<Version<'a>>,
}

impl Life<'_> {
    fn is_live_at(&self, index: usize) -> bool {
        self.created < index && self.ended.is_none_or(|ended| ended.index >= index)
    }
}

/// The pods of a scope in order of creation.
fn pods_of_scope<'a>(history: &'a History, scope: &Scope) -> Vec<Life<'a>> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lives: Vec<Life<'a>> = Vec::new();
    for version in history.pods().filter(|version| scope.has(version.pod())) {
        let (uid, name, created) = (version.uid(), version.name(), version.index);
        let place = *places.entry(uid).or_insert_with(|| {
            let owner = controller(version.object).map(|owner| text(&owner["uid"])).unwrap_or_default();
            let clique = version.pod().pod_clique();
            lives.push(Life { uid, name, clique, owner, created, bound: None, ended: None });
            lives.len() - 1
        });
        let life = &mut lives[place];
        if life.ended.is_none() && (version.change == Change::Deleted || !is_live(version.pod())) {
            life.ended = Some(version);
        } else if life.bound.is_none() && is_bound(version.pod()) {
            life.bound = Some(version.index);
        }
    }
    lives
}

/// The names of pods that the harness deleted.
pub fn deleted_by_harness(history: &History) -> BTreeSet<&str> {
    let lost = history.marks(SharedMark::PodLost);
    let deleted = history.marks(SharedMark::Deleted).filter(|(_, mark)| mark.detail["kind"] == "Pod");
    lost.chain(deleted).map(|(_, mark)| text(&mark.detail["name"])).collect()
}

/// Every termination of a scope, in order.
pub fn terminations<'a>(history: &'a History, scope: &Scope) -> Vec<GangTermination<'a>> {
    let pods_of_scope = pods_of_scope(history, scope);
    let excused = deleted_by_harness(history);
    let mut ends: Vec<(Version<'a>, &str)> =
        pods_of_scope.iter().filter_map(|life| Some((life.ended?, life.name))).collect();
    ends.sort_by_key(|(ended, _)| ended.index);
    let mut found: Vec<GangTermination<'a>> = Vec::new();
    for (started, name) in ends {
        let is_over = found.last().is_some_and(|last| started.index <= last.ended.index);
        if is_over || excused.contains(name) {
            continue;
        }
        // A PodClique may be recreated with new pods while the pods of its predecessor still have to be
        // deleted.
        let is_of_new_owner = |life: &Life<'_>| {
            let mut before = pods_of_scope
                .iter()
                .filter(|other| other.created < life.created && other.is_live_at(started.index));
            before.any(|other| other.clique == life.clique && other.owner != life.owner)
        };
        let (new, old): (Vec<&Life<'_>>, Vec<_>) = pods_of_scope
            .iter()
            .filter(|life| life.created > started.index || life.is_live_at(started.index))
            .partition(|life| life.created > started.index || is_of_new_owner(life));
        let Some(ends) = old.iter().map(|life| life.ended).collect::<Option<Vec<_>>>() else { continue };
        let Some(ended) = ends.into_iter().max_by_key(|ended| ended.index) else { continue };
        if !new.is_empty() && new.iter().all(|life| life.bound.is_none_or(|bound| bound > ended.index)) {
            found.push(GangTermination {
                started,
                ended,
                old: old.into_iter().map(|life| life.uid).collect(),
            });
        }
    }
    found
}

/// The history without the scope's pods of other generations. Generation 0 is before the first termination.
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

/// The history without those pods of a scope that existed before the entry `since`.
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
mod tests {
    use conformance_history::testing::Story;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{pod, running, scope, terminating_pod};

    fn count(story: Story) -> usize {
        terminations(&story.end(), &scope()).len()
    }

    #[test]
    fn a_scope_is_terminated_when_all_its_pods_are_deleted_and_created_again() {
        let terminated =
            || running().modified(terminating_pod("a")).added(pod("c", None)).modified(terminating_pod("b"));
        let history = terminated().added(pod("d", None)).modified(pod("c", Some("n"))).end();
        let found = terminations(&history, &scope());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].started.name(), found[0].ended.name(), found[0].old.len()), ("a", "b", 2));
        let names = |generation| {
            only_generation(&history, &scope(), generation).names("Pod").into_iter().collect::<String>()
        };
        assert_eq!((names(0), names(1)), ("ab".to_owned(), "cd".to_owned()));
        assert_eq!(count(terminated()), 1);
    }

    #[test]
    fn a_recreated_pod_clique_may_have_pods_before_the_old_ones_are_deleted() {
        let owned = |mut pod: Value, owner: &str| {
            pod["metadata"]["ownerReferences"] =
                json!([{"kind": "PodClique", "name": "w-0-a", "uid": owner, "controller": true}]);
            pod
        };
        let old = |pod| owned(pod, "first");
        let new = |pod| owned(pod, "second");
        let created = Story::flat().added(old(pod("a", Some("n")))).added(old(pod("b", Some("n"))));
        let ahead =
            created.added(new(pod("c", None))).modified(old(terminating_pod("a"))).added(new(pod("d", None)));
        let history = ahead.modified(old(terminating_pod("b"))).modified(new(pod("c", Some("n")))).end();
        let found = terminations(&history, &scope());
        assert_eq!(found.iter().map(|termination| termination.old.len()).collect::<Vec<_>>(), [2]);
        let names = |generation| {
            only_generation(&history, &scope(), generation).names("Pod").into_iter().collect::<String>()
        };
        assert_eq!((names(0), names(1)), ("ab".to_owned(), "cd".to_owned()));
    }

    #[test]
    fn an_update_or_a_lost_pod_is_no_termination() {
        assert_eq!(count(running().modified(terminating_pod("a")).added(pod("c", None))), 0, "one of two");
        assert_eq!(
            count(running().modified(terminating_pod("a")).modified(terminating_pod("b"))),
            0,
            "no pod is created"
        );
        let update =
            running().modified(terminating_pod("a")).added(pod("c", None)).modified(pod("c", Some("n")));
        assert_eq!(
            count(update.modified(terminating_pod("b")).added(pod("d", None))),
            0,
            "one after the other"
        );
        let lost = || running().mark(SharedMark::PodLost, json!({"name": "a"})).deleted(pod("a", Some("n")));
        assert_eq!(count(lost().added(pod("c", None))), 0, "a lost pod");
    }

    #[test]
    fn a_pending_replacement_belongs_to_the_terminated_generation() {
        let lost = running().mark(SharedMark::PodLost, json!({"name": "a"})).deleted(pod("a", Some("n")));
        let terminated = lost
            .added(pod("c", None))
            .modified(terminating_pod("b"))
            .deleted(pod("c", None))
            .added(pod("d", None));
        let again =
            terminated.modified(pod("d", Some("n"))).modified(terminating_pod("d")).added(pod("e", None));
        let history = again.end();
        let found = terminations(&history, &scope());
        let old = found.iter().map(|termination| termination.old.len()).collect::<Vec<_>>();
        assert_eq!(old, [2, 1]);
    }
}
