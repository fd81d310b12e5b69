//! nodeSelector, required node affinity and tolerations, as kube-scheduler evaluates them.

use std::collections::BTreeSet;

use conformance_facts::requests::{Amounts, amounts};
use conformance_history::{list, text};
use serde_json::Value;

use super::Misfit;
use super::pods::Shape;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

#[derive(Debug)]
pub(super) struct Node<'a> {
    object: &'a Value,
    pub(super) allocatable: Amounts<'a>,
}

impl<'a> Node<'a> {
    pub(super) fn of(object: &'a Value) -> Self {
        Self { object, allocatable: amounts(&object["status"]["allocatable"]) }
    }

    pub(super) fn label(&self, key: &str) -> Option<&'a str> {
        self.object["metadata"]["labels"][key].as_str()
    }

    fn label_keys(&self) -> impl Iterator<Item = &'a str> {
        self.object["metadata"]["labels"].as_object().into_iter().flatten().map(|(key, _)| key.as_str())
    }

    fn name(&self) -> &'a str {
        text(&self.object["metadata"]["name"])
    }

    fn taints(&self) -> impl Iterator<Item = &'a Value> {
        let taints = list(&self.object["spec"]["taints"]).iter();
        taints.filter(|taint| taint["effect"] == "NoSchedule" || taint["effect"] == "NoExecute")
    }
}

/// Returns for each node whether the pods may run on it, or the field that excluded the last node.
pub(super) fn allowed(shape: &Shape<'_>, nodes: &[Node<'_>]) -> Result<Vec<bool>, Misfit> {
    let mut left: Vec<usize> = (0..nodes.len()).collect();
    let selector = shape.spec["nodeSelector"].as_object().into_iter().flatten();
    // The schema refuses other values, such as `yes` without quotes.
    let selector = selector.filter_map(|(key, wanted)| Some((key, wanted.as_str()?)));
    for (key, wanted) in selector {
        left.retain(|node| nodes[*node].label(key) == Some(wanted));
        if left.is_empty() {
            return Err(Misfit {
                path: format!("{}.nodeSelector[{key:?}]", shape.path),
                asks: format!("PodClique {} selects nodes with label {key}={wanted}", shape.clique),
                has: with_label(nodes, key),
                remedy: "remove the selector, or pass --nodes FILE with the label".into(),
            });
        }
    }
    let affinity = &shape.spec["affinity"]["nodeAffinity"][REQUIRED];
    if affinity.is_object() {
        let terms = list(&affinity["nodeSelectorTerms"]);
        left.retain(|node| terms.iter().any(|term| matches_term(term, &nodes[*node])));
        if left.is_empty() {
            let requirements = terms.iter().flat_map(|term| list(&term["matchExpressions"]));
            let keys: BTreeSet<_> = requirements.map(|requirement| text(&requirement["key"])).collect();
            let has: Vec<_> = keys.into_iter().map(|key| with_label(nodes, key)).collect();
            return Err(Misfit {
                path: format!("{}.affinity.nodeAffinity.{REQUIRED}", shape.path),
                asks: format!("PodClique {} requires nodes that match its nodeAffinity", shape.clique),
                has: if has.is_empty() { "no node matches".into() } else { has.join(", ") },
                remedy: "remove the affinity, or pass --nodes FILE with the labels".into(),
            });
        }
    }
    let tolerations = list(&shape.spec["tolerations"]);
    let untolerated = |node: &Node<'_>| {
        node.taints()
            .find(|taint| !tolerations.iter().any(|toleration| tolerates(toleration, taint)))
            .cloned()
    };
    let taint = left.first().and_then(|node| untolerated(&nodes[*node]));
    left.retain(|node| untolerated(&nodes[*node]).is_none());
    match taint {
        Some(taint) if left.is_empty() => {
            let (key, value, effect) = (text(&taint["key"]), text(&taint["value"]), text(&taint["effect"]));
            Err(Misfit {
                path: format!("{}.tolerations", shape.path),
                asks: format!("PodClique {} does not tolerate the taints of any node", shape.clique),
                has: format!("a node has the taint {key}={value}:{effect}"),
                remedy: "add a toleration".into(),
            })
        }
        _ => Ok((0..nodes.len()).map(|node| left.contains(&node)).collect()),
    }
}

