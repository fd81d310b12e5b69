//! Compares the end states of two PodCliqueSets with the same template (AON-13). Names, uids, times,
//! generations, condition messages, the progress of updates, and fields of other writers may differ.

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::clauses::Feature;
use conformance_contract::names;
use conformance_contract::ruling::Ruling;
use conformance_contract::target::Target;
use conformance_contract::violation::Code;
use conformance_expect::schedulers;
use conformance_history::{History, Live, controller, list, name, text};
use serde_json::{Map, Value, json};

use super::{Shown, none, violation};

const ENDED_WITH_OTHER_OBJECTS: Code = Code::new("ended-with-other-objects");
const ENDED_OTHERWISE: Code = Code::new("ended-in-other-state");

const MAY_DIFFER: &[&str] = &[
    "uid",
    "observedGeneration",
    "message",
    "clusterIP",
    "clusterIPs",
    "readyPodsSelectedToUpdate",
    "readyReplicaIndicesSelectedToUpdate",
];

const SET: &str = "SET";

/// Objects by normalized kind and name. Names that differ only in random parts share one entry.
type NormalizedObjects<'a> = BTreeMap<(String, String), Vec<(Value, &'a Value)>>;

/// Requires equal end states. Each pair is an entry of the history and the PodCliqueSet to compare there.
pub fn same(history: &History, reference: (usize, &str), other: (usize, &str)) -> Ruling {
    let target = history.header.target;
    let (then, now) = (history.before(reference.0), history.before(other.0));
    let (wanted, found) =
        (normalized_objects(&then, reference.1, target), normalized_objects(&now, other.1, target));
    let other = other.1;
    let keys: BTreeSet<_> = wanted.keys().chain(found.keys()).collect();
    none(keys.into_iter().filter_map(|key| {
        let (kind, name) = key;
        let (wanted, found) =
            (wanted.get(key).map_or(&[][..], Vec::as_slice), found.get(key).map_or(&[][..], Vec::as_slice));
        let counts = (wanted.len(), found.len());
        let name = name.replace(SET, other);
        if counts.0 != counts.1 {
            let found_now = format!(
                "{kind} {name} of PodCliqueSet {other} existed {} times at the end, want {}",
                counts.1, counts.0
            );
            return Some(found.iter().fold(violation(ENDED_WITH_OTHER_OBJECTS, found_now), |v, (_, raw)| {
                v.shown_by_object("at the end", raw)
            }));
        }
        wanted.iter().zip(found).find_map(|((wanted, _), (found, raw))| {
            let difference = first_difference("", wanted, found)?;
            Some(
                violation(
                    ENDED_OTHERWISE,
                    format!("{kind} {name} ended in another state than its reference: {difference}"),
                )
                .shown_by_object("at the end", raw),
            )
        })
    }))
}

pub fn size(live: &Live, set: &str) -> usize {
    objects(live, set).count()
}

pub fn objects<'a>(live: &'a Live, set: &str) -> impl Iterator<Item = &'a Value> {
    let children = format!("{set}-");
    live.all().filter(|object| object["kind"] != "Event").filter(move |object| {
        let name = name(object);
        name == set || name.starts_with(&children)
    })
}

fn normalized_objects<'a>(live: &'a Live, set: &str, target: Target) -> NormalizedObjects<'a> {
    let children = format!("{set}-");
    let renamed: Vec<_> = renamed_pods(live, &children).into_iter().chain(renamed_gangs(live, set)).collect();
    let mut normalized = NormalizedObjects::new();
    for object in objects(live, set) {
        let mut canonical = canonical(object, target);
        let rename = |text: &str| {
            let pods = renamed.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
            without_numbers(&pods.replace(set, SET))
        };
        each_text(&mut canonical, &rename);
        sort_references(&mut canonical);
        let key = (text(&object["kind"]).to_owned(), rename(name(object)));
        normalized.entry(key).or_default().push((canonical, object));
    }
    normalized
}

/// Replaces long numbers, which are random or timestamps.
fn without_numbers(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = rest[start..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len() - start, |end| end);
        kept.push_str(&rest[..start]);
        kept.push_str(if digits >= 12 { "#" } else { &rest[start..start + digits] });
        rest = &rest[start + digits..];
    }
    kept + rest
}

