//! Compares gang resources with their PodGang as created: no backend is responsible for an incomplete one.

use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_expect::Gang;
use conformance_expect::schedulers::{self, CreatedGang, Resource};
use conformance_history::{History, Live, is_owned_by, text};
use serde_json::Value;

use crate::deviation::Deviation;
use crate::pod_gangs::as_created;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mismatch {
    GangMissing,
    GangWithoutPodgroups,
    Extra,
    Missing,
    Differs,
}

/// Whether an object is a gang resource of any backend, but not of a canary.
pub fn is_gang_resource(object: &Value) -> bool {
    schedulers::kinds().into_iter().any(|(kind, _)| object["kind"] == kind)
        && object["metadata"]["labels"][names::CANARY].is_null()
}

/// The gang resources that a PodGang should have, derived from the PodGang as created. Parents come first.
pub fn expected(history: &History, gang: &Gang) -> Vec<Resource> {
    let expectations = schedulers::of(history.header.target);
    let created = as_created(history, &gang.name);
    created
        .map(|(version, podgroups)| {
            let mut all = expectations.resources(gang.named_after(), &podgroups);
            all.extend(expectations.resources_of_groups(version.object));
            all
        })
        .unwrap_or_default()
}

/// Finds the object for each expected gang resource. A truncated name is matched by owner and size.
pub fn found<'a>(
    target: Target,
    live: &'a Live,
    pod_gang: &Value,
    expected: &[Resource],
) -> Vec<Option<&'a Value>> {
    let expectations = schedulers::of(target);
    let mut taken: Vec<&str> = Vec::new();
    let mut take = |wanted: &Resource| {
        let exact = live.get(wanted.kind, &wanted.name.wanted);
        let truncated = || {
            live.of(wanted.kind).find(|found| {
                let name = text(&found["metadata"]["name"]);
                wanted.name.matches(name)
                    && is_owned_by(found, pod_gang)
                    && expectations.size(found) == wanted.size.and_then(|size| u64::try_from(size).ok())
                    && !taken.contains(&name)
            })
        };
        let found = exact.filter(|_| wanted.name.is_exact()).or_else(truncated)?;
        taken.push(text(&found["metadata"]["name"]));
        Some(found)
    };
    expected.iter().map(&mut take).collect()
}

pub fn mismatches<'a>(
    history: &'a History,
    live: &'a Live,
    gangs: &'a [Gang],
) -> impl Iterator<Item = Deviation<'a, Mismatch>> {
    gangs.iter().flat_map(move |gang| of_gang(history, live, gang))
}

fn of_gang<'a>(history: &History, live: &'a Live, gang: &Gang) -> Vec<Deviation<'a, Mismatch>> {
    let name = gang.name.as_str();
    let Some(pod_gang) = live.get("PodGang", name) else {
        return vec![Deviation::new(Mismatch::GangMissing, format!("PodGang {name} does not exist"))];
    };
    let podgroups = as_created(history, name).map(|(_, podgroups)| podgroups).unwrap_or_default();
    if podgroups.is_empty() {
        let message = format!("PodGang {name} never had podgroups");
        return vec![Deviation::new(Mismatch::GangWithoutPodgroups, message)];
    }
    let (target, expectations) = (history.header.target, schedulers::of(history.header.target));
    let mut expected = expectations.resources(gang.named_after(), &podgroups);
    expected.extend(expectations.resources_of_groups(pod_gang));
    let created = CreatedGang { pod_gang, podgroups: &podgroups, is_base: gang.is_base, live };
    let found = found(target, live, pod_gang, &expected);
    let mut mismatches = Vec::new();
    let of_gang = expectations.kinds().iter().flat_map(|kind| live.of(kind));
    for extra in of_gang.filter(|object| is_owned_by(object, pod_gang)) {
        if !found.iter().flatten().any(|known| known["metadata"] == extra["metadata"]) {
            let (kind, extra_name) = (text(&extra["kind"]), text(&extra["metadata"]["name"]));
            let message = format!("{kind} {extra_name} matches no part of PodGang {name}, want it absent");
            mismatches.push(Deviation::new(Mismatch::Extra, message).shown_by("unexpected", extra));
        }
    }
    for (wanted, found) in expected.iter().zip(found) {
        let Some(found) = found else {
            let message = format!("{} {} does not exist", wanted.kind, wanted.name);
            mismatches.push(Deviation::new(Mismatch::Missing, message));
            continue;
        };
        let faults = expectations.faults(created, wanted, found);
        if !faults.is_empty() {
            let message =
                format!("{} {}: {}", wanted.kind, text(&found["metadata"]["name"]), faults.join("; "));
            mismatches.push(
                Deviation::new(Mismatch::Differs, message)
                    .shown_by("observed", found)
                    .shown_by("its PodGang", pod_gang),
            );
        }
    }
    mismatches
}

#[cfg(test)]
mod tests {
    use conformance_expect as expect;
    use conformance_expect::schedulers::volcano::POD_GROUP;
    use conformance_history::testing::{Story, object, one_clique, one_clique_gang, owned};
    use serde_json::json;

    use super::*;

    fn group(name: &str, min: usize) -> Value {
        let mut group = owned(object(POD_GROUP, name), "PodGang", "w-0");
        let policy = json!({"name": "w-0-worker", "subGroupSize": 2, "minSubGroups": 1});
        group["spec"] = json!({"minMember": min, "subGroupPolicy": [policy]});
        group
    }

    fn uncontrolled(name: &str) -> Value {
        let mut group = group(name, 2);
        group["metadata"]["ownerReferences"][0]["controller"] = json!(false);
        group
    }

    fn found_by(objects: Vec<Value>) -> Vec<Mismatch> {
        let history = Story::on(Target::VOLCANO).all_added(objects).end();
        let (live, gangs) = (history.end(), expect::testing::named_gangs(&one_clique("w", 2)));
        mismatches(&history, &live, &gangs).map(|found| found.kind).collect()
    }

    #[rstest::rstest]
    #[case::no_pod_gang(vec![], Mismatch::GangMissing)]
    #[case::no_podgroups(vec![object("PodGang", "w-0")], Mismatch::GangWithoutPodgroups)]
    #[case::no_gang_resource(vec![one_clique_gang("w", 2)], Mismatch::Missing)]
    fn a_missing_object_is_a_mismatch(#[case] objects: Vec<Value>, #[case] wanted: Mismatch) {
        assert_eq!(found_by(objects), [wanted]);
    }

    #[rstest::rstest]
    #[case::matching(vec![group("w-0", 2)], &[])]
    #[case::another_size(vec![group("w-0", 1)], &[Mismatch::Differs])]
    #[case::one_too_many(vec![group("w-0", 2), group("another", 2)], &[Mismatch::Extra])]
    #[case::one_too_many_without_controller(vec![group("w-0", 2), uncontrolled("another")], &[Mismatch::Extra])]
    fn gang_resources_are_compared(#[case] groups: Vec<Value>, #[case] wanted: &[Mismatch]) {
        let objects = [vec![one_clique_gang("w", 2)], groups].concat();
        assert_eq!(found_by(objects), wanted);
    }

    #[test]
    fn a_gang_resource_of_a_canary_does_not_count() {
        let mut canary = group("canary-0", 1);
        assert!(is_gang_resource(&canary) && !is_gang_resource(&object("Pod", "p")));
        canary["metadata"]["labels"] = json!({names::CANARY: "true"});
        assert!(!is_gang_resource(&canary));
    }
}
