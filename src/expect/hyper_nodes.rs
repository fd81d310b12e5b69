//! Finds the HyperNodes of topology domains by their nodes, because the backend chooses their names.

use std::collections::BTreeSet;
use std::fmt;

use conformance_history::Live;
use serde_json::Value;

use super::domains::Domain;

pub const KIND: &str = "HyperNode";

/// Limits the recursion if two HyperNodes contain each other. No real topology is that deep.
const MAX_DEPTH: usize = 16;

/// Looks for the pool in name, owners and members. Names and domains of a case start with its pool's name.
pub fn mentions(hyper_node: &Value, pool: &str) -> bool {
    let (pool, metadata) = (&format!("{pool}-"), &hyper_node["metadata"]);
    let parts = [&metadata["name"], &metadata["ownerReferences"], &hyper_node["spec"]];
    parts.iter().any(|part| part.to_string().contains(pool))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoHyperNode {
    key: &'static str,
    value: String,
}

impl fmt::Display for NoHyperNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no HyperNode contains exactly the nodes with label {}={}", self.key, self.value)
    }
}

impl std::error::Error for NoHyperNode {}

/// Returns the HyperNode of each domain, or the first domain without one. If several HyperNodes have the same
/// nodes, the one in the lower tier represents the narrower level.
pub fn of_domains<'a>(live: &'a Live, domains: &[Domain<'_>]) -> Result<Vec<&'a Value>, NoHyperNode> {
    let mut all: Vec<_> = live.of(KIND).map(|found| (tier(found), nodes_of(live, found), found)).collect();
    all.sort_by_key(|(tier, _, _)| std::cmp::Reverse(*tier));
    let mut taken = BTreeSet::new();
    let of_domain = |domain: &Domain<'_>| {
        let place = all
            .iter()
            .enumerate()
            .position(|(place, (_, nodes, _))| *nodes == domain.nodes && !taken.contains(&place));
        let Some(place) = place else {
            return Err(NoHyperNode { key: domain.key, value: domain.value.to_owned() });
        };
        taken.insert(place);
        Ok(all[place].2)
    };
    domains.iter().map(of_domain).collect()
}

/// Nodes in a lower tier are closer to each other.
pub fn tier(hyper_node: &Value) -> u64 {
    hyper_node["spec"]["tier"].as_u64().unwrap_or_default()
}

pub fn nodes_of<'a>(live: &'a Live, hyper_node: &'a Value) -> BTreeSet<&'a str> {
    let mut nodes = BTreeSet::new();
    collect(live, hyper_node, MAX_DEPTH, &mut nodes);
    nodes
}

fn collect<'a>(live: &'a Live, hyper_node: &'a Value, depth: usize, nodes: &mut BTreeSet<&'a str>) {
    for member in hyper_node["spec"]["members"].as_array().into_iter().flatten().filter(|_| depth > 0) {
        let selector = &member["selector"];
        let exact = selector["exactMatch"]["name"].as_str();
        match (
            member["type"].as_str().unwrap_or_default(),
            exact,
            selector["labelMatch"]["matchLabels"].as_object(),
        ) {
            ("Node", Some(name), _) => nodes.extend(live.get("Node", name).map(|_| name)),
            ("Node", None, Some(labels)) => {
                let has_all = |node: &&Value| {
                    labels.iter().all(|(key, value)| node["metadata"]["labels"][key] == *value)
                };
                nodes.extend(
                    live.of("Node").filter(has_all).filter_map(|node| node["metadata"]["name"].as_str()),
                );
            }
            ("HyperNode", Some(name), _) => {
                if let Some(member_node) = live.get(KIND, name) {
                    collect(live, member_node, depth - 1, nodes);
                }
            }
            // A topology from labels produces no name patterns.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use conformance_contract::names;
    use conformance_contract::target::Target;
    use conformance_history::testing::Story;
    use serde_json::json;

    use super::*;
    use crate::domains::domains;

    fn node(name: &str, rack: &str) -> Value {
        let labels = json!({names::HOST: name, names::RACK: rack, names::BLOCK: "b"});
        json!({"kind": "Node", "metadata": {"name": name, "labels": labels}})
    }

    fn hyper_node(name: &str, tier: u64, members: Value) -> Value {
        json!({"kind": KIND, "metadata": {"name": name}, "spec": {"tier": tier, "members": members}})
    }

    fn exact(of: &str, name: &str) -> Value {
        json!({"type": of, "selector": {"exactMatch": {"name": name}}})
    }

    fn all() -> Vec<Value> {
        let labelled =
            json!([{"type": "Node", "selector": {"labelMatch": {"matchLabels": {names::RACK: "x"}}}}]);
        vec![
            node("1", "x"),
            node("2", "x"),
            hyper_node("h1", 1, json!([exact("Node", "1")])),
            hyper_node("h2", 1, json!([exact("Node", "2")])),
            hyper_node("rack", 2, labelled),
            hyper_node("block", 3, json!([exact("HyperNode", "rack")])),
        ]
    }

    fn found(objects: Vec<Value>) -> Result<Vec<String>, String> {
        let live = Story::on(Target::VOLCANO).all_added(objects).end().end();
        let domains = domains(live.of("Node"));
        let name = |found: &Value| found["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let found = of_domains(&live, &domains).map_err(|missing| missing.to_string());
        found.map(|all| all.into_iter().map(name).collect())
    }

    #[test]
    fn a_hyper_node_of_a_pool_is_recognized_by_its_node_or_owner() {
        let mentions_pool = |node: &str, owner: &str| {
            let mut found = hyper_node("h", 1, json!([exact("Node", node)]));
            found["metadata"]["ownerReferences"] = json!([{"name": owner}]);
            mentions(&found, "ns")
        };
        assert!(mentions_pool("ns-0", "shared"));
        assert!(mentions_pool("else-0", "ns-compared"), "a binding of the pool");
        assert!(!mentions_pool("else-0", "shared"));
    }

    #[test]
    fn the_wider_level_has_the_higher_tier() {
        assert_eq!(found(all()), Ok(["block", "rack", "h1", "h2"].map(str::to_owned).to_vec()));
    }

    #[test]
    fn a_hyper_node_represents_only_one_domain() {
        let mut objects = all();
        objects.pop();
        assert_eq!(
            found(objects),
            Err("no HyperNode contains exactly the nodes with label topology.kubernetes.io/rack=x".to_owned())
        );
    }

    #[test]
    fn hyper_nodes_that_contain_each_other_do_not_recurse_indefinitely() {
        let ring = [
            hyper_node("p", 2, json!([exact("HyperNode", "q")])),
            hyper_node("q", 2, json!([exact("HyperNode", "p"), exact("Node", "1")])),
        ];
        let live = Story::on(Target::VOLCANO).added(node("1", "x")).all_added(ring).end().end();
        let p = live.get(KIND, "p").expect("added");
        assert_eq!(nodes_of(&live, p), BTreeSet::from(["1"]));
    }
}