/// Renames PodGangs after their podgroups, because the operator chooses names. The longest names come first.
fn renamed_gangs(live: &Live, set: &str) -> Vec<(String, String)> {
    let of_set = live.of("PodGang").filter(|gang| controller(gang).is_some_and(|owner| owner["name"] == set));
    let podgroups = |gang: &Value| {
        let names: Vec<_> =
            list(&gang["spec"]["podgroups"]).iter().map(|podgroup| text(&podgroup["name"])).collect();
        names.join("+")
    };
    let mut renamed: Vec<_> = of_set
        .map(|gang| (text(&gang["metadata"]["name"]).to_owned(), format!("<{}>", podgroups(gang))))
        .collect();
    renamed.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    renamed
}

fn renamed_pods(live: &Live, children: &str) -> Vec<(String, String)> {
    let pods = live.pods().filter(|pod| pod.name().starts_with(children));
    pods.map(|pod| {
        let index = pod.label(names::POD_INDEX).unwrap_or("?");
        (pod.name().to_owned(), format!("{}-{index}", pod.pod_clique().unwrap_or_default()))
    })
    .collect()
}

fn canonical(object: &Value, target: Target) -> Value {
    let mut metadata = Map::new();
    for key in ["labels", "annotations", "finalizers", "ownerReferences"] {
        if !object["metadata"][key].is_null() {
            metadata.insert(key.to_owned(), object["metadata"][key].clone());
        }
    }
    let mut canonical = json!({"metadata": metadata, "spec": object["spec"]});
    let is_promised = object["kind"] != "PodGang" || target.declares(Feature::PodGangStatus);
    if text(&object["apiVersion"]).contains("grove.io/") && is_promised {
        canonical["status"] = object["status"].clone();
    }
    strip(&mut canonical, schedulers::of(target).own_keys());
    if let Some(metadata) = canonical["metadata"].as_object_mut() {
        // Drop annotations that are empty without the scheduler's own annotations.
        metadata.retain(|_, value| value.as_object().is_none_or(|fields| !fields.is_empty()));
    }
    canonical
}

