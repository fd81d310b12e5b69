//! The condition `MinAvailableHeld` of a PodClique: its minimum has been bound in this generation.

use std::sync::Arc;

use grove_api::PodClique;
use grove_api::names::CONDITION_MIN_AVAILABLE_HELD;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::cache::observed_pod::Pod;
use crate::cache::pods::{is_bound, is_live, is_preempted};
use crate::plan::conditions::{self, ConditionUpdate};

/// Only a minimum that was bound can be breached. The condition stays True until the next generation, a scale
/// to 0, or the eviction of all pods.
pub(super) fn held_condition(
    before: &[Condition],
    is_bound: bool,
    generation: u64,
    is_idle: bool,
) -> Option<ConditionUpdate> {
    let known = before.iter().find(|condition| condition.type_ == CONDITION_MIN_AVAILABLE_HELD);
    let held = !is_idle && (is_bound || held_since(before, generation).is_some());
    let message = match held {
        true => "minAvailable pods of this generation have been scheduled",
        false => "minAvailable pods of this generation have never been scheduled",
    };
    let condition = ConditionUpdate {
        type_: CONDITION_MIN_AVAILABLE_HELD,
        status: Some(held),
        reason: held_reason(generation).into(),
        message: message.to_owned(),
    };
    (held || known.is_some()).then_some(condition)
}

/// If all bound pods were evicted, their replacements wait for capacity like the first pods, so this is no
/// breach (PRE-12). Pods that are left hold capacity that the gang cannot use, so the PodClique is breached.
pub(super) fn is_evicted(pods: &[Arc<Pod>], is_remembered: bool) -> bool {
    let is_left = |pod: &Arc<Pod>| is_live(pod) && is_bound(pod) && !is_preempted(pod);
    (is_remembered || pods.iter().any(|pod| is_preempted(pod))) && !pods.iter().any(is_left)
}

pub(super) fn without_minimum(mut pclq: PodClique) -> PodClique {
    if let Some(status) = &mut pclq.status {
        status.conditions.retain(|condition| condition.type_ != CONDITION_MIN_AVAILABLE_HELD);
    }
    pclq
}

/// The transition time of a condition of another generation does not apply to this one.
pub(super) fn is_held_in_other_generation(condition: &Condition, generation: u64) -> bool {
    condition.type_ == CONDITION_MIN_AVAILABLE_HELD
        && condition.status == "True"
        && condition.reason != held_reason(generation)
}

fn held_reason(generation: u64) -> String {
    format!("Generation{generation}")
}

pub(crate) fn held_since(conditions: &[Condition], generation: u64) -> Option<Timestamp> {
    let held = conditions::true_condition(conditions, CONDITION_MIN_AVAILABLE_HELD)?;
    (held.reason == held_reason(generation)).then_some(held.last_transition_time.0)
}
