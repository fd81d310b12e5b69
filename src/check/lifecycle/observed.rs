//! Compares `observedGeneration` in statuses with the completed work (STAT-12).

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::names;
use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Code;
use conformance_history::{Change, History, Version, count};
use serde_json::Value;

use super::census::Census;
use crate::{Shown, none, violation};

const OBSERVED_AHEAD: Code = Code::new("observed-ahead");

/// Requires that no status reports a generation before it exists, or before its replicas are created and
/// deleted. Versions are compared in the order of their writes.
pub fn never_ahead(history: &History, set: &str) -> Ruling {
    let mut census = Census::default();
    let mut indexes = Indexes::default();
    let mut seen: BTreeSet<(&str, u64)> = BTreeSet::new();
    let mut done: BTreeMap<&str, Option<usize>> = BTreeMap::new();
    let mut violations = Vec::new();
    for version in history.as_written() {
        census.apply(version);
        indexes.apply(version);
        let observed = version.object["status"]["observedGeneration"].as_u64();
        let is_of_set = version.name() == set || version.label(names::PART_OF) == Some(set);
        let Some(observed) = observed.filter(|_| is_of_set && version.change != Change::Deleted) else {
            continue;
        };
        if version.object["metadata"]["deletionTimestamp"].is_string()
            || !seen.insert((version.uid(), observed))
        {
            continue;
        }
        let generation = version.object["metadata"]["generation"].as_u64().unwrap_or(0);
        let fault = match observed.cmp(&generation) {
            std::cmp::Ordering::Greater => Some(format!("metadata.generation is only {generation}")),
            // The status reports an earlier generation, whose requested replicas are not known here.
            std::cmp::Ordering::Less => None,
            // Check each number of replicas once. A generation with the same replicas may still have to
            // replace pods, which `observedGeneration` does not wait for.
            std::cmp::Ordering::Equal => {
                let wanted = count(&version.object["spec"]["replicas"]);
                let is_another = done.insert(version.uid(), wanted) != Some(wanted);
                unfinished(version, &census, &indexes).filter(|_| is_another)
            }
        };
        violations.extend(fault.map(|fault| {
            let what = format!("{} {}", version.kind(), version.name());
            violation(OBSERVED_AHEAD, format!("{what}: observedGeneration is {observed}, but {fault}"))
                .shown_by("reported", version)
        }));
    }
    none(violations)
}

fn unfinished(version: Version<'_>, census: &Census<'_>, indexes: &Indexes) -> Option<String> {
    let wanted = count(&version.object["spec"]["replicas"])?;
    let (what, found) = match version.kind() {
        "PodClique" => ("pods", census.live(version.name())),
        "PodCliqueScalingGroup" => {
            ("replicas with PodCliques", indexes.of(names::SCALING_GROUP, version.name()))
        }
        "PodCliqueSet" => ("replicas with PodCliques", indexes.of(names::PART_OF, version.name())),
        _ => return None,
    };
    (found != wanted).then(|| format!("{found} {what} exist, want {wanted}"))
}

#[derive(Debug, Default)]
struct Indexes {
    of_cliques: BTreeSet<(&'static str, String, String, String)>,
}

impl Indexes {
    fn apply(&mut self, version: Version<'_>) {
        if version.kind() != "PodClique" {
            return;
        }
        for (owner, index) in [
            (names::SCALING_GROUP, names::SCALING_GROUP_REPLICA_INDEX),
            (names::PART_OF, names::REPLICA_INDEX),
        ] {
            let (Some(name), Some(replica)) = (version.label(owner), version.label(index)) else { continue };
            let key = (owner, name.to_owned(), replica.to_owned(), version.name().to_owned());
            let is_terminating = version.object["metadata"]["deletionTimestamp"] != Value::Null;
            if version.change == Change::Deleted || is_terminating {
                self.of_cliques.remove(&key);
            } else {
                self.of_cliques.insert(key);
            }
        }
    }

    fn of(&self, owner: &str, name: &str) -> usize {
        let of_owner = self.of_cliques.iter().filter(|(of, its, ..)| *of == owner && its == name);
        of_owner.map(|(_, _, replica, _)| replica).collect::<BTreeSet<_>>().len()
    }
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, object};
    use serde_json::json;

    use super::*;
    use crate::message;

    fn pclq(generation: u64, replicas: usize, observed: u64) -> Value {
        let mut pclq = object("PodClique", "w-0-worker");
        pclq["metadata"]["labels"] = json!({names::PART_OF: "w", names::REPLICA_INDEX: "0"});
        pclq["metadata"]["generation"] = json!(generation);
        pclq["spec"]["replicas"] = json!(replicas);
        pclq["status"]["observedGeneration"] = json!(observed);
        pclq
    }

    #[test]
    fn a_generation_observed_before_its_pods_exist_is_a_violation() {
        let story = || Story::flat().added(pclq(1, 2, 0)).workers("w", 2, 0);
        assert_eq!(never_ahead(&story().modified(pclq(1, 2, 1)).end(), "w"), Ok(()));
        let scaled = || story().modified(pclq(1, 2, 1)).modified(pclq(2, 3, 1));
        assert_eq!(never_ahead(&scaled().end(), "w"), Ok(()));
        let ahead = never_ahead(&scaled().modified(pclq(2, 3, 2)).end(), "w");
        assert!(message(ahead).contains("2 pods exist, want 3"));
        let of_another = never_ahead(&scaled().modified(pclq(2, 3, 2)).end(), "v");
        assert_eq!(of_another, Ok(()), "of another PodCliqueSet");
        let changed = || story().modified(pclq(1, 2, 1)).modified(pclq(2, 2, 1));
        let replaced = changed().deleted(conformance_history::testing::worker("w", 0, None));
        assert_eq!(never_ahead(&replaced.modified(pclq(2, 2, 2)).end(), "w"), Ok(()), "another template");
        let beyond = never_ahead(&story().modified(pclq(1, 2, 2)).end(), "w");
        assert!(message(beyond).contains("metadata.generation is only 1"));
    }

    #[test]
    fn a_generation_observed_before_its_replicas_exist_is_a_violation() {
        let mut pcs = object("PodCliqueSet", "w");
        pcs["metadata"]["generation"] = json!(1);
        pcs["spec"]["replicas"] = json!(1);
        pcs["status"]["observedGeneration"] = json!(1);
        let early = Story::flat().added(pcs.clone()).added(pclq(1, 0, 0)).end();
        assert!(message(never_ahead(&early, "w")).contains("0 replicas with PodCliques exist, want 1"));
        assert_eq!(never_ahead(&Story::flat().added(pclq(1, 0, 0)).added(pcs).end(), "w"), Ok(()));
    }
}