fn strip(value: &mut Value, own_keys: &[&str]) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| {
                if own_keys.iter().any(|prefix| key.starts_with(prefix)) {
                    return false;
                }
                let is_time = key.ends_with("Time") || key.ends_with("At") || key.ends_with("Timestamp");
                !is_time && !MAY_DIFFER.contains(&key.as_str())
            });
            for (key, value) in fields.iter_mut() {
                if value.is_string() && (key.ends_with("Hash") || key.ends_with("-hash")) {
                    *value = "#".into();
                }
                strip(value, own_keys);
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| strip(item, own_keys));
            if items.iter().all(|item| item["type"].is_string()) {
                items.sort_by(|a, b| text(&a["type"]).cmp(text(&b["type"])));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Sorts podReferences again, because their order follows the random pod names.
fn sort_references(object: &mut Value) {
    for podgroup in object["spec"]["podgroups"].as_array_mut().into_iter().flatten() {
        if let Some(references) = podgroup["podReferences"].as_array_mut() {
            references.sort_by(|a, b| text(&a["name"]).cmp(text(&b["name"])));
        }
    }
}

fn each_text(value: &mut Value, change: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(fields) => fields.values_mut().for_each(|value| each_text(value, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn first_difference(path: &str, wanted: &Value, found: &Value) -> Option<String> {
    match (wanted, found) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<_> = a.keys().chain(b.keys()).collect();
            keys.into_iter()
                .find_map(|key| first_difference(&format!("{path}.{key}"), &wanted[key], &found[key]))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            (0..a.len()).find_map(|i| first_difference(&format!("{path}[{i}]"), &a[i], &b[i]))
        }
        _ => (wanted != found).then(|| format!("{path} is {found}, want {wanted}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance_contract::target::Target;
    use conformance_history::testing::Story;

    use crate::message;

    fn set(name: &str, suffix: &str) -> [Value; 4] {
        let clique = format!("{name}-0-a");
        let pod = format!("{clique}-{suffix}");
        [
            json!({"kind": "PodCliqueSet", "apiVersion": "grove.io/v1alpha1", "metadata": {"name": name, "generation": 1},
                   "spec": {"replicas": 1}, "status": {"availableReplicas": 1, "currentGenerationHash": suffix}}),
            json!({"kind": "PodClique", "apiVersion": "grove.io/v1alpha1", "metadata": {"name": clique},
                   "status": {"observedGeneration": suffix.len(), "conditions": [
                       {"type": "B", "status": "True", "message": suffix, "lastTransitionTime": suffix},
                       {"type": "A", "status": "True"}]}}),
            json!({"kind": "PodGang", "apiVersion": "scheduler.grove.io/v1alpha1", "metadata": {"name": format!("{name}-0")},
                   "spec": {"podgroups": [{"name": clique, "podReferences": [{"name": pod}]}]}}),
            json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": pod, "uid": suffix, "labels":
                       {names::POD_CLIQUE: clique, names::POD_INDEX: "0", "app.kubernetes.io/part-of": name}},
                   "spec": {"nodeName": "n"}, "status": {"podIP": suffix}}),
        ]
    }

    fn compare(change: impl FnOnce(&mut Vec<Value>)) -> Ruling {
        let mut other = set("crash-1", "zz9").to_vec();
        change(&mut other);
        let story = Story::flat().all_added(set("calm", "aaa")).all_added(other).end();
        let end = story.entries.len();
        same(&story, (end, "calm"), (end, "crash-1"))
    }

    #[test]
    fn names_times_and_order_do_not_matter() {
        let reversed = |objects: &mut Vec<Value>| {
            objects[1]["status"]["conditions"].as_array_mut().expect("conditions").reverse();
        };
        assert_eq!(compare(reversed), Ok(()));
        assert_eq!(size(&Story::flat().all_added(set("calm", "aaa")).end().end(), "calm"), 4);
    }

    #[rstest::rstest]
    #[case::by_the_scheduler("scheduling.koordinator.sh/device-allocated", true)]
    #[case::by_others("example.com/noted", false)]
    fn only_the_schedulers_own_annotations_may_differ(#[case] key: &str, #[case] may_differ: bool) {
        let mut other = set("crash-1", "zz9").to_vec();
        other[3]["metadata"]["annotations"] = json!({ key: "noted" });
        let story = Story::on(Target::KOORDINATOR).all_added(set("calm", "aaa")).all_added(other).end();
        let end = story.entries.len();
        assert_eq!(same(&story, (end, "calm"), (end, "crash-1")).is_ok(), may_differ);
    }

    #[test]
    fn objects_of_a_pod_clique_set_with_a_longer_name_do_not_count() {
        let tenth = set("crash-10", "abc").to_vec();
        assert_eq!(compare(|objects| objects.extend(tenth)), Ok(()));
    }

    #[rstest::rstest]
    #[case::missing(
        |o: &mut Vec<Value>| drop(o.pop()),
        "Pod crash-1-0-a-0 of PodCliqueSet crash-1 existed 0 times at the end, want 1"
    )]
    #[case::twice(
        |o: &mut Vec<Value>| { let mut twin = o[3].clone(); twin["metadata"]["name"] = "crash-1-0-a-twin".into(); o.push(twin) },
        "Pod crash-1-0-a-0 of PodCliqueSet crash-1 existed 2 times at the end, want 1"
    )]
    #[case::status(
        |o: &mut Vec<Value>| o[0]["status"]["availableReplicas"] = 0.into(),
        "PodCliqueSet crash-1 ended in another state than its reference: .status.availableReplicas is 0, \
         want 1"
    )]
    #[case::condition(
        |o: &mut Vec<Value>| o[1]["status"]["conditions"][1]["status"] = "False".into(),
        "PodClique crash-1-0-a ended in another state than its reference: .status.conditions[0].status is \
         \"False\", want \"True\""
    )]
    #[case::reference(
        |o: &mut Vec<Value>| o[2]["spec"]["podgroups"][0]["podReferences"] = json!([]),
        "PodGang crash-1-0 ended in another state than its reference: .spec.podgroups[0].podReferences is \
         [], want [{\"name\":\"SET-0-a-0\"}]"
    )]
    #[case::unbound(
        |o: &mut Vec<Value>| o[3]["spec"]["nodeName"] = Value::Null,
        "Pod crash-1-0-a-0 ended in another state than its reference: .spec.nodeName is null, want \"n\""
    )]
    fn a_difference_is_a_violation(#[case] change: fn(&mut Vec<Value>), #[case] expected: &str) {
        assert_eq!(message(compare(change)), expected);
    }
}
