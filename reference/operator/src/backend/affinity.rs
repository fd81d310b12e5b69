//! Required node affinity of a pod, in JSON. Its terms are alternatives, so an additional requirement must be
//! added to each term. The API server allows no other change of a gated pod's affinity.

use k8s_openapi::api::core::v1::{Affinity, NodeSelectorRequirement, NodeSelectorTerm};
use serde_json::{Map, Value, json};

pub(crate) fn exists(key: &str) -> NodeSelectorRequirement {
    NodeSelectorRequirement { key: key.to_owned(), operator: "Exists".to_owned(), values: None }
}

pub(crate) fn in_domain(key: &str, domain: &str) -> NodeSelectorRequirement {
    let values = Some(vec![domain.to_owned()]);
    NodeSelectorRequirement { key: key.to_owned(), operator: "In".to_owned(), values }
}

pub(crate) fn require(
    pod_spec: &mut Map<String, Value>,
    requirement: &NodeSelectorRequirement,
) -> serde_json::Result<()> {
    let affinity =
        pod_spec.get("affinity").cloned().map(serde_json::from_value::<Option<Affinity>>).transpose()?;
    let affinity = affinity.flatten().unwrap_or_default();
    pod_spec
        .insert("affinity".to_owned(), json!(with_requirements(affinity, std::slice::from_ref(requirement))));
    Ok(())
}

pub(crate) fn with_requirements(
    mut affinity: Affinity,
    requirements: &[NodeSelectorRequirement],
) -> Affinity {
    let node_affinity = affinity.node_affinity.get_or_insert_default();
    let required = node_affinity.required_during_scheduling_ignored_during_execution.get_or_insert_default();
    if required.node_selector_terms.is_empty() {
        required.node_selector_terms.push(NodeSelectorTerm::default());
    }
    for term in &mut required.node_selector_terms {
        term.match_expressions.get_or_insert_default().extend_from_slice(requirements);
    }
    affinity
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(spec: &Value) -> &Value {
        &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    }

    #[test]
    fn a_requirement_goes_into_every_alternative() {
        let mut spec = json!({"affinity": {
            "podAffinity": {},
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]},
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
            ]}},
        }});
        require(spec.as_object_mut().unwrap(), &exists("rack")).unwrap();
        assert_eq!(spec["affinity"]["podAffinity"], json!({}), "the rest is kept");
        assert_eq!(
            terms(&spec),
            &json!([
                {"matchExpressions": [{"key": "gpu", "operator": "Exists"}, {"key": "rack", "operator": "Exists"}]},
                {"matchExpressions": [{"key": "rack", "operator": "Exists"}],
                 "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
            ])
        );
    }

    #[test]
    fn a_pod_without_affinity_gets_one_term() {
        let mut spec = json!({});
        require(spec.as_object_mut().unwrap(), &in_domain("rack", "r1")).unwrap();
        let domain = json!({"key": "rack", "operator": "In", "values": ["r1"]});
        assert_eq!(terms(&spec), &json!([{"matchExpressions": [domain]}]));
    }
}
