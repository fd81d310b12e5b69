//! Checks of how conditions change and how often objects are written (STAT-08, STAT-14).

use std::collections::BTreeMap;

use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Code;
use conformance_history::{Change, History, Version, is_of_canary, list, text};
use jiff::SignedDuration;
use serde_json::Value;

use crate::{Shown, none, violation};

const TRANSITION_WITHOUT_CHANGE: Code = Code::new("transition-without-a-change");
const MESSAGE_CHANGED_TOO_OFTEN: Code = Code::new("message-changed-too-often");
const REPEATED_WRITES: Code = Code::new("repeated-writes");

const KINDS: [&str; 4] = ["PodCliqueSet", "PodCliqueScalingGroup", "PodClique", "PodGang"];
/// An operator may reword a condition, or write an idle object, once in this period.
const ONCE_IN: SignedDuration = SignedDuration::from_secs(5);
/// How late the recorder may see the first of two writes.
const LATE: SignedDuration = SignedDuration::from_secs(1);

fn too_soon(history: &History) -> SignedDuration {
    ONCE_IN.saturating_sub(history.allowed(LATE))
}

fn versions(history: &History) -> impl Iterator<Item = Version<'_>> {
    let is_operators =
        |version: &Version<'_>| KINDS.contains(&version.kind()) && !is_of_canary(version.object);
    history.versions().filter(move |version| version.change != Change::Deleted && is_operators(version))
}

type Key = (String, String);

fn conditions(version: Version<'_>) -> impl Iterator<Item = (Key, Value)> {
    list(&version.object["status"]["conditions"])
        .iter()
        .map(move |found| ((version.uid().to_owned(), text(&found["type"]).to_owned()), found.clone()))
}

pub fn transitions_are_correct(history: &History) -> Ruling {
    let mut last: BTreeMap<Key, Value> = BTreeMap::new();
    let mut violations = Vec::new();
    for version in versions(history) {
        for (key, found) in conditions(version) {
            if let Some(before) = last.get(&key)
                && before["status"] == found["status"]
                && before["lastTransitionTime"] != found["lastTransitionTime"]
            {
                let what = format!("{} of {} {}", key.1, version.kind(), version.name());
                let message = format!(
                    "condition {what} is still {}, but its lastTransitionTime changed",
                    found["status"]
                );
                violations.push(violation(TRANSITION_WITHOUT_CHANGE, message).shown_by("moved", version));
            }
            last.insert(key, found);
        }
    }
    none(violations)
}

