//! Remnants of the old PodGangs after an upgrade of the operator. Releases name PodGangs differently, so
//! PodGangs are identified by their podgroups, which have the names of PodCliques.

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::kinds::KINDS;
use conformance_contract::names;
use conformance_expect::{Gang, schedulers};
use conformance_history::{
    History, Live, Pod, controller, counted_pods, is_of_canary, list, name, owners, text,
};
use serde_json::Value;

use crate::deviation::Deviation;
use crate::health::is_ready;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    InTwoGangs,
    OldGangLeft,
    /// A pod is in no PodGang, or in a different PodGang than its label names.
    InNoGang,
    JoinsNothing,
    NoOwner,
    /// A gang does not have exactly one PodGang.
    OtherGangs,
    /// A PodClique does not have exactly its expected pods, all bound and Ready.
    OtherPods,
}

type Faulty<'a> = Deviation<'a, Fault>;

/// Returns everything that violates one of these rules:
///
/// - Each PodClique is in one existing PodGang.
/// - The PodGang that a pod's label names lists the pod.
/// - Each object that Grove or the backend created has an existing owner.
pub fn remnants<'a>(history: &History, live: &'a Live) -> Vec<Faulty<'a>> {
    let mut found = Vec::new();
    let mut gang_of_clique: BTreeMap<&str, &Value> = BTreeMap::new();
    for gang in pod_gangs(live) {
        for clique in cliques_of(gang) {
            if let Some(other) = gang_of_clique.insert(clique, gang) {
                let message =
                    format!("PodClique {clique} is in two PodGangs: {} and {}", name(other), name(gang));
                let fault = Deviation::new(Fault::InTwoGangs, message);
                found.push(fault.shown_by("one", other).shown_by("another", gang));
            }
            if live.get("PodClique", clique).is_none() {
                let message =
                    format!("PodGang {} still exists, but its PodClique {clique} does not", name(gang));
                found.push(Deviation::new(Fault::OldGangLeft, message).shown_by("still exists", gang));
            }
        }
    }
    let expectations = schedulers::of(history.header.target);
    let resources = expectations.kinds();
    let members = live.pods().filter(|pod| pod.pod_clique().is_some() && !pod.is_terminating());
    for pod in members {
        found.extend(unlisted(live, pod));
        if let Some((kind, group)) = resources.last().zip(expectations.named_by(pod))
            && live.get(kind, group).is_none()
        {
            let message = format!("Pod {} is a member of {kind} {group}, which does not exist", pod.name());
            found.push(Deviation::new(Fault::JoinsNothing, message).shown_by("observed", pod.0));
        }
    }
    let owned = ["PodGang", "PodClique", "PodCliqueScalingGroup"].iter().chain(resources);
    let owned = owned.flat_map(|kind| live.of(kind)).filter(|object| !is_of_canary(object));
    let uids: BTreeSet<&str> = live.all().map(|object| text(&object["metadata"]["uid"])).collect();
    found.extend(owned.filter_map(|object| without_owner(object, &uids)));
    found
}

pub fn migrating(live: &Live) -> impl Iterator<Item = Deviation<'_>> {
    live.all().flat_map(|object| {
        let conditions = list(&object["status"]["conditions"]).iter();
        let migrating =
            conditions.filter(|is| is["status"] == "True" && text(&is["type"]).contains("Migrat"));
        migrating.map(move |condition| {
            let (kind, name) = (text(&object["kind"]), name(object));
            let message = format!("{kind} {name}: condition {} is still True", condition["type"]);
            Deviation::new((), message).shown_by("observed", object)
        })
    })
}

/// Returns what differs from `gangs`: exactly the expected pods must exist, be listed, bound and Ready.
pub fn differences<'a>(live: &'a Live, set: &str, gangs: &[Gang]) -> Vec<Faulty<'a>> {
    let mut found = Vec::new();
    for gang in gangs {
        let wanted: BTreeSet<&str> = gang.groups.iter().map(|group| group.clique.as_str()).collect();
        let same = pod_gangs(live).filter(|found| cliques_of(found).collect::<BTreeSet<_>>() == wanted);
        let same = same.count();
        if same != 1 {
            let cliques = wanted.into_iter().collect::<Vec<_>>().join(", ");
            let message = format!("{same} PodGangs consist of exactly {cliques}, want 1");
            found.push(Deviation::new(Fault::OtherGangs, message));
        }
    }
    let groups: BTreeMap<&str, usize> = gangs
        .iter()
        .flat_map(|gang| &gang.groups)
        .map(|group| (group.clique.as_str(), group.replicas))
        .collect();
    let of_set = |pod: &Pod<'_>| pod.label(names::PART_OF) == Some(set);
    let mut pods: BTreeMap<&str, (usize, usize)> = groups.keys().map(|clique| (*clique, (0, 0))).collect();
    for pod in live.pods().filter(of_set) {
        let counts = pods.entry(pod.pod_clique().unwrap_or_default()).or_default();
        counts.0 += 1;
        counts.1 += usize::from(is_ready(pod));
        found.extend(unlisted(live, pod));
    }
    for (clique, (all, ready)) in pods {
        let wanted = groups.get(clique).copied().unwrap_or_default();
        if (all, ready) != (wanted, wanted) {
            let pods = counted_pods(all);
            let message =
                format!("PodClique {clique} has {pods}, {ready} of them bound and Ready, want {wanted}");
            found.push(Deviation::new(Fault::OtherPods, message));
        }
    }
    found
}

