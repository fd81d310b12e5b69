//! KAI (KAI-01, KAI-03): a PodGroup with a leaf subgroup per podgroup and a parent for the podgroups of each topology group
//! config. It may be one per PodGang, or one per replica of a PodCliqueSet, in which each PodGang has a subgroup of its own
//! (upstream's pull request 735): what counts is what needs what.

use conformance_contract::target::Target;
use conformance_history::{Live, Pod, is_controlled_by};
use serde_json::{Value, json};

use super::{Columns, Expectations, Made, Name, Resource, differs, list, schedule_by, text};
use crate::{Gang, Group};

/// As histories name it.
pub const POD_GROUP: &str = "PodGroup.scheduling.run.ai";
/// Its topology, as histories name it.
const TOPOLOGY: &str = "Topology";
/// Annotation by which a pod joins a PodGroup.
const MEMBERSHIP: &str = "pod-group-name";
/// Label by which a pod joins a subgroup.
const SUBGROUP: &str = "kai.scheduler/subgroup-name";
/// Annotation that keeps KAI's podgrouper away.
pub const SKIP: &str = "kai.scheduler/skip-podgrouper";
/// Who KAI's programs are where they write. Those of a checkout are called by their folders; in KAI's images every one of
/// them is called `app`.
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
/// Who the podgrouper is among them.
pub const PODGROUPER: [&str; 2] = ["podgrouper", "app"];
/// The label or annotation that chooses a queue, and the queue of the harness.
pub const QUEUE: (&str, &str) = ("kai.scheduler/queue", "default-queue");

pub(super) static COLUMNS: Columns = &[(Target::KAI, &Kai)];

/// KAI's backend.
#[derive(Debug)]
pub struct Kai;

/// The subgroups of a PodGroup's `spec`; the root has the empty name.
#[derive(Clone, Copy)]
struct Tree<'a>(&'a Value);