fn with_label(nodes: &[Node<'_>], key: &str) -> String {
    let values: BTreeSet<_> = nodes.iter().filter_map(|node| node.label(key)).collect();
    if !values.is_empty() {
        let more = if values.len() > 3 { ", …" } else { "" };
        let first: Vec<_> = values.into_iter().take(3).collect();
        return format!("the nodes have {key}={}{more}", first.join(", "));
    }
    let keys: BTreeSet<_> = nodes.iter().flat_map(Node::label_keys).collect();
    let keys: Vec<_> = keys.into_iter().collect();
    format!("no node has label {key}, only {}", keys.join(", "))
}

/// A term without requirements matches no node.
fn matches_term(term: &Value, node: &Node<'_>) -> bool {
    let (expressions, fields) = (list(&term["matchExpressions"]), list(&term["matchFields"]));
    (!expressions.is_empty() || !fields.is_empty())
        && expressions.iter().all(|requirement| matches(requirement, node.label(text(&requirement["key"]))))
        && fields.iter().all(|requirement| {
            requirement["key"] == "metadata.name" && matches(requirement, Some(node.name()))
        })
}

fn matches(requirement: &Value, found: Option<&str>) -> bool {
    let values = list(&requirement["values"]);
    let is_listed = found.is_some_and(|found| values.iter().any(|value| value == found));
    let number = |text: &str| text.parse::<i64>().ok();
    let bounds = || Some((number(found?)?, number(values.first()?.as_str()?)?));
    match text(&requirement["operator"]) {
        "In" => is_listed,
        "NotIn" => !is_listed,
        "Exists" => found.is_some(),
        "DoesNotExist" => found.is_none(),
        "Gt" => bounds().is_some_and(|(found, bound)| found > bound),
        "Lt" => bounds().is_some_and(|(found, bound)| found < bound),
        _ => false,
    }
}

fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let is_any = |field: &str| text(&toleration[field]).is_empty();
    let is_same = |field: &str| text(&toleration[field]) == text(&taint[field]);
    let exists = toleration["operator"] == "Exists";
    let has_key = is_same("key") || (is_any("key") && exists);
    let has_value = exists || ((is_any("operator") || toleration["operator"] == "Equal") && is_same("value"));
    (is_any("effect") || is_same("effect")) && has_key && has_value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::feasibility::pods::shapes;

    fn is_allowed(pod_spec: Value, node: Value) -> Result<bool, Misfit> {
        let pcs = json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
            "cliques": [{"name": "a", "spec": {"podSpec": pod_spec}}]}}});
        let gangs = conformance_expect::gangs(&pcs);
        let shapes = shapes(&pcs, &gangs);
        allowed(&shapes[0], &[Node::of(&node)]).map(|allowed| allowed[0])
    }

    fn labelled(labels: Value) -> Value {
        json!({"metadata": {"name": "n", "labels": labels}})
    }

    fn requires(requirement: Value) -> Value {
        affinity(json!([{"matchExpressions": [requirement]}]))
    }

    fn affinity(terms: Value) -> Value {
        json!({"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}})
    }

    #[rstest::rstest]
    #[case::selected(json!({"nodeSelector": {"gpu": "h100"}}), true)]
    #[case::other_value(json!({"nodeSelector": {"gpu": "a100"}}), false)]
    #[case::other_label(json!({"nodeSelector": {"zone": "z"}}), false)]
    #[case::in_values(requires(json!({"key": "gpu", "operator": "In", "values": ["a100", "h100"]})), true)]
    #[case::in_other_values(requires(json!({"key": "gpu", "operator": "In", "values": ["a100"]})), false)]
    #[case::in_without_label(requires(json!({"key": "zone", "operator": "In", "values": ["z"]})), false)]
    #[case::not_in(requires(json!({"key": "gpu", "operator": "NotIn", "values": ["a100"]})), true)]
    #[case::not_in_its_value(requires(json!({"key": "gpu", "operator": "NotIn", "values": ["h100"]})), false)]
    #[case::not_in_without_label(requires(json!({"key": "zone", "operator": "NotIn", "values": ["z"]})), true)]
    #[case::exists(requires(json!({"key": "gpu", "operator": "Exists"})), true)]
    #[case::exists_not(requires(json!({"key": "zone", "operator": "Exists"})), false)]
    #[case::absent(requires(json!({"key": "zone", "operator": "DoesNotExist"})), true)]
    #[case::present(requires(json!({"key": "gpu", "operator": "DoesNotExist"})), false)]
    #[case::greater(requires(json!({"key": "size", "operator": "Gt", "values": ["7"]})), true)]
    #[case::not_greater(requires(json!({"key": "size", "operator": "Gt", "values": ["8"]})), false)]
    #[case::less(requires(json!({"key": "size", "operator": "Lt", "values": ["9"]})), true)]
    #[case::not_less(requires(json!({"key": "size", "operator": "Lt", "values": ["8"]})), false)]
    #[case::greater_than_a_word(requires(json!({"key": "gpu", "operator": "Gt", "values": ["8"]})), false)]
    #[case::one_of_two_terms(
        affinity(json!([{"matchExpressions": [{"key": "zone", "operator": "Exists"}]},
            {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}])),
        true
    )]
    #[case::one_of_two_requirements(
        affinity(json!([{"matchExpressions": [{"key": "zone", "operator": "Exists"}, {"key": "gpu", "operator": "Exists"}]}])),
        false
    )]
    #[case::by_name(
        affinity(json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}])), true
    )]
    #[case::by_another_name(
        affinity(json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["m"]}]}])), false
    )]
    #[case::empty_term(affinity(json!([{}])), false)]
    #[case::no_terms(affinity(json!([])), false)]
    #[case::nothing(json!({}), true)]
    fn labels_allow_a_pod(#[case] pod_spec: Value, #[case] wanted: bool) {
        let node = labelled(json!({"gpu": "h100", "size": "8"}));
        assert_eq!(is_allowed(pod_spec, node).is_ok(), wanted);
    }

    #[rstest::rstest]
    #[case::none(json!([]), false)]
    #[case::equal(json!([{"key": "team", "value": "blue", "effect": "NoSchedule"}]), true)]
    #[case::operator(json!([{"key": "team", "operator": "Equal", "value": "blue"}]), true)]
    #[case::other_value(json!([{"key": "team", "value": "red"}]), false)]
    #[case::other_key(json!([{"key": "owner", "value": "blue"}]), false)]
    #[case::other_effect(json!([{"key": "team", "value": "blue", "effect": "NoExecute"}]), false)]
    #[case::exists(json!([{"key": "team", "operator": "Exists"}]), true)]
    #[case::everything(json!([{"operator": "Exists"}]), true)]
    #[case::everything_of_another_effect(json!([{"operator": "Exists", "effect": "NoExecute"}]), false)]
    #[case::no_key_without_exists(json!([{"value": "blue"}]), false)]
    fn taints_need_tolerations(#[case] tolerations: Value, #[case] wanted: bool) {
        let mut node = labelled(json!({}));
        node["spec"]["taints"] = json!([
            {"key": "team", "value": "blue", "effect": "NoSchedule"},
            {"key": "slow", "effect": "PreferNoSchedule"},
        ]);
        assert_eq!(is_allowed(json!({"tolerations": tolerations}), node).is_ok(), wanted);
    }

    #[test]
    fn a_misfit_names_the_field_and_the_labels_of_the_nodes() {
        let node = || labelled(json!({"gpu": "h100"}));
        let message =
            |selector: Value| is_allowed(json!({"nodeSelector": selector}), node()).unwrap_err().to_string();
        assert_eq!(
            message(json!({"gpu": "a100"})),
            "spec.template.cliques[0].spec.podSpec.nodeSelector[\"gpu\"]: PodClique w-0-a selects nodes with label \
             gpu=a100, and the nodes have gpu=h100: remove the selector, or pass --nodes FILE with the label"
        );
        assert!(message(json!({"zone": "z"})).contains("no node has label zone, only gpu"));
    }
}
