//! Which replica of the operator was the leader, according to its lease. A process that loses the lease must
//! exit, so a former holder must not return.

use std::collections::BTreeSet;

use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_history::{History, SharedMark};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{none, violation};

const LEASE_TAKEN_EARLY: Code = Code::new("lease-taken-early");
const LEADS_AGAIN: Code = Code::new("former-leader-leads-again");

/// Requires that the former holder released the lease or failed to renew it. Returns `NotReached` if the
/// holder never changed, or if versions are missing.
pub fn one_leader_at_a_time(history: &History) -> Ruling {
    if history.marks(SharedMark::LeaseWatchLost).next().is_some() {
        return Err(Broken::NotReached("the history lacks versions of the Lease".into()));
    }
    let mut violations = Vec::new();
    let mut former: BTreeSet<&str> = BTreeSet::new();
    let mut last: Option<(&str, &Value)> = None;
    let mut is_free = false;
    for (_, mark) in history.marks(SharedMark::Lease) {
        let spec = &mark.detail["spec"];
        let Some(holder) = holder_of(spec) else {
            is_free = true;
            continue;
        };
        if let Some((before, last_lease)) = last.filter(|(before, _)| *before != holder) {
            if !is_free && !has_expired(last_lease, spec) {
                violations.push(violation(
                    LEASE_TAKEN_EARLY,
                    format!(
                        "{holder} acquired the Lease at {} while {before} still held it, renewed at {} for \
                         {} s",
                        spec["renewTime"], last_lease["renewTime"], last_lease["leaseDurationSeconds"]
                    ),
                ));
            }
            if former.contains(holder) {
                violations
                    .push(violation(LEADS_AGAIN, format!("{holder} became leader again after {before}")));
            }
            former.insert(before);
        }
        last = Some((holder, spec));
        is_free = false;
    }
    if former.is_empty() {
        return Err(Broken::NotReached("the leader never changed".into()));
    }
    none(violations)
}

fn holder_of(lease: &Value) -> Option<&str> {
    lease["holderIdentity"].as_str().filter(|holder| !holder.is_empty())
}

fn has_expired(last_lease: &Value, next: &Value) -> bool {
    let renewed = |spec: &Value| spec["renewTime"].as_str()?.parse::<Timestamp>().ok();
    let duration = last_lease["leaseDurationSeconds"].as_i64().map(SignedDuration::from_secs);
    match (renewed(last_lease), duration, renewed(next)) {
        (Some(renewed), Some(duration), Some(taken)) => taken.duration_since(renewed) >= duration,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::Story;
    use serde_json::json;

    use super::*;
    use crate::messages;

    /// Checks versions of a lease of 15 s: the holder, with `-` for none, and the second of the write.
    fn check(versions: &[(&str, u32)]) -> Ruling {
        let story = versions.iter().fold(Story::flat(), |story, (holder, second)| {
            let mut spec = json!({
                "holderIdentity": holder,
                "leaseDurationSeconds": 15,
                "renewTime": format!("2026-01-01T00:00:{second:02}.000000Z"),
            });
            if *holder == "-" {
                spec["holderIdentity"] = Value::Null;
            }
            story.mark(SharedMark::Lease, json!({"resourceVersion": "1", "spec": spec}))
        });
        one_leader_at_a_time(&story.end())
    }

    #[rstest::rstest]
    #[case::released(&[("a", 0), ("a", 2), ("-", 2), ("b", 3), ("b", 5)])]
    #[case::twice(&[("a", 0), ("-", 2), ("b", 3), ("-", 4), ("c", 5)])]
    #[case::expired(&[("a", 0), ("a", 2), ("b", 17)])]
    #[case::acquired_again_by_the_former_holder(&[("a", 0), ("-", 2), ("a", 3), ("-", 4), ("b", 5)])]
    fn a_holder_that_waits_for_release_or_expiry_is_allowed(#[case] versions: &[(&str, u32)]) {
        assert_eq!(check(versions), Ok(()));
    }

    #[test]
    fn a_deleted_lease_may_be_acquired_at_once() {
        let lease = |holder: &str| json!({"spec": {"holderIdentity": holder}});
        let story =
            Story::flat().mark(SharedMark::Lease, lease("a")).mark(SharedMark::Lease, json!({"spec": null}));
        assert_eq!(one_leader_at_a_time(&story.mark(SharedMark::Lease, lease("b")).end()), Ok(()));
    }

    #[test]
    fn a_lease_acquired_before_it_expires_is_a_violation() {
        assert_eq!(
            messages(check(&[("a", 0), ("a", 2), ("b", 10)])),
            ["b acquired the Lease at \"2026-01-01T00:00:10.000000Z\" while a still held it, renewed at \
                 \"2026-01-01T00:00:02.000000Z\" for 15 s",]
        );
    }

    #[test]
    fn a_former_holder_that_leads_again_is_a_violation() {
        let all = messages(check(&[("a", 0), ("-", 1), ("b", 2), ("-", 3), ("a", 4)]));
        assert_eq!(all, ["a became leader again after b"]);
    }

    #[test]
    fn without_a_change_of_the_holder_the_ruling_is_undecided() {
        let reached = |ruling: Ruling| !matches!(ruling, Err(Broken::NotReached(_)));
        assert!(!reached(check(&[("a", 0), ("a", 2)])));
        assert!(!reached(check(&[])));
        let incomplete = Story::flat().mark(SharedMark::LeaseWatchLost, Value::Null).end();
        assert!(!reached(one_leader_at_a_time(&incomplete)));
    }
}
