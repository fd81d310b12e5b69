//! The condition `MinAvailableHeld` of a PodClique.

use grove_api::names::CONDITION_MIN_AVAILABLE_HELD;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::plan::conditions::{self, Verdict};

/// Whether the minimum was bound in this generation; before that, it cannot be lost. Once True, it stays True
/// until the next generation starts or the PodClique is idle, after which its pods wait for room as at first.
/// The reason contains the generation.
pub(super) fn held_verdict(
    before: &[Condition],
    bound: bool,
    generation: u64,
    is_idle: bool,
) -> Option<Verdict> {
    let known = before.iter().find(|condition| condition.type_ == CONDITION_MIN_AVAILABLE_HELD);
    let held = !is_idle && (bound || held_since(before, generation).is_some());
    let message = match held {
        true => "minAvailable pods of this generation have been scheduled",
        false => "never yet were minAvailable pods of this generation scheduled",
    };
    let verdict = Verdict {
        type_: CONDITION_MIN_AVAILABLE_HELD,
        status: Some(held),
        reason: held_reason(generation).into(),
        message: message.to_owned(),
    };
    (held || known.is_some()).then_some(verdict)
}

/// Whether the condition reports a minimum that was bound in another generation. Its transition time does not
/// apply to this generation, even if no write in between set it to False.
pub(super) fn is_held_of_another(condition: &Condition, generation: u64) -> bool {
    condition.type_ == CONDITION_MIN_AVAILABLE_HELD
        && condition.status == "True"
        && condition.reason != held_reason(generation)
}

fn held_reason(generation: u64) -> String {
    format!("Generation{generation}")
}

/// Since when the minimum is known to have been bound in this generation.
pub(crate) fn held_since(conditions: &[Condition], generation: u64) -> Option<Timestamp> {
    let held = conditions::found(conditions, CONDITION_MIN_AVAILABLE_HELD)?;
    (held.reason == held_reason(generation)).then_some(held.last_transition_time.0)
}
