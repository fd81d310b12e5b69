use std::collections::BTreeSet;

use conformance_contract::names;
use conformance_contract::ruling::Ruling;
use conformance_contract::violation::{Code, Violation};
use conformance_facts::generations::deleted_by_harness;
use conformance_facts::health::is_live;
use conformance_facts::updates::{State, walk};
use conformance_history::{Change, History, Pod, Version};

use crate::{Shown, none, violation};

pub(super) const NEW_DELETED: Code = Code::new("new-pod-deleted");
const DELETED_WITHOUT_UPDATE: Code = Code::new("deleted-without-update");

pub(super) struct Deletion<'a> {
    pub(super) at: Version<'a>,
    pub(super) pod: Pod<'a>,
    pub(super) state: State<'a>,
}

impl Deletion<'_> {
    pub(super) fn replica(&self) -> Option<usize> {
        self.pod.label(names::REPLICA_INDEX)?.parse().ok()
    }
}

pub(super) fn deletions<'a>(history: &'a History, set: &str) -> Vec<Deletion<'a>> {
    let excused = deleted_by_harness(history);
    let mut found = Vec::new();
    walk(history, set, |state, version| {
        let before = state.pods.get(version.uid()).filter(|_| version.kind() == "Pod");
        let is_deleted = version.change == Change::Deleted || !is_live(version.pod());
        if let Some(before) = before.filter(|before| is_deleted && !excused.contains(before.name()))
            && !state.is_surplus(before.pod())
        {
            found.push(Deletion { at: version, pod: before.pod(), state: state.clone() });
        }
    });
    found
}

/// Requires that the updater deletes only old pods, and group replicas with an old pod.
pub fn updater_deletes_only_old(history: &History, set: &str) -> Ruling {
    updater_deletes_only_old_since(history, set, 0)
}

/// Like [`updater_deletes_only_old`], from the entry `since` on.
pub fn updater_deletes_only_old_since(history: &History, set: &str, since: usize) -> Ruling {
    let mut seen: BTreeSet<(usize, String)> = BTreeSet::new();
    let later = deletions(history, set).into_iter().filter(|deletion| deletion.at.index >= since);
    none(later.filter_map(|deletion| {
        let (unit, _, is_old) = deletion.state.unit(deletion.pod);
        let is_grouped = deletion.pod.label(names::SCALING_GROUP).is_some();
        let is_first = seen.insert((deletion.state.update, unit)) || !is_grouped;
        (is_first && !is_old).then(|| {
            let message =
                format!("Pod {} was deleted although it has the current template", deletion.pod.name());
            violation(NEW_DELETED, message).shown_by("deleted", deletion.at)
        })
    }))
}

pub fn updater_deletes_none(history: &History, set: &str) -> Ruling {
    none(deletions(history, set).iter().map(unneeded))
}

/// Requires that the updater deletes no pods with OnDelete, except in a step in progress (UPD-24).
pub fn updater_deletes_none_on_delete(history: &History, set: &str) -> Ruling {
    let mut updating = None;
    let mut violations = Vec::new();
    for deletion in deletions(history, set) {
        let is_on_delete = deletion.state.pcs()["spec"]["updateStrategy"]["type"] == "OnDelete";
        if !is_on_delete {
            updating = Some(deletion.state.update);
        } else if updating.take_if(|update| *update == deletion.state.update).is_none() {
            violations.push(unneeded(&deletion));
        }
    }
    none(violations)
}

fn unneeded(deletion: &Deletion<'_>) -> Violation {
    let message = format!("Pod {} was deleted although no update requires it", deletion.pod.name());
    violation(DELETED_WITHOUT_UPDATE, message).shown_by("deleted", deletion.at)
}

#[cfg(test)]
#[path = "deletions_tests.rs"]
mod tests;
