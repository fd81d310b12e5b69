//! The indexes of a PodClique's pods.

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::names;
use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Code;
use conformance_history::{Change, History, Version, owners};

use super::{Shown, none, violation};

const DUPLICATE_INDEX: Code = Code::new("duplicate-index");

/// Returns the uid of the pod's PodClique, or the label of a pod that no PodClique owns.
fn owning_clique<'a>(version: &Version<'a>) -> Option<&'a str> {
    let owner = owners(version.object).iter().find(|owner| owner["kind"] == "PodClique");
    let uid = owner.and_then(|owner| owner["uid"].as_str());
    uid.or_else(|| version.pod().pod_clique())
}

/// Requires that the indexes of a PodClique's pods are unique, because hostnames contain the index (GANG-18).
/// A terminating or finished pod no longer occupies its index. A recreated PodClique is another PodClique.
pub fn are_unique(history: &History) -> Ruling {
    // Use the owner at creation, because an orphaned pod still occupies its index.
    let mut cliques: BTreeMap<&str, &str> = BTreeMap::new();
    let mut holders: BTreeMap<(&str, &str), Version<'_>> = BTreeMap::new();
    let mut reported = BTreeSet::new();
    let mut violations = Vec::new();
    for version in history.pods() {
        let pod = version.pod();
        let (Some(clique), Some(index)) = (pod.pod_clique(), pod.label(names::POD_INDEX)) else { continue };
        let Some(owner) = owning_clique(&version) else { continue };
        let place = (*cliques.entry(version.uid()).or_insert(owner), index);
        let has_ended = ["Failed", "Succeeded"].iter().any(|phase| pod.0["status"]["phase"] == *phase);
        let leaves = version.change == Change::Deleted || pod.is_terminating() || has_ended;
        match holders.get(&place) {
            Some(holder) if holder.uid() == version.uid() && leaves => drop(holders.remove(&place)),
            Some(holder)
                if holder.uid() != version.uid()
                    && !leaves
                    && reported.insert((holder.uid(), version.uid())) =>
            {
                let message = format!(
                    "Pods {} and {} both have index {index} of PodClique {clique}",
                    holder.name(),
                    version.name()
                );
                let found = violation(DUPLICATE_INDEX, message);
                violations.push(found.shown_by("first", *holder).shown_by("second", version));
            }
            None if !leaves => drop(holders.insert(place, version)),
            _ => {}
        }
    }
    none(violations)
}

#[cfg(test)]
mod tests {
    use conformance_contract::ruling::Broken;
    use conformance_history::testing::Story;
    use serde_json::{Value, json};

    use super::*;

    fn pod(name: &str) -> Value {
        let labels = json!({names::POD_CLIQUE: "w-0-a", names::POD_INDEX: "0"});
        json!({"kind": "Pod", "metadata": {"name": name, "labels": labels}})
    }

    #[test]
    fn an_index_is_free_once_its_pod_has_failed() {
        let in_phase = |name: &str, phase: &str| {
            let mut pod = pod(name);
            pod["status"] = json!({"phase": phase});
            pod
        };
        let ruling = |phase: &str| {
            let story = Story::flat().added(in_phase("first", "Running")).modified(in_phase("first", phase));
            are_unique(&story.added(in_phase("second", "Pending")).end())
        };
        assert_eq!(ruling("Failed"), Ok(()));
        assert!(matches!(ruling("Running"), Err(Broken::Violated(_))));
    }

    #[test]
    fn two_live_pods_with_one_index_are_a_violation() {
        let replaced = Story::flat().added(pod("x")).deleted(pod("x")).added(pod("y"));
        assert!(are_unique(&replaced.end()).is_ok());
        let doubled = Story::flat().added(pod("x")).added(pod("y"));
        assert!(are_unique(&doubled.end()).is_err());
    }

    #[rstest::rstest]
    #[case::of_one_clique("before", "before", false)]
    #[case::of_the_recreated_clique("before", "since", true)]
    fn pods_of_a_recreated_clique_reuse_the_indexes(
        #[case] first: &str,
        #[case] second: &str,
        #[case] unique: bool,
    ) {
        let clique = |uid: &str| json!({"kind": "PodClique", "metadata": {"name": "w-0-a", "uid": uid}});
        let pod_of = |name: &str, clique: &str| {
            let mut pod = pod(name);
            pod["metadata"]["ownerReferences"] =
                json!([{"kind": "PodClique", "name": "w-0-a", "uid": clique}]);
            pod
        };
        let recreated = |story: Story| story.deleted(clique("before")).added(clique("since"));
        let (old, new) = (pod_of("x", first), pod_of("y", second));
        let created = Story::flat().added(clique("before"));
        // The garbage collector keeps the old pod for a while, or the operator creates it too late.
        let stays = recreated(created.clone().added(old.clone())).added(new.clone());
        let is_late = recreated(created).added(new).added(old);
        for story in [stays, is_late] {
            assert_eq!(are_unique(&story.end()).is_ok(), unique);
        }
    }

    #[test]
    fn an_orphaned_pod_keeps_its_index_until_it_is_deleted() {
        let pod_of = |name: &str, owners: Value| {
            let mut pod = pod(name);
            pod["metadata"]["ownerReferences"] = owners;
            pod
        };
        let owner = || json!([{"kind": "PodClique", "name": "w-0-a", "uid": "u"}]);
        let orphaned = Story::flat().added(pod_of("x", owner())).modified(pod_of("x", json!([])));
        let unique = |story: Story| are_unique(&story.added(pod_of("y", owner())).end()).is_ok();
        assert!(!unique(orphaned.clone()));
        assert!(unique(orphaned.deleted(pod_of("x", json!([])))));
    }
}
