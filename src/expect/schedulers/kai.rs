//! KAI (KAI-01, KAI-03). An operator may create one PodGroup per PodGang, or one per PodCliqueSet replica
//! with a subgroup per PodGang (upstream's pull request 735). Checks compare only which pods require which.

use conformance_contract::names::KAI_QUEUE;
use conformance_contract::target::Target;
use conformance_history::{Live, Pod};
use serde_json::{Value, json};

use super::{CreatedGang, Expectations, Name, Resource, Targets, differs, list, schedule_by, text};
use crate::{Gang, Group};

pub const POD_GROUP: &str = "PodGroup.scheduling.run.ai";
const TOPOLOGY: &str = "Topology";
const MEMBERSHIP: &str = "pod-group-name";
const SUBGROUP: &str = "kai.scheduler/subgroup-name";
/// Annotation of pods that KAI's podgrouper ignores.
pub const SKIP: &str = "kai.scheduler/skip-podgrouper";
/// The field managers and event sources of KAI's programs. Programs built from a checkout write under the
/// name of their folder, those of KAI's images as `app`. The stand-in for KAI, a kube-scheduler with a
/// profile of KAI's name, writes as `kube-scheduler`.
const PROGRAMS: &[&str] = &[
    "kai-scheduler",
    "kai-binder",
    "binder",
    "podgrouper",
    "podgroupcontroller",
    "queuecontroller",
    "admission",
    "operator",
    "nodescaleadjuster",
    "app",
    "kube-scheduler",
];
pub const PODGROUPER: [&str; 2] = ["podgrouper", "app"];
pub const QUEUE: (&str, &str) = (KAI_QUEUE, "default-queue");

pub(super) static TARGETS: Targets = &[(Target::KAI, &Kai)];

#[derive(Debug)]
pub struct Kai;

/// The tree of subgroups in a PodGroup's `spec`. The root has an empty name.
#[derive(Clone, Copy)]
struct Tree<'a>(&'a Value);

