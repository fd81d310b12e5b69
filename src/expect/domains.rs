use std::collections::BTreeSet;

use conformance_contract::names;
use serde_json::Value;

/// The levels of the topology that all cases share, widest first: domain, and key of the node label.
pub const LEVELS: [(&str, &str); 3] = [("block", names::BLOCK), ("rack", names::RACK), ("host", names::HOST)];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain<'a> {
    pub key: &'static str,
    pub value: &'a str,
    pub nodes: BTreeSet<&'a str>,
}

/// The domains of the nodes, widest level first. Nodes with an absent or empty label are left out.
pub fn domains<'a>(nodes: impl IntoIterator<Item = &'a Value>) -> Vec<Domain<'a>> {
    let label = |node: &'a Value, key: &str| {
        node["metadata"]["labels"][key].as_str().filter(|value| !value.is_empty())
    };
    let has_all_levels = |node: &&'a Value| LEVELS.iter().all(|(_, key)| label(node, key).is_some());
    let nodes: Vec<&Value> = nodes.into_iter().filter(has_all_levels).collect();
    let of_level = |key: &'static str| {
        let values: BTreeSet<&str> = nodes.iter().filter_map(|node| label(node, key)).collect();
        let nodes = &nodes;
        values.into_iter().map(move |value| {
            let inside = nodes.iter().filter(|node| label(node, key) == Some(value));
            let nodes = inside.filter_map(|node| node["metadata"]["name"].as_str()).collect();
            Domain { key, value, nodes }
        })
    };
    LEVELS.iter().flat_map(|(_, key)| of_level(key).collect::<Vec<_>>()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(name: &str, rack: Option<&str>) -> Value {
        let labels = json!({names::HOST: name, names::RACK: rack, names::BLOCK: "b"});
        json!({"kind": "Node", "metadata": {"name": name, "labels": labels}})
    }

    #[test]
    fn nodes_that_lack_a_level_are_in_no_domain() {
        let nodes = [
            node("1", Some("x")),
            node("2", Some("x")),
            node("3", Some("y")),
            node("4", None),
            node("5", Some("")),
        ];
        let found: Vec<_> =
            domains(&nodes).into_iter().map(|domain| (domain.value, domain.nodes.len())).collect();
        assert_eq!(found, [("b", 3), ("x", 2), ("y", 1), ("1", 1), ("2", 1), ("3", 1)]);
    }
}
