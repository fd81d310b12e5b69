//! Coscheduling of scheduler-plugins. No operator backend creates PodCliqueSets for it.

use conformance_contract::target::Target;
use conformance_history::Pod;
use serde_json::{Value, json};

use super::{Expectations, Targets, schedule_by};

pub const POD_GROUP: &str = "PodGroup.scheduling.x-k8s.io";
const MEMBERSHIP: &str = "scheduling.x-k8s.io/pod-group";
const SCHEDULER: &str = "scheduler-plugins-scheduler";

pub(super) static TARGETS: Targets = &[(Target::COSCHEDULING, &Coscheduling)];

#[derive(Debug)]
pub struct Coscheduling;

impl Expectations for Coscheduling {
    fn kinds(&self) -> &'static [&'static str] {
        &[POD_GROUP]
    }

    fn size(&self, resource: &Value) -> Option<u64> {
        resource["spec"]["minMember"].as_u64()
    }

    fn named_by<'a>(&self, pod: Pod<'a>) -> Option<&'a str> {
        pod.label(MEMBERSHIP)
    }

    fn assign(&self, pcs: &mut Value) {
        schedule_by(pcs, SCHEDULER);
    }

    fn writers(&self) -> &[&'static str] {
        &[SCHEDULER, "scheduler-plugins-controller"]
    }

    fn plain_gang(&self, name: &str, pods: usize) -> Vec<(&'static str, Value)> {
        let group = json!({
            "apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": name},
            "spec": {"minMember": pods, "scheduleTimeoutSeconds": 10},
        });
        let pod = json!({"metadata": {"labels": {MEMBERSHIP: name}}, "spec": {"schedulerName": SCHEDULER}});
        vec![(POD_GROUP, group), ("Pod", pod)]
    }

    /// The plugin has its own cache of PodGroups. A pod that it tries too early waits for another change.
    fn may_miss_gang_resources(&self) -> bool {
        true
    }
}