fn unlisted<'a>(live: &Live, pod: Pod<'a>) -> Option<Faulty<'a>> {
    let label = pod.pod_gang();
    let gang = label.and_then(|label| live.get("PodGang", label));
    let refers = |gang: &Value| {
        let references =
            list(&gang["spec"]["podgroups"]).iter().flat_map(|group| list(&group["podReferences"]));
        references.into_iter().any(|reference| reference["name"] == pod.name())
    };
    let wrong = match (label, gang) {
        (None, _) => "names no PodGang".to_owned(),
        (Some(label), None) => format!("names PodGang {label}, which does not exist"),
        (Some(label), Some(gang)) if !refers(gang) => {
            format!("names PodGang {label}, which does not list it")
        }
        _ => return None,
    };
    let message = format!("Pod {} {wrong}", pod.name());
    Some(Deviation::new(Fault::InNoGang, message).shown_by("observed", pod.0))
}

fn without_owner<'a>(object: &'a Value, uids: &BTreeSet<&str>) -> Option<Faulty<'a>> {
    let what = format!("{} {}", text(&object["kind"]), name(object));
    let message = match controller(object).or_else(|| owners(object).first()) {
        None => format!("{what} has no owner reference"),
        Some(owner) => {
            // Skip owners of other kinds, because a history does not contain them.
            let is_watched = KINDS.iter().any(|kind| owner["kind"] == kind.kind());
            let exists = uids.contains(text(&owner["uid"]));
            if exists || !is_watched {
                return None;
            }
            format!(
                "{what} still exists, but its owner {} {} does not",
                text(&owner["kind"]),
                text(&owner["name"])
            )
        }
    };
    Some(Deviation::new(Fault::NoOwner, message).shown_by("observed", object))
}

fn pod_gangs(live: &Live) -> impl Iterator<Item = &Value> {
    live.of("PodGang").filter(|gang| !is_of_canary(gang))
}

fn cliques_of(gang: &Value) -> impl Iterator<Item = &str> {
    list(&gang["spec"]["podgroups"]).iter().map(|podgroup| text(&podgroup["name"]))
}

#[cfg(test)]
mod tests {
    use conformance_expect as expect;
    use conformance_history::testing::{Story, object, one_clique, owned, worker};
    use serde_json::json;

    use super::*;

    fn complete_set() -> Vec<Value> {
        let references = json!([{"name": "w-0-worker-0"}, {"name": "w-0-worker-1"}]);
        let mut gang = owned(object("PodGang", "w-0"), "PodCliqueSet", "w");
        gang["spec"]["podgroups"] = json!([{"name": "w-0-worker", "podReferences": references}]);
        let pods = [0, 1].map(|index| {
            let mut pod = worker("w", index, Some("n"));
            pod["spec"]["schedulingGroup"] = json!({"podGroupName": "w-0-g"});
            pod["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
            pod
        });
        let clique = owned(object("PodClique", "w-0-worker"), "PodCliqueSet", "w");
        let group = owned(object("PodGroup", "w-0-g"), "PodGang", "w-0");
        [vec![one_clique("w", 2), clique, gang, group], pods.to_vec()].concat()
    }

    fn kinds(objects: Vec<Value>) -> (Vec<Fault>, Vec<Fault>) {
        let history = Story::flat().all_added(objects).end();
        let (live, gangs) = (history.end(), expect::gangs(&one_clique("w", 2)));
        let kinds = |all: Vec<Faulty<'_>>| all.into_iter().map(|fault| fault.kind).collect();
        (kinds(remnants(&history, &live)), kinds(differences(&live, "w", &gangs)))
    }

    #[test]
    fn a_complete_pod_clique_set_has_no_faults() {
        assert_eq!(kinds(complete_set()), (vec![], vec![]));
    }

    type Change = fn(&mut Vec<Value>);

    #[rstest::rstest]
    #[case::two_gangs(
        |all: &mut Vec<Value>| {
            let mut other = all[2].clone();
            other["metadata"]["name"] = "w-1".into();
            all.push(other);
        },
        &[Fault::InTwoGangs],
        &[Fault::OtherGangs]
    )]
    #[case::gang_of_a_missing_clique(
        |all: &mut Vec<Value>| all[2]["spec"]["podgroups"][0]["name"] = "v-0-worker".into(),
        &[Fault::OldGangLeft],
        &[Fault::OtherGangs]
    )]
    #[case::not_listed(
        |all: &mut Vec<Value>| all[2]["spec"]["podgroups"][0]["podReferences"][0]["name"] = "p".into(),
        &[Fault::InNoGang],
        &[Fault::InNoGang]
    )]
    #[case::no_group(
        |all: &mut Vec<Value>| drop(all.remove(3)),
        &[Fault::JoinsNothing, Fault::JoinsNothing],
        &[]
    )]
    #[case::no_owner(
        |all: &mut Vec<Value>| all[3]["metadata"]["ownerReferences"] = Value::Null,
        &[Fault::NoOwner],
        &[]
    )]
    #[case::not_ready(
        |all: &mut Vec<Value>| all[4]["status"] = Value::Null,
        &[],
        &[Fault::OtherPods]
    )]
    fn one_change_causes_its_fault(#[case] change: Change, #[case] left: &[Fault], #[case] other: &[Fault]) {
        let mut all = complete_set();
        change(&mut all);
        assert_eq!(kinds(all), (left.to_vec(), other.to_vec()));
    }

    #[test]
    fn a_migration_lasts_until_its_condition_is_false() {
        let count = |status: &str| {
            let mut set = one_clique("w", 2);
            set["status"]["conditions"] = json!([{"type": "PodGangMigrationInProgress", "status": status}]);
            migrating(&Story::flat().added(set).end().end()).count()
        };
        assert_eq!((count("True"), count("False")), (1, 0));
    }
}
