//! Failures to create objects of a PodCliqueSet that last until a user acts. The status of the PodCliqueSet
//! reports all of them. The status of a PodGang reports those of its pods and gang resources.

use grove_api::names::CONDITION_POD_GANG_SCHEDULED;
use grove_api::{PodCliqueSet, PodGang};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Resource, ResourceExt};

use super::Context;
use super::error::ReconcileError;

pub(crate) const NAME_TAKEN: &str = "NameTaken";
pub(crate) const GANG_RESOURCES_MISSING: &str = "GangResourcesMissing";
pub(crate) const POD_CREATION_FAILED: &str = "PodCreationFailed";
/// The reason that kube-scheduler sets on a pod that failed for another reason than a lack of room. For
/// example, a PriorityClass was replaced, so the pods have another priority than their PodGroup.
pub(crate) const SCHEDULER_ERROR: &str = "SchedulerError";

const FAILURES: [&str; 3] = [GANG_RESOURCES_MISSING, POD_CREATION_FAILED, SCHEDULER_ERROR];

impl Context {
    /// `result` is that of all writes for reconciling `owner`, which is `pcs` or one of its objects.
    pub(crate) async fn report_taken_name<K: Resource<DynamicType = ()>>(
        &self,
        pcs: &PodCliqueSet,
        owner: &K,
        result: &Result<(), ReconcileError>,
    ) {
        let before = self.events.last_warning(owner, NAME_TAKEN);
        if let Err(error @ ReconcileError::NameTaken(_)) = result {
            self.events.warn(owner, NAME_TAKEN, &error.to_string()).await;
        } else {
            self.events.reset_warning(owner, NAME_TAKEN);
        }
        if self.events.last_warning(owner, NAME_TAKEN) != before {
            self.queues.pod_clique_set_status.wake(pcs.namespace().as_deref(), &pcs.name_any());
        }
    }
}

pub(crate) fn of_pod_gang(pod_gang: &PodGang) -> Option<&Condition> {
    let conditions = pod_gang.status.as_ref().map(|status| status.conditions.as_slice());
    conditions.unwrap_or_default().iter().find(|condition| {
        condition.type_ == CONDITION_POD_GANG_SCHEDULED
            && condition.status == "False"
            && FAILURES.contains(&condition.reason.as_str())
    })
}