impl<'a> Tree<'a> {
    fn node(self, name: &str) -> Option<&'a Value> {
        if name.is_empty() {
            Some(self.0)
        } else {
            list(&self.0["subGroups"]).iter().find(|node| node["name"] == name)
        }
    }

    fn children(self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        list(&self.0["subGroups"]).iter().filter(move |node| text(&node["parent"]) == name)
    }

    fn leaves(self, name: &'a str) -> Vec<&'a str> {
        let below: Vec<_> = self.children(name).flat_map(|child| self.leaves(text(&child["name"]))).collect();
        if below.is_empty() { vec![name] } else { below }
    }

    fn lowest_above(self, leaves: &[&str]) -> &'a str {
        let has_all = |name: &'a str| leaves.iter().all(|leaf| self.leaves(name).contains(leaf));
        let mut node = "";
        while let Some(child) =
            self.children(node).map(|child| text(&child["name"])).find(|child| has_all(child))
        {
            node = child;
        }
        node
    }

    fn needs_all(self, name: &'a str) -> bool {
        let node = self.node(name).unwrap_or(&Value::Null);
        let sizes = self.leaves(name).into_iter().filter_map(|leaf| self.node(leaf)?["minMember"].as_u64());
        match (node["minSubGroup"].as_u64(), node["minMember"].as_u64()) {
            (Some(least), _) => {
                usize::try_from(least).is_ok_and(|least| least == self.children(name).count())
            }
            (None, Some(least)) => least == sizes.sum::<u64>(),
            (None, None) => true,
        }
    }

    fn parent(self, name: &str) -> Option<&'a str> {
        (!name.is_empty()).then(|| self.node(name).map_or("", |node| text(&node["parent"])))
    }

    fn needs_nothing(self, name: &'a str) -> bool {
        self.is_satisfied(name, |child| self.needs_nothing(child))
    }

    /// Whether a node's minimum is satisfied if these children are. A leaf with a minimum is never satisfied.
    fn is_satisfied(self, name: &'a str, is_child: impl Fn(&'a str) -> bool) -> bool {
        let node = self.node(name).unwrap_or(&Value::Null);
        let children: Vec<_> = self.children(name).map(|child| text(&child["name"])).collect();
        let satisfied = children.iter().copied().filter(|&child| is_child(child));
        if let Some(least) = node["minSubGroup"].as_u64() {
            return usize::try_from(least).is_ok_and(|least| least <= satisfied.count());
        }
        if let Some(least) = node["minMember"].as_u64() {
            let leaves = satisfied.flat_map(|child| self.leaves(child)).filter_map(|leaf| self.node(leaf));
            return least <= leaves.filter_map(|leaf| leaf["minMember"].as_u64()).sum();
        }
        satisfied.count() == children.len()
    }

    /// Returns what the leaves require outside their subtree. Scaled gangs may require their base.
    fn needs_others(self, leaves: &[&'a str], is_base: bool) -> Option<String> {
        let mut below = self.lowest_above(leaves);
        while let Some(parent) = self.parent(below) {
            let is_needed = is_base || !parent.is_empty();
            if is_needed && !self.is_satisfied(parent, |child| child == below || self.needs_nothing(child)) {
                return Some(format!("{} requires more than subgroup {below}", what(parent)));
            }
            below = parent;
        }
        None
    }

    fn does_not_need_all(self, leaves: &[&'a str]) -> Option<String> {
        let top = self.lowest_above(leaves);
        let foreign: Vec<_> = self.leaves(top).into_iter().filter(|leaf| !leaves.contains(leaf)).collect();
        if !foreign.is_empty() {
            return Some(format!("{} also contains {}", what(top), foreign.join(", ")));
        }
        let mut inner = vec![top];
        while let Some(name) = inner.pop() {
            let below: Vec<_> = self.children(name).map(|child| text(&child["name"])).collect();
            if !below.is_empty() && !self.needs_all(name) {
                return Some(format!("{} does not require all of {}", what(name), below.join(", ")));
            }
            inner.extend(below);
        }
        None
    }
}

fn what(name: &str) -> String {
    if name.is_empty() { "the PodGroup".to_owned() } else { format!("subgroup {name}") }
}

/// Returns the leaf subgroup that the label of a podgroup's pods names, or else the podgroup's name.
pub fn leaf<'a>(live: &'a Live, podgroup: &'a str) -> &'a str {
    live.pods()
        .filter(|pod| pod.pod_clique() == Some(podgroup))
        .find_map(|pod| pod.label(SUBGROUP))
        .unwrap_or(podgroup)
}

impl Expectations for Kai {
    fn kinds(&self) -> &'static [&'static str] {
        &[POD_GROUP]
    }

    fn resources(&self, pod_gang: &str, podgroups: &[(String, usize)]) -> Vec<Resource> {
        let size = podgroups.iter().map(|(_, min)| min).sum();
        vec![Resource { kind: POD_GROUP, name: Name::object(pod_gang.to_owned()), size: Some(size) }]
    }

    fn size(&self, resource: &Value) -> Option<u64> {
        resource["spec"]["minMember"].as_u64()
    }

    /// Subgroups may have any name (KAI-01). All pods of a podgroup must be in one leaf, which has its
    /// minimum. One node must contain exactly the leaves of the PodGang, and require them all.
    fn faults(&self, gang: CreatedGang<'_>, _wanted: &Resource, found: &Value) -> Vec<String> {
        let tree = Tree(&found["spec"]);
        let mut faults = Vec::new();
        let mut leaves = Vec::new();
        for (podgroup, min) in gang.podgroups {
            let is_of_podgroup = |pod: &Pod<'_>| pod.pod_clique() == Some(podgroup);
            let mut named: Vec<_> =
                gang.live.pods().filter(is_of_podgroup).filter_map(|pod| pod.label(SUBGROUP)).collect();
            named.dedup();
            let leaf = match named[..] {
                [] => podgroup.as_str(),
                [leaf] => leaf,
                _ => {
                    faults.push(format!(
                        "the pods of podgroup {podgroup} are in several subgroups: {}",
                        named.join(", ")
                    ));
                    continue;
                }
            };
            match tree.node(leaf) {
                None => faults.push(format!("subgroup {leaf} of podgroup {podgroup} does not exist")),
                Some(found) if tree.children(leaf).next().is_some() => {
                    faults.push(format!(
                        "subgroup {} of podgroup {podgroup} is not a leaf",
                        text(&found["name"])
                    ));
                }
                Some(found) => {
                    faults.extend(differs(
                        &format!("{podgroup}.minMember"),
                        &found["minMember"],
                        &json!(min),
                    ));
                    leaves.push(leaf);
                }
            }
        }
        if faults.is_empty() {
            faults.extend(tree.does_not_need_all(&leaves));
            faults.extend(tree.needs_others(&leaves, gang.is_base));
        }
        faults
    }

    fn joins(&self, gang: &Gang, _group: &Group, _index: usize) -> Option<Name> {
        Some(Name::object(gang.named_after().to_owned()))
    }

    fn named_by<'a>(&self, pod: Pod<'a>) -> Option<&'a str> {
        pod.0["metadata"]["annotations"][MEMBERSHIP].as_str()
    }

    fn freely_named_kind(&self) -> Option<&'static str> {
        Some(POD_GROUP)
    }

    fn has_part_of(&self, resource: &Value, pod: Pod<'_>) -> bool {
        pod.label(SUBGROUP).is_none_or(|leaf| Tree(&resource["spec"]).node(leaf).is_some())
    }

    fn membership_faults(&self, pod: Pod<'_>, _gang: &Gang, _group: &Group) -> Vec<String> {
        let metadata = &pod.0["metadata"];
        let unnamed = pod.label(SUBGROUP).is_none().then(|| format!("no label {SUBGROUP}"));
        let skipped = differs(SKIP, &metadata["annotations"][SKIP], &json!("true"));
        unnamed.into_iter().chain(skipped).collect()
    }

    fn assign(&self, pcs: &mut Value) {
        schedule_by(pcs, "kai-scheduler");
        let metadata = &mut pcs["metadata"];
        if metadata["labels"][QUEUE.0].is_null() && metadata["annotations"][QUEUE.0].is_null() {
            metadata["labels"][QUEUE.0] = QUEUE.1.into();
        }
    }

    fn enqueue(&self, pcs: &mut Value, queue: &str) {
        pcs["metadata"]["labels"][QUEUE.0] = queue.into();
    }

    fn topology_kind(&self) -> Option<&'static str> {
        Some(TOPOLOGY)
    }

    /// Expects a Topology with the name of the binding and the same keys in the same order (KAI-06).
    fn topology_faults(&self, binding: &Value, live: &Live, _pool: &str) -> Vec<String> {
        let name = text(&binding["metadata"]["name"]);
        let Some(found) = live.get(TOPOLOGY, name) else {
            return vec![format!("Topology {name} does not exist")];
        };
        let keys = |levels: &Value, key: &str| {
            list(levels).iter().map(|level| level[key].clone()).collect::<Value>()
        };
        let wanted = keys(&binding["spec"]["levels"], "key");
        differs("levels", &keys(&found["spec"]["levels"], "nodeLabel"), &wanted).into_iter().collect()
    }

    fn retries_in_sessions(&self) -> bool {
        true
    }

    fn writers(&self) -> &[&'static str] {
        PROGRAMS
    }

    fn own_keys(&self) -> &'static [&'static str] {
        &["kai.scheduler/last-", "kai.scheduler/received-resource-type", "received-resource-type"]
    }

    fn is_refusal(&self, condition: &Value) -> bool {
        condition["type"] == "UnschedulableOnNodePool" && condition["status"] == "True"
    }

    /// KAI's BindRequests remain, and have the name of their pod.
    fn is_canary_remnant(&self, object: &Value) -> bool {
        object["kind"] == "BindRequest" && text(&object["metadata"]["name"]).starts_with("canary-")
    }

    fn plain_gang(&self, name: &str, pods: usize) -> Vec<(&'static str, Value)> {
        let group = json!({
            "apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": {"name": name},
            "spec": {"minMember": pods, "queue": QUEUE.1},
        });
        let pod = json!({
            "metadata": {"annotations": {MEMBERSHIP: name, SKIP: "true"}}, "spec": {"schedulerName": "kai-scheduler"},
        });
        vec![(POD_GROUP, group), ("Pod", pod)]
    }
}

#[cfg(test)]
#[path = "kai_tests.rs"]
mod tests;