pub fn messages_are_stable(history: &History) -> Ruling {
    let mut last: BTreeMap<Key, (Value, Vec<Version<'_>>)> = BTreeMap::new();
    let mut violations = Vec::new();
    let too_soon = too_soon(history);
    for version in versions(history) {
        for (key, found) in conditions(version) {
            let fact = |condition: &Value| (condition["status"].clone(), condition["reason"].clone());
            let (before, changes) = last.entry(key.clone()).or_insert_with(|| (found.clone(), Vec::new()));
            if fact(before) != fact(&found) {
                changes.clear();
            } else if before["message"] != found["message"] {
                changes.retain(|earlier| version.at.duration_since(earlier.at) < too_soon);
                changes.push(version);
                if changes.len() == 2 {
                    let what = format!("{} of {} {}", key.1, version.kind(), version.name());
                    let message = format!(
                        "condition {what}: its message changed twice within 5 s without a new status \
                             or reason, last to {}",
                        found["message"]
                    );
                    violations.push(
                        violation(MESSAGE_CHANGED_TOO_OFTEN, message)
                            .shown_by("first", changes[0])
                            .shown_by("again", version),
                    );
                }
            }
            *before = found;
        }
    }
    none(violations)
}

/// Requires that objects are not written repeatedly between two entries without events to handle (STAT-08).
pub fn no_write_loops(history: &History, from: usize, until: usize) -> Ruling {
    let mut writes: BTreeMap<&str, Vec<Version<'_>>> = BTreeMap::new();
    for version in versions(history).filter(|version| (from..until).contains(&version.index)) {
        writes.entry(version.uid()).or_default().push(version);
    }
    let too_soon = too_soon(history);
    let mut often = writes.into_values().filter_map(|versions| {
        let pair = versions.windows(2).find(|pair| pair[1].at.duration_since(pair[0].at) < too_soon)?;
        let message = format!(
            "{} {} was written {} times while the operator was idle, want no repeated writes",
            pair[0].kind(),
            pair[0].name(),
            versions.len()
        );
        Some(violation(REPEATED_WRITES, message).shown_by("first", pair[0]).shown_by("again", pair[1]))
    });
    none(often.by_ref())
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, object};
    use serde_json::json;

    use super::*;

    fn pclq(status: &str, since: &str, message: &str) -> Value {
        let mut pclq = object("PodClique", "c");
        pclq["status"]["conditions"] = json!([{"type": "T", "status": status, "reason": "R", "lastTransitionTime": since, "message": message}]);
        pclq
    }

    #[test]
    fn a_transition_time_that_changes_without_the_status_is_a_violation() {
        let story = |next: Value| Story::flat().added(pclq("True", "1", "a")).modified(next).end();
        assert_eq!(transitions_are_correct(&story(pclq("False", "2", "a"))), Ok(()));
        assert_eq!(transitions_are_correct(&story(pclq("True", "1", "b"))), Ok(()));
        assert!(transitions_are_correct(&story(pclq("True", "2", "a"))).is_err());
    }

    #[rstest::rstest]
    #[case::once(&[("True", "a", 0), ("True", "b", 1)], true)]
    #[case::twice(&[("True", "a", 0), ("True", "b", 1), ("True", "c", 1)], false)]
    #[case::twice_in_time(&[("True", "a", 0), ("True", "b", 1), ("True", "c", 6)], true)]
    #[case::another_fact(&[("True", "a", 0), ("True", "b", 1), ("False", "c", 1), ("False", "d", 0)], true)]
    fn a_message_that_changes_twice_within_5_seconds_is_a_violation(
        #[case] writes: &[(&str, &str, i64)],
        #[case] fine: bool,
    ) {
        let write = |story: Story, (status, message, after): &(&str, &str, i64)| {
            story.later(*after).modified(pclq(status, status, message))
        };
        assert_eq!(messages_are_stable(&writes.iter().fold(Story::flat(), write).end()).is_ok(), fine);
    }

    #[rstest::rstest]
    #[case(&[0], true)]
    #[case(&[0, 6], true)]
    #[case(&[0, 1], false)]
    fn two_writes_within_5_seconds_are_a_violation(#[case] after: &[i64], #[case] fine: bool) {
        let write = |story: Story, after: &i64| story.later(*after).modified(pclq("True", "1", "a"));
        let history = after.iter().fold(Story::flat(), write).end();
        assert_eq!(no_write_loops(&history, 0, history.entries.len()).is_ok(), fine);
        assert_eq!(no_write_loops(&history, 0, 1), Ok(()), "the second write is later");
        assert_eq!(no_write_loops(&history, 1, history.entries.len()), Ok(()), "the first write is earlier");
    }

    #[rstest::rstest]
    #[case::fast(None, 3, false)]
    #[case::slow(Some(3.0), 3, true)]
    #[case::slow_and_too_soon(Some(3.0), 1, false)]
    fn a_slow_machine_may_show_a_write_late(
        #[case] slowness: Option<f64>,
        #[case] after: i64,
        #[case] fine: bool,
    ) {
        let write = |story: Story, message| story.later(after).modified(pclq("True", "1", message));
        let mut history = ["a", "b", "c"].into_iter().fold(Story::flat(), write).end();
        history.header.slowness = slowness;
        assert_eq!(no_write_loops(&history, 0, history.entries.len()).is_ok(), fine);
        assert_eq!(messages_are_stable(&history).is_ok(), fine);
    }
}
