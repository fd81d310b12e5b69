//! A domain is identified by a node's label values for its level and all wider levels: rack `r0` of block `a`
//! and rack `r0` of block `b` differ (VOL-05). Level `i` of `n` (0 is the broadest) has tier `n - i`.
//!
//! A node without the label of a level is in no HyperNode of that level, but may be in a wider one. Volcano
//! accepts a HyperNode without a parent, because Volcano's root contains all HyperNodes.
//!
//! Members are listed by name. A label selector would be shorter, but Volcano evaluates a selector only when
//! a matching node changes. So a node that no longer matches would stay a member.

use std::collections::{BTreeMap, BTreeSet};

use grove_api::names::{LABEL_MANAGED_BY, MANAGED_BY_GROVE};
use grove_api::{ClusterTopologyBinding, TopologyLevel};
use k8s_openapi::api::core::v1::Node;
use kube::api::DynamicObject;
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

use super::api::{LABEL_TIER, LABEL_TOPOLOGY, hyper_nodes};
use crate::backend::names;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HyperNode {
    pub name: String,
    /// The narrowest level has tier 1.
    pub tier: usize,
    pub domain: String,
    /// Sorted, without duplicates, never empty.
    pub members: Vec<Member>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Member {
    HyperNode(String),
    Node(String),
}

/// A node's label values for a level and all wider levels, broadest first. `None` for a missing label.
type Path<'a> = Vec<Option<&'a str>>;

/// `levels` are ordered broadest first. Members come before their parents.
pub(super) fn tree<'a>(
    binding: &str,
    levels: &[TopologyLevel],
    nodes: impl IntoIterator<Item = &'a Node>,
) -> Vec<HyperNode> {
    let mut domains: BTreeMap<Path<'a>, HyperNode> = BTreeMap::new();
    for node in nodes {
        let value = |level: &TopologyLevel| {
            node.labels().get(&level.key).map(String::as_str).filter(|value| !value.is_empty())
        };
        let values: Path<'a> = levels.iter().map(value).collect();
        let mut member = Member::Node(node.name_any());
        let has_label = levels.iter().enumerate().rev().filter(|(i, _)| values[*i].is_some());
        for (i, level) in has_label {
            let path = &values[..=i];
            let domain = domains.entry(path.to_vec()).or_insert_with(|| HyperNode {
                name: name(binding, path),
                tier: levels.len() - i,
                domain: level.domain.clone(),
                members: Vec::new(),
            });
            domain.members.push(member);
            member = Member::HyperNode(domain.name.clone());
        }
    }
    let mut tree: Vec<_> = domains.into_values().collect();
    for hyper_node in &mut tree {
        hyper_node.members.sort();
        hyper_node.members.dedup();
    }
    tree.sort_by(|a, b| (a.tier, &a.name).cmp(&(b.tier, &b.name)));
    tree
}

/// Removes HyperNodes whose names are taken, and then HyperNodes without members.
pub(super) fn without_taken(tree: Vec<HyperNode>, is_taken: impl Fn(&str) -> bool) -> Vec<HyperNode> {
    let mut removed = BTreeSet::new();
    let keep = |mut hyper_node: HyperNode| {
        hyper_node.members.retain(|member| match member {
            Member::HyperNode(name) => !removed.contains(name),
            Member::Node(_) => true,
        });
        if is_taken(&hyper_node.name) || hyper_node.members.is_empty() {
            removed.insert(hyper_node.name);
            return None;
        }
        Some(hyper_node)
    };
    tree.into_iter().filter_map(keep).collect()
}

impl HyperNode {
    /// Garbage collection deletes the object with the binding (DEL-09).
    pub(super) fn object(&self, binding: &ClusterTopologyBinding) -> DynamicObject {
        let spec = json!({
            "tier": self.tier,
            "tierName": self.domain,
            "members": self.members.iter().map(Member::selector).collect::<Vec<_>>(),
        });
        let mut object = DynamicObject::new(&self.name, &hyper_nodes()).data(json!({ "spec": spec }));
        let labels = [
            (LABEL_MANAGED_BY, MANAGED_BY_GROVE.to_owned()),
            (LABEL_TOPOLOGY, topology_label(&binding.name_any())),
            (LABEL_TIER, self.tier.to_string()),
        ];
        object.metadata.labels = Some(labels.map(|(key, value)| (key.to_owned(), value)).into());
        object.metadata.owner_references = binding.controller_owner_ref(&()).map(|owner| vec![owner]);
        object
    }
}

impl Member {
    fn selector(&self) -> Value {
        let (kind, name) = match self {
            Self::HyperNode(name) => ("HyperNode", name),
            Self::Node(name) => ("Node", name),
        };
        json!({"type": kind, "selector": {"exactMatch": {"name": name}}})
    }
}

pub(super) fn topology_label(binding: &str) -> String {
    names::shorten(names::MAX_LABEL, binding.to_owned())
}

/// Replaces characters of a label value that a name must not contain. The hash keeps the names distinct.
fn name(binding: &str, path: &[Option<&str>]) -> String {
    // A label value contains neither '/' nor '='.
    let exact = path.iter().map(|value| value.map_or(String::new(), |value| format!("={value}")));
    let whole = format!("{binding}/{}", exact.collect::<Vec<_>>().join("/"));
    let values = path.iter().flatten().map(|value| value.to_ascii_lowercase());
    let readable = std::iter::once(binding.to_owned()).chain(values).collect::<Vec<_>>().join("-");
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    names::shorten_with_hash(&whole, &readable.chars().map(plain).collect::<String>(), names::MAX_SUBDOMAIN)
}

#[cfg(test)]
#[path = "hyper_tree_tests.rs"]
mod tests;