impl<'a> Tree<'a> {
    fn node(self, name: &str) -> Option<&'a Value> {
        match name.is_empty() {
            true => Some(self.0),
            false => list(&self.0["subGroups"]).iter().find(|node| node["name"] == name),
        }
    }

    fn children(self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        list(&self.0["subGroups"]).iter().filter(move |node| text(&node["parent"]) == name)
    }

    /// The names of the leaves below a node, itself if it is one.
    fn leaves(self, name: &'a str) -> Vec<&'a str> {
        let below: Vec<_> = self.children(name).flat_map(|child| self.leaves(text(&child["name"]))).collect();
        if below.is_empty() { vec![name] } else { below }
    }

    /// The lowest node that is above all these leaves.
    fn above(self, leaves: &[&str]) -> &'a str {
        let holds = |name: &'a str| leaves.iter().all(|leaf| self.leaves(name).contains(leaf));
        let mut node = "";
        while let Some(child) =
            self.children(node).map(|child| text(&child["name"])).find(|child| holds(child))
        {
            node = child;
        }
        node
    }

    /// Whether a node is satisfied only with all of its children.
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

    /// The name of the node above; `None` at the root.
    fn parent(self, name: &str) -> Option<&'a str> {
        (!name.is_empty()).then(|| self.node(name).map_or("", |node| text(&node["parent"])))
    }

    /// Whether a node is satisfied without any pod.
    fn needs_nothing(self, name: &'a str) -> bool {
        self.is_satisfied(name, |child| self.needs_nothing(child))
    }

    /// Whether a node is satisfied if of its children only these are; a leaf never is with a minimum.
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

    /// Why the gang of these leaves is bound only with what is none of it. Others than the base may need the base, beside
    /// which they are in the PodGroup.
    fn needs_others(self, leaves: &[&'a str], is_base: bool) -> Option<String> {
        let mut below = self.above(leaves);
        while let Some(above) = self.parent(below) {
            let is_needed = is_base || !above.is_empty();
            if is_needed && !self.is_satisfied(above, |child| child == below || self.needs_nothing(child)) {
                return Some(format!("{} needs more than subgroup {below}", what(above)));
            }
            below = above;
        }
        None
    }

    /// Why these leaves are not one gang.
    fn does_not_need_all(self, leaves: &[&'a str]) -> Option<String> {
        let top = self.above(leaves);
        let foreign: Vec<_> = self.leaves(top).into_iter().filter(|leaf| !leaves.contains(leaf)).collect();
        if !foreign.is_empty() {
            return Some(format!("{} holds {} as well", what(top), foreign.join(", ")));
        }
        let mut inner = vec![top];
        while let Some(name) = inner.pop() {
            let below: Vec<_> = self.children(name).map(|child| text(&child["name"])).collect();
            if !below.is_empty() && !self.needs_all(name) {
                return Some(format!("{} does not need all of {}", what(name), below.join(", ")));
            }
            inner.extend(below);
        }
        None
    }
}

/// A node in words.
fn what(name: &str) -> String {
    if name.is_empty() { "the PodGroup".to_owned() } else { format!("subgroup {name}") }
}

/// The leaf that the pods of a podgroup name, or the podgroup's name where none does.
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

    /// Whatever the subgroups are called: the pods of a podgroup share a leaf of its size, and one node above all leaves of
    /// the PodGang, and above nothing else, needs every one of them (KAI-01).
    fn faults(&self, gang: Made<'_>, _wanted: &Resource, found: &Value) -> Vec<String> {
        let tree = Tree(&found["spec"]);
        let mut faults = Vec::new();
        let mut leaves = Vec::new();
        for (podgroup, min) in gang.podgroups {
            let is_its = |pod: &Pod<'_>| pod.pod_clique() == Some(podgroup);
            let mut named: Vec<_> =
                gang.live.pods().filter(is_its).filter_map(|pod| pod.label(SUBGROUP)).collect();
            named.dedup();
            let leaf = match named[..] {
                [] => podgroup.as_str(),
                [leaf] => leaf,
                _ => {
                    faults.push(format!(
                        "the pods of {podgroup} are in several subgroups: {}",
                        named.join(", ")
                    ));
                    continue;
                }
            };
            match tree.node(leaf) {
                None => faults.push(format!("no subgroup {leaf} for {podgroup}")),
                Some(found) if tree.children(leaf).next().is_some() => {
                    faults.push(format!("subgroup {} of {podgroup} is no leaf", text(&found["name"])));
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

    fn looks_at(&self, pod: Pod<'_>) -> bool {
        self.named_by(pod).is_some()
    }

    fn kind_of_any_name(&self) -> Option<&'static str> {
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

    fn claim(&self, pcs: &mut Value) {
        schedule_by(pcs, "kai-scheduler");
        let metadata = &mut pcs["metadata"];
        if metadata["labels"][QUEUE.0].is_null() && metadata["annotations"][QUEUE.0].is_null() {
            metadata["labels"][QUEUE.0] = QUEUE.1.into();
        }
    }

    fn topology_kind(&self) -> Option<&'static str> {
        Some(TOPOLOGY)
    }

    /// A Topology of the binding's name with its keys in their order (KAI-06).
    fn topology_faults(&self, binding: &Value, live: &Live, _pool: &str) -> Vec<String> {
        let name = text(&binding["metadata"]["name"]);
        let Some(found) = live.get(TOPOLOGY, name) else {
            return vec![format!("there is no Topology {name}")];
        };
        let keys = |levels: &Value, key: &str| {
            list(levels).iter().map(|level| level[key].clone()).collect::<Value>()
        };
        let wanted = keys(&binding["spec"]["levels"], "key");
        let mut faults: Vec<_> =
            differs("levels", &keys(&found["spec"]["levels"], "nodeLabel"), &wanted).into_iter().collect();
        if !is_controlled_by(found, binding) {
            faults
                .push(format!("Topology {name} is not controlled by the ClusterTopologyBinding of its name"));
        }
        faults
    }

    /// kube-scheduler's name is that of the stand-in, which has a profile of KAI's name.
    fn works_in_sessions(&self) -> bool {
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

    /// Its requests to bind a pod, which are named as the pod.
    fn is_left_of_a_canary(&self, object: &Value) -> bool {
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
