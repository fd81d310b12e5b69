//! Rewrites the node selectors of a user's workload that name racks or blocks. The suite prefixes the names
//! of a case's racks and blocks with the case's namespace, so the selectors need the same prefix.

use conformance_contract::names::{BLOCK, RACK};
use conformance_driver::context::domain;
use conformance_history::text;
use serde_json::Value;

/// Stands for the namespace of the case, which is not known before the case runs.
pub(crate) const ANY_NAMESPACE: &str = "<namespace>";

pub(crate) fn in_domains_of(namespace: &str, mut pcs: Value) -> Value {
    let cliques = pcs.pointer_mut("/spec/template/cliques").and_then(Value::as_array_mut);
    for clique in cliques.into_iter().flatten() {
        if let Some(pod) = clique.pointer_mut("/spec/podSpec") {
            select(namespace, pod);
        }
    }
    pcs
}

fn select(namespace: &str, pod: &mut Value) {
    for key in [RACK, BLOCK] {
        if let Some(value) = pod.get_mut("nodeSelector").and_then(|selector| selector.get_mut(key)) {
            rename(namespace, value);
        }
    }
    let Some(affinity) = pod.pointer_mut("/affinity/nodeAffinity") else { return };
    let required = "/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    terms(namespace, affinity.pointer_mut(required));
    let preferred = affinity.get_mut("preferredDuringSchedulingIgnoredDuringExecution");
    for weighted in preferred.and_then(Value::as_array_mut).into_iter().flatten() {
        term(namespace, weighted.get_mut("preference"));
    }
}

fn terms(namespace: &str, terms: Option<&mut Value>) {
    for one in terms.and_then(Value::as_array_mut).into_iter().flatten() {
        term(namespace, Some(one));
    }
}

fn term(namespace: &str, term: Option<&mut Value>) {
    let requirements = term.and_then(|term| term.get_mut("matchExpressions")).and_then(Value::as_array_mut);
    for requirement in requirements.into_iter().flatten() {
        if ![RACK, BLOCK].contains(&text(&requirement["key"])) {
            continue;
        }
        let values = requirement.get_mut("values").and_then(Value::as_array_mut);
        values.into_iter().flatten().for_each(|value| rename(namespace, value));
    }
}

fn rename(namespace: &str, value: &mut Value) {
    if let Some(short) = value.as_str().filter(|short| !short.is_empty()) {
        *value = domain(namespace, short).into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_of_racks_and_blocks_get_the_namespace() {
        let affinity = |value: &str| {
            json!({"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [
                    {"key": BLOCK, "operator": "NotIn", "values": [value]},
                    {"key": "zone", "operator": "In", "values": ["z"]},
                    {"key": RACK, "operator": "Exists"},
                ]}]},
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference":
                    {"matchExpressions": [{"key": BLOCK, "operator": "In", "values": [value]}]}}],
            }})
        };
        let pcs = |rack: &str, block: &str| {
            let selector = json!({(RACK): rack, "zone": "z"});
            let pod = json!({"nodeSelector": selector, "affinity": affinity(block)});
            json!({"spec": {"template": {"cliques": [{"spec": {"podSpec": pod}}, {"spec": {"podSpec": {}}}]}}})
        };
        assert_eq!(in_domains_of("ns", pcs("r", "b")), pcs("ns-r", "ns-b"));
        assert_eq!(in_domains_of("ns", pcs("", "")), pcs("", ""));
    }
}
