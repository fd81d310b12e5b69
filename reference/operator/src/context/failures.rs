//! What keeps a PodCliqueSet from having all its objects until a user acts, and how it is reported.
//!
//! An object of another owner may have the name of one that must be created, such as a PodClique of another
//! PodCliqueSet. The reconciler of the owner records that as a warning. The API server may also reject the pods
//! of a PodGang or its gang resources, and a scheduler may be unable to try the gang at all. The PodGang's status
//! reports these. The status of the PodCliqueSet reports everything.

use grove_api::names::CONDITION_POD_GANG_SCHEDULED;
use grove_api::{PodCliqueSet, PodGang};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Resource, ResourceExt};

use super::Context;
use super::error::ReconcileError;

/// Reason of a warning and of a PodCliqueSet's condition.
pub(crate) const NAME_TAKEN: &str = "NameTaken";
/// Reasons of a PodGang's condition: gang resources or pods cannot be created.
pub(crate) const GANG_RESOURCES_MISSING: &str = "GangResourcesMissing";
pub(crate) const POD_CREATION_FAILED: &str = "PodCreationFailed";
/// Reason of a PodGang's condition, and kube-scheduler's for its pods: not a lack of room. For example, the
/// pods have another priority than their PodGroup, because a PriorityClass was replaced.
pub(crate) const SCHEDULER_ERROR: &str = "SchedulerError";

const FAILURES: [&str; 3] = [GANG_RESOURCES_MISSING, POD_CREATION_FAILED, SCHEDULER_ERROR];

impl Context {
    /// Reports whether `owner`, which belongs to `pcs`, lacks an object because its name is taken. `result` is
    /// that of all its writes.
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

/// The condition of a PodGang that reports such a failure, if any.
pub(crate) fn of_pod_gang(pod_gang: &PodGang) -> Option<&Condition> {
    let conditions = pod_gang.status.as_ref().map(|status| status.conditions.as_slice());
    conditions.unwrap_or_default().iter().find(|condition| {
        condition.type_ == CONDITION_POD_GANG_SCHEDULED
            && condition.status == "False"
            && FAILURES.contains(&condition.reason.as_str())
    })
}
