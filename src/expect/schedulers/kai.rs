//! KAI (KAI-01, KAI-03): one PodGroup per PodGang, with a leaf subgroup per podgroup and a parent for the podgroups of
//! each topology group config.

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
/// The label or annotation that chooses a queue, and the queue of the harness.
pub const QUEUE: (&str, &str) = ("kai.scheduler/queue", "default-queue");

pub(super) static COLUMNS: Columns = &[(Target::KAI, &Kai)];

/// KAI's backend.
#[derive(Debug)]
pub struct Kai;

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

    fn faults(&self, gang: Made<'_>, wanted: &Resource, found: &Value) -> Vec<String> {
        let subgroups = list(&found["spec"]["subGroups"]);
        let configs = list(&gang.pod_gang["spec"]["topologyConstraintGroupConfigs"]);
        let mut faults: Vec<_> =
            differs("minMember", &found["spec"]["minMember"], &json!(wanted.size)).into_iter().collect();
        if subgroups.len() != gang.podgroups.len() + configs.len() {
            faults.push(format!(
                "{} subgroups for {} podgroups and {} topology group configs",
                subgroups.len(),
                gang.podgroups.len(),
                configs.len()
            ));
        }
        let subgroup = |name: &Value| subgroups.iter().find(|subgroup| subgroup["name"] == *name);
        for (podgroup, min) in gang.podgroups {
            let parent = configs.iter().find(|c| list(&c["podGroupNames"]).iter().any(|n| n == podgroup));
            match subgroup(&json!(podgroup)) {
                None => faults.push(format!("no subgroup {podgroup}")),
                Some(leaf) => {
                    let parent = parent.map_or(Value::Null, |parent| parent["name"].clone());
                    faults.extend(differs(&format!("{podgroup}.minMember"), &leaf["minMember"], &json!(min)));
                    faults.extend(differs(&format!("{podgroup}.parent"), &leaf["parent"], &parent));
                }
            }
        }
        for config in configs {
            match subgroup(&config["name"]) {
                None => faults.push(format!("no subgroup {}", config["name"])),
                Some(parent) => {
                    let members = json!(list(&config["podGroupNames"]).len());
                    faults.extend(differs("minSubGroup", &parent["minSubGroup"], &members));
                }
            }
        }
        faults
    }

    fn joins(&self, gang: &Gang, _group: &Group, _index: usize) -> Option<Name> {
        Some(Name::object(gang.name.clone()))
    }

    fn named_by<'a>(&self, pod: Pod<'a>) -> Option<&'a str> {
        pod.0["metadata"]["annotations"][MEMBERSHIP].as_str()
    }

    fn membership_faults(&self, pod: Pod<'_>, _gang: &Gang, group: &Group) -> Vec<String> {
        let metadata = &pod.0["metadata"];
        let subgroup = differs(SUBGROUP, &metadata["labels"][SUBGROUP], &json!(group.clique));
        let skipped = differs(SKIP, &metadata["annotations"][SKIP], &json!("true"));
        subgroup.into_iter().chain(skipped).collect()
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

    /// Programs of a checkout are called by their folders; in KAI's images every one of them is called `app`.
    /// kube-scheduler's name is that of the stand-in, which has a profile of KAI's name.
    fn writers(&self) -> &[&'static str] {
        &[
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
        ]
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

    fn canary(&self, name: &str) -> Vec<(&'static str, Value)> {
        let group = json!({
            "apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": {"name": name},
            "spec": {"minMember": 1, "queue": QUEUE.1},
        });
        let pod = json!({
            "metadata": {"annotations": {MEMBERSHIP: name, SKIP: "true"}}, "spec": {"schedulerName": "kai-scheduler"},
        });
        vec![(POD_GROUP, group), ("Pod", pod)]
    }
}
