//! The condition `DisruptionTarget` of a PodGang: a scheduler has evicted some of its pods (PRE-13).

use grove_api::names::CONDITION_POD_GANG_DISRUPTION_TARGET;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::plan::conditions::{self, ConditionUpdate};

#[derive(Clone, Copy, Debug)]
pub(super) struct Evictions {
    pub is_marked: bool,
    /// Whether this program has seen such a mark, and the PodClique has not been bound again since then.
    pub is_remembered: bool,
}

/// True from the first mark until the minimum of the gang is bound again. The condition itself remembers an
/// eviction after this program restarts. `None` if no pod of the gang was ever evicted.
pub(super) fn condition(
    before: &[Condition],
    evictions: Evictions,
    is_scheduled: bool,
) -> Option<ConditionUpdate> {
    let type_ = CONDITION_POD_GANG_DISRUPTION_TARGET;
    let was_evicted = evictions.is_remembered || conditions::is_true(before, type_);
    let is_target = evictions.is_marked || (was_evicted && !is_scheduled);
    let (reason, message) = match is_target {
        true => (
            "PreemptionByScheduler",
            "the scheduler has evicted pods to make room for another gang; their replacements wait for room",
        ),
        false => ("MinimumScheduled", "the minimum of every podgroup is scheduled again"),
    };
    let is_known = before.iter().any(|condition| condition.type_ == type_);
    (is_target || is_known).then(|| ConditionUpdate {
        type_,
        status: Some(is_target),
        reason: reason.into(),
        message: message.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: bool = true;

    /// States: whether a pod is marked, an eviction is remembered, and the minimum is bound.
    fn after(states: &[(bool, bool, bool)]) -> Option<String> {
        let conditions = states.iter().fold(
            Vec::<Condition>::new(),
            |before, (is_marked, is_remembered, is_scheduled)| {
                let evictions = Evictions { is_marked: *is_marked, is_remembered: *is_remembered };
                match condition(&before, evictions, *is_scheduled) {
                    Some(update) => conditions::with(before, update, None),
                    None => before,
                }
            },
        );
        conditions.first().map(|condition| condition.status.clone())
    }

    #[rstest::rstest]
    #[case::never_evicted(&[(false, false, false), (false, false, BOUND)], None)]
    #[case::marked(&[(true, true, BOUND)], Some("True"))]
    #[case::not_seen_marked(&[(false, true, false)], Some("True"))]
    #[case::waiting(&[(true, true, BOUND), (false, true, false)], Some("True"))]
    #[case::after_a_restart(&[(true, true, BOUND), (false, false, false)], Some("True"))]
    #[case::bound_again(&[(true, true, BOUND), (false, true, false), (false, true, BOUND)], Some("False"))]
    #[case::unbound_later(
        &[(true, true, BOUND), (false, true, BOUND), (false, false, false)],
        Some("False")
    )]
    fn the_condition_is_true_until_the_gang_is_bound_again(
        #[case] states: &[(bool, bool, bool)],
        #[case] wanted: Option<&str>,
    ) {
        assert_eq!(after(states).as_deref(), wanted);
    }
}
