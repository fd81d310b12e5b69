//! Finds the fields in which a pod differs from a pod that fits a template.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Fields that must be compared together, because the API server derives a pod's requests from containers.
const TOGETHER: [&str; 3] = ["containers", "initContainers", "resources"];

/// Returns the parts of the pod and of the clique to compare. All other fields equal those of `known`, so the
/// pod fits the clique if `known` does and these parts match. `None`: the whole pod must be compared.
pub(super) fn parts(known: &Value, pod: &Value, clique: &Value) -> Option<(Value, Value)> {
    let (before, after) = (known["spec"].as_object()?, pod["spec"].as_object()?);
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed: Vec<&String> =
        names.into_iter().filter(|name| before.get(*name) != after.get(*name)).collect();
    if changed.iter().any(|name| TOGETHER.contains(&name.as_str())) {
        return None;
    }
    let only_changed = |spec: &Value| {
        let mut part = Map::new();
        for name in &changed {
            if let Some(value) = spec.get(name.as_str()) {
                part.insert((*name).clone(), value.clone());
            }
        }
        part
    };
    let mut of_clique = json!({"spec": {"podSpec": only_changed(&clique["spec"]["podSpec"])}});
    let mut of_pod = json!({"spec": only_changed(&pod["spec"])});
    for field in ["labels", "annotations"] {
        if known["metadata"][field] != pod["metadata"][field] {
            of_clique[field] = clique[field].clone();
            of_pod["metadata"][field] = pod["metadata"][field].clone();
        }
    }
    Some((of_clique, of_pod))
}

#[cfg(test)]
mod tests {

    use super::*;

    fn pod() -> Value {
        json!({
            "metadata": {"labels": {"team": "t"}, "annotations": {"note": "n"}},
            "spec": {"containers": [{"name": "a"}], "dnsPolicy": "Default", "schedulingGates": [{"name": "g"}]},
        })
    }

    fn clique() -> Value {
        let pod = json!({"containers": [{"name": "a"}], "dnsPolicy": "Default"});
        json!({"name": "c", "labels": {"team": "t"}, "annotations": {"note": "n"}, "spec": {"podSpec": pod}})
    }

    #[rstest::rstest]
    #[case::bound("/spec/nodeName", json!("n"), json!({"spec": {"podSpec": {}}}), json!({"spec": {"nodeName": "n"}}))]
    #[case::changed(
        "/spec/dnsPolicy", json!("None"),
        json!({"spec": {"podSpec": {"dnsPolicy": "Default"}}}), json!({"spec": {"dnsPolicy": "None"}})
    )]
    #[case::label(
        "/metadata/labels", json!({}), json!({"labels": {"team": "t"}, "spec": {"podSpec": {}}}),
        json!({"metadata": {"labels": {}}, "spec": {}})
    )]
    fn only_changed_fields_are_compared(
        #[case] at: &str,
        #[case] value: Value,
        #[case] of_clique: Value,
        #[case] of_pod: Value,
    ) {
        let mut later = pod();
        let (parent, field) = at.rsplit_once('/').unwrap();
        later.pointer_mut(parent).unwrap()[field] = value;
        assert_eq!(parts(&pod(), &later, &clique()), Some((of_clique, of_pod)));
    }

    #[test]
    fn a_removed_field_is_compared_too() {
        let mut later = pod();
        later["spec"].as_object_mut().unwrap().remove("dnsPolicy");
        let of_clique = json!({"spec": {"podSpec": {"dnsPolicy": "Default"}}});
        assert_eq!(parts(&pod(), &later, &clique()), Some((of_clique, json!({"spec": {}}))));
    }

    #[test]
    fn a_pod_with_other_containers_is_compared_as_a_whole() {
        let mut later = pod();
        later["spec"]["containers"][0]["image"] = json!("i");
        assert_eq!(parts(&pod(), &later, &clique()), None);
    }
}
