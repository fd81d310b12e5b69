//! The surroundings of a generated workload: other PodCliqueSets, companions, a queue, and node sizes.

use conformance_contract::names::{GPU, KAI_QUEUE, VOLCANO_QUEUE};
use conformance_contract::target::Target;
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::refusals::{has_several_priorities, refused_name, system_priority};
use conformance_history::{list, text};
use serde_json::{Value, json};

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Surroundings {
    /// Other PodCliqueSets. They are bound before the workload is submitted, and no operation changes them.
    pub(crate) neighbors: Vec<Value>,
    pub(crate) companions: Vec<Value>,
    /// How many pods each node has room for, in rotation. If the list is empty, each node has room for 8.
    pub(crate) node_sizes: Vec<u32>,
}

/// Where the metadata of a PodCliqueSet names its queue, for each backend that has queues. In a workload,
/// queue names lack the prefix with the namespace of the run.
pub(crate) const QUEUES: [(Target, &str, &str); 2] =
    [(Target::VOLCANO, "annotations", VOLCANO_QUEUE), (Target::KAI, "labels", KAI_QUEUE)];

impl Surroundings {
    /// Sorts the documents between the first and the last one of a workload. Returns `None` for a document of
    /// another kind, or a node size of 0.
    pub(crate) fn of(documents: &[Value], node_sizes: Vec<u32>) -> Option<Self> {
        let mut all = Self { node_sizes, ..Self::default() };
        for document in documents {
            match text(&document["kind"]) {
                "PodCliqueSet" => all.neighbors.push(document.clone()),
                "ConfigMap" | "PersistentVolumeClaim" => all.companions.push(document.clone()),
                _ => return None,
            }
        }
        (!all.node_sizes.contains(&0)).then_some(all)
    }

    pub(crate) fn documents(&self) -> impl Iterator<Item = &Value> {
        self.neighbors.iter().chain(&self.companions)
    }

    pub(crate) async fn create(&self, test: &TestContext, pcs: &Value) -> Result<(), Stop> {
        for companion in &self.companions {
            let mut object = companion.clone();
            object["metadata"]["namespace"] = test.namespace.clone().into();
            test.apply_companion(object).await?;
        }
        for (target, place, key) in QUEUES {
            let queue = &pcs["metadata"][place][key];
            if queue.is_string() && test.target.scheduler() == target.scheduler() {
                let queue = test.domain(text(queue));
                if target == Target::KAI {
                    test.create_kai_queue(&queue).await?;
                } else {
                    test.create_volcano_queue(&queue).await?;
                }
                // Admission may have to refuse the workload for another reason.
                test.until_admitted(&[prepared(test, &in_queue_of(pcs, "probe", 1))]).await?;
            }
        }
        Ok(())
    }
}

/// A PodCliqueSet as the driver submits it.
pub(crate) fn prepared(test: &TestContext, pcs: &Value) -> Value {
    let mut pcs = pcs.clone();
    for (_, place, key) in QUEUES {
        if pcs["metadata"][place][key].is_string() {
            pcs["metadata"][place][key] = test.domain(text(&pcs["metadata"][place][key])).into();
        }
    }
    test.prepare_manifest(pcs)
}

/// A PodCliqueSet with the metadata, and so the queue, of `pcs`: one clique of pods with one GPU each.
pub(crate) fn in_queue_of(pcs: &Value, name: &str, pods: u32) -> Value {
    let mut pcs = pcs.clone();
    let resources = json!({"limits": {(GPU): 1}});
    let container = json!({"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": resources});
    let spec = json!({"roleName": "main", "replicas": pods, "podSpec": {"containers": [container]}});
    pcs["metadata"]["name"] = name.into();
    pcs["spec"] = json!({"replicas": 1, "template": {"cliques": [{"name": "main", "spec": spec}]}});
    pcs
}

/// Whether admission may have to refuse a PodCliqueSet, so that the driver asks before it creates objects.
pub(crate) fn asks_admission(pcs: &Value) -> bool {
    refused_name(pcs).is_some() || has_several_priorities(pcs) || system_priority(pcs).is_some()
}

pub(crate) fn has_volumes(pcs: &Value) -> bool {
    list(&pcs["spec"]["template"]["cliques"])
        .iter()
        .any(|clique| clique["spec"]["podSpec"]["volumes"].is_array())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_a_queue_does_not_depend_on_whether_the_workload_is_refused() {
        let cliques = json!([{"name": "a.b", "spec": {"podSpec": {"priorityClassName": "high"}}}]);
        let pcs = json!({
            "metadata": {"name": "w", "annotations": {(VOLCANO_QUEUE): "team"}},
            "spec": {"replicas": 2, "template": {"cliques": cliques}},
        });
        assert!(asks_admission(&pcs));
        let probe = in_queue_of(&pcs, "probe", 1);
        assert!(!asks_admission(&probe), "{probe}");
        assert_eq!(probe["metadata"]["annotations"], pcs["metadata"]["annotations"]);
    }
}
