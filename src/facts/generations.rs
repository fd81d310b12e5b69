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
pub struct Recycle<'a> {
    /// The first deletion.
    pub begun: Version<'a>,
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
    made: usize,
    bound: Option<usize>,
    ended: Option<Version<'a>>,
}

impl Life<'_> {
    fn is_live_at(&self, index: usize) -> bool {
        self.made < index && self.ended.is_none_or(|ended| ended.index >= index)
    }
}

/// The pods of a scope in order of creation.
fn lives<'a>(history: &'a History, scope: &Scope) -> Vec<Life<'a>> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lives: Vec<Life<'a>> = Vec::new();
    for version in history.pods().filter(|version| scope.has(version.pod())) {
        let (uid, name, made) = (version.uid(), version.name(), version.index);
        let place = *places.entry(uid).or_insert_with(|| {
            let owner = controller(version.object).map(|owner| text(&owner["uid"])).unwrap_or_default();
            let clique = version.pod().pod_clique();
            lives.push(Life { uid, name, clique, owner, made, bound: None, ended: None });
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
pub fn taken_away(history: &History) -> BTreeSet<&str> {
    let lost = history.marks(SharedMark::PodLost);
    let deleted = history.marks(SharedMark::Deleted).filter(|(_, mark)| mark.detail["kind"] == "Pod");
    lost.chain(deleted).map(|(_, mark)| text(&mark.detail["name"])).collect()
}

/// Every termination of a scope, in order.
pub fn recycles<'a>(history: &'a History, scope: &Scope) -> Vec<Recycle<'a>> {
    let lives = lives(history, scope);
    let taken = taken_away(history);
    let mut ends: Vec<(Version<'a>, &str)> =
        lives.iter().filter_map(|life| Some((life.ended?, life.name))).collect();
    ends.sort_by_key(|(ended, _)| ended.index);
    let mut found: Vec<Recycle<'a>> = Vec::new();
    for (begun, name) in ends {
        let is_over = found.last().is_some_and(|last| begun.index <= last.ended.index);
        if is_over || taken.contains(name) {
            continue;
        }
        // A PodClique may be recreated with new pods while the pods of its predecessor still have to be
        // deleted.
        let is_ahead = |life: &Life<'_>| {
            let mut before =
                lives.iter().filter(|other| other.made < life.made && other.is_live_at(begun.index));
            before.any(|other| other.clique == life.clique && other.owner != life.owner)
        };
        let (new, old): (Vec<&Life<'_>>, Vec<_>) = lives
            .iter()
            .filter(|life| life.made > begun.index || life.is_live_at(begun.index))
            .partition(|life| life.made > begun.index || is_ahead(life));
        let Some(ends) = old.iter().map(|life| life.ended).collect::<Option<Vec<_>>>() else { continue };
        let Some(ended) = ends.into_iter().max_by_key(|ended| ended.index) else { continue };
        if !new.is_empty() && new.iter().all(|life| life.bound.is_none_or(|bound| bound > ended.index)) {
            found.push(Recycle { begun, ended, old: old.into_iter().map(|life| life.uid).collect() });
        }
    }
    found
}

/// The history without the scope's pods of other generations. Generations count from 0.
#[must_use]
pub fn only(history: &History, scope: &Scope, generation: usize) -> History {
    let recycles = recycles(history, scope);
    let is_after = |life: &Life<'_>, recycle: &Recycle<'_>| {
        let has_ended = life.ended.is_some_and(|ended| ended.index < recycle.begun.index);
        !has_ended && !recycle.old.contains(life.uid)
    };
    let its: BTreeSet<&str> = lives(history, scope)
        .into_iter()
        .filter(|life| recycles.iter().filter(|recycle| is_after(life, recycle)).count() == generation)
        .map(|life| life.uid)
        .collect();
    without(history, |version| scope.has(version.pod()) && !its.contains(version.uid()))
}

/// The history without those pods of a scope that existed before the entry `since`.
#[must_use]
pub fn made_since(history: &History, scope: &Scope, since: usize) -> History {
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
    use crate::testing::{going, pod, running, scope};

    fn count(story: Story) -> usize {
        recycles(&story.end(), &scope()).len()
    }

    #[test]
    fn all_are_deleted_and_made_anew() {
        let recycled = || running().modified(going("a")).added(pod("c", None)).modified(going("b"));
        let history = recycled().added(pod("d", None)).modified(pod("c", Some("n"))).end();
        let found = recycles(&history, &scope());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].begun.name(), found[0].ended.name(), found[0].old.len()), ("a", "b", 2));
        let names =
            |generation| only(&history, &scope(), generation).names("Pod").into_iter().collect::<String>();
        assert_eq!((names(0), names(1)), ("ab".to_owned(), "cd".to_owned()));
        assert_eq!(count(recycled()), 1);
    }

    #[test]
    fn a_pod_clique_that_is_made_anew_may_have_pods_before_the_old_ones_go() {
        let owned = |mut pod: Value, owner: &str| {
            pod["metadata"]["ownerReferences"] =
                json!([{"kind": "PodClique", "name": "w-0-a", "uid": owner, "controller": true}]);
            pod
        };
        let old = |pod| owned(pod, "first");
        let new = |pod| owned(pod, "second");
        let made = Story::flat().added(old(pod("a", Some("n")))).added(old(pod("b", Some("n"))));
        let ahead = made.added(new(pod("c", None))).modified(old(going("a"))).added(new(pod("d", None)));
        let history = ahead.modified(old(going("b"))).modified(new(pod("c", Some("n")))).end();
        let found = recycles(&history, &scope());
        assert_eq!(found.iter().map(|recycle| recycle.old.len()).collect::<Vec<_>>(), [2]);
        let names =
            |generation| only(&history, &scope(), generation).names("Pod").into_iter().collect::<String>();
        assert_eq!((names(0), names(1)), ("ab".to_owned(), "cd".to_owned()));
    }

    #[test]
    fn what_is_no_recycle() {
        assert_eq!(count(running().modified(going("a")).added(pod("c", None))), 0, "one of two");
        assert_eq!(count(running().modified(going("a")).modified(going("b"))), 0, "nothing is made anew");
        let update = running().modified(going("a")).added(pod("c", None)).modified(pod("c", Some("n")));
        assert_eq!(count(update.modified(going("b")).added(pod("d", None))), 0, "one after the other");
        let lost = || running().mark(SharedMark::PodLost, json!({"name": "a"})).deleted(pod("a", Some("n")));
        assert_eq!(count(lost().added(pod("c", None))), 0, "a lost pod");
    }

    #[test]
    fn a_replacement_that_waits_goes_too_and_the_next_generation_is_recycled_again() {
        let lost = running().mark(SharedMark::PodLost, json!({"name": "a"})).deleted(pod("a", Some("n")));
        let recycled =
            lost.added(pod("c", None)).modified(going("b")).deleted(pod("c", None)).added(pod("d", None));
        let again = recycled.modified(pod("d", Some("n"))).modified(going("d")).added(pod("e", None));
        let history = again.end();
        let found = recycles(&history, &scope());
        let old = found.iter().map(|recycle| recycle.old.len()).collect::<Vec<_>>();
        assert_eq!(old, [2, 1]);
    }
}
