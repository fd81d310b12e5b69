use std::borrow::Cow;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

#[derive(Clone, Debug)]
pub(crate) struct ConditionUpdate {
    pub type_: &'static str,
    pub status: Option<bool>,
    pub reason: Cow<'static, str>,
    pub message: String,
}

/// The transition time changes only with the status. An equal condition stays as it is, including its
/// observed generation, so that an unchanged status is never written (GANG-11).
pub(crate) fn with(
    mut conditions: Vec<Condition>,
    update: ConditionUpdate,
    generation: Option<i64>,
) -> Vec<Condition> {
    let status = match update.status {
        Some(true) => "True",
        Some(false) => "False",
        None => "Unknown",
    };
    let mut condition = Condition {
        type_: update.type_.to_owned(),
        status: status.to_owned(),
        reason: update.reason.into_owned(),
        message: update.message,
        observed_generation: generation,
        last_transition_time: Time(Timestamp::now()),
    };
    match conditions.iter_mut().find(|old| old.type_ == condition.type_) {
        None => conditions.push(condition),
        Some(old) if is_equal(old, &condition) => {}
        Some(old) => {
            if old.status == condition.status {
                condition.last_transition_time = old.last_transition_time.clone();
            }
            *old = condition;
        }
    }
    conditions
}

pub(crate) fn without(mut conditions: Vec<Condition>, type_: &str) -> Vec<Condition> {
    conditions.retain(|condition| condition.type_ != type_);
    conditions
}

fn is_equal(old: &Condition, new: &Condition) -> bool {
    old.status == new.status && old.reason == new.reason && old.message == new.message
}

pub(crate) fn true_condition<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_ && condition.status == "True")
}

pub(crate) fn true_since(conditions: &[Condition], type_: &str) -> Option<Timestamp> {
    true_condition(conditions, type_).map(|condition| condition.last_transition_time.0)
}

pub(crate) fn is_true(conditions: &[Condition], type_: &str) -> bool {
    true_condition(conditions, type_).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(status: bool, message: &str) -> ConditionUpdate {
        ConditionUpdate { type_: "T", status: Some(status), reason: "R".into(), message: message.to_owned() }
    }

    #[test]
    fn the_transition_time_changes_only_with_the_status() {
        let first = with(Vec::new(), update(false, "a"), Some(1));
        let same = with(first.clone(), update(false, "a"), Some(2));
        assert_eq!(first, same);
        let reworded = with(first.clone(), update(false, "b"), Some(2));
        assert_eq!(reworded[0].last_transition_time, first[0].last_transition_time);
        assert_eq!(reworded[0].message, "b");
        let changed = with(first.clone(), update(true, "b"), Some(2));
        assert!(is_true(&changed, "T") && !is_true(&first, "T"));
        assert_eq!(changed.len(), 1);
    }
}
