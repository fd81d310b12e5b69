pub(crate) mod another_replica_never_bound;
pub(crate) mod breached_at_start;
pub(crate) mod breached_replica_recreated;
pub(crate) mod claim_unbound;
pub(crate) mod controller_killed;
pub(crate) mod freed_capacity_contested;
pub(crate) mod group_replica;
pub(crate) mod group_scaled_in;
pub(crate) mod old_pod_terminating;
pub(crate) mod partial_gang_releases_capacity;
pub(crate) mod partial_gangs_deadlock;
pub(crate) mod partial_replica_releases_capacity;
pub(crate) mod readiness;
pub(crate) mod recreated_in_other_block;
pub(crate) mod recreated_in_other_rack;
pub(crate) mod replica_in_base;
pub(crate) mod scaled_in_during_termination;
pub(crate) mod shared_device;
pub(crate) mod short_breach_ignored;
pub(crate) mod terminated_during_stuck_update;
pub(crate) mod termination_delay_changed;
pub(crate) mod unbound_gang_not_terminated;

use std::time::Duration;

use conformance_expect::scopes::{Scope, SetReplica, replicas};
use conformance_facts::generations::{GangTermination, terminations};
use jiff::SignedDuration;

use crate::prelude::*;

/// The usual termination delay of the manifests: just long enough to detect a deletion without any delay.
const DELAY: Duration = Duration::from_secs(2);

pub(crate) fn replica(history: &History, set: &str, index: usize) -> Result<SetReplica, Broken> {
    let all = replicas(history.submitted(set)?).into_iter();
    let mut matching = all.filter(|replica| replica.index == index);
    matching.next().ok_or_else(|| {
        Broken::NotReached(format!("PodCliqueSet {set} was submitted without replica {index}"))
    })
}

fn requires_recreation(history: &History, replica: &SetReplica) -> Ruling {
    precondition(TERM_02, termination::recreated(history, replica, &replica.scope()))
}

const NOT_RELEASED: Code = Code::new("capacity-not-released");

/// Without a termination, clauses about recreated pods are undecided.
fn requires_termination(history: &History, replica: &SetReplica) -> Ruling {
    let times = generations::terminations(history, &replica.scope()).len();
    precondition(TERM_02, termination::times(history, replica, &replica.scope(), times.max(1)))?;
    requires_recreation(history, replica)
}

const RECYCLED_EARLY: Code = Code::new("gang-with-bound-pods-terminated-early");

fn is_bound(live: &Live, clique: &str) -> bool {
    pods_of(live, clique).any(|pod| pod.node().is_some())
}

/// API times have whole seconds, so the check allows one second less.
fn not_recycled_early(history: &History, termination: &GangTermination<'_>, delay: u32) -> Ruling {
    let Some(bound) = termination.first_binding(history) else { return Ok(()) };
    let lasted = termination.started.at.duration_since(bound.happened());
    ensure(lasted >= SignedDuration::from_secs(i64::from(delay) - 1), || {
        let seconds = lasted.as_secs_f64();
        let message = format!(
            "the gang was terminated {seconds:.1} s after its first pod was bound, want at least {delay} s"
        );
        violation(RECYCLED_EARLY, message)
            .shown_by("bound", bound)
            .shown_by("first deletion", termination.started)
    })
}

/// Requires that the scope was terminated at least this often before the entry at `until`, and never early.
fn releases_capacity(history: &History, scope: &Scope, until: usize, least: usize, delay: u32) -> Ruling {
    let found = terminations(history, scope);
    all(found.iter().map(|termination| not_recycled_early(history, termination, delay)))?;
    let count = found.iter().filter(|termination| termination.started.index < until).count();
    ensure(count >= least, || {
        let message = format!(
            "{scope} was terminated {count} times in several termination delays, want at least {least}"
        );
        violation(NOT_RELEASED, message)
    })
}

const RELEASED_TOGETHER: Code = Code::new("blocked-gangs-released-together");

/// Requires a delay between terminations of different scopes.
fn one_per_delay(history: &History, scopes: &[Scope], delay: u32) -> Ruling {
    let of_scope = |scope| terminations(history, scope).into_iter().map(move |found| (scope, found.started));
    let mut found: Vec<_> = scopes.iter().flat_map(of_scope).collect();
    found.sort_by_key(|(_, started)| started.index);
    all(found.windows(2).map(|pair| {
        let [(one, first), (other, second)] = pair else { return Ok(()) };
        // The first deletion may be delivered late. API times have whole seconds.
        let apart = second.at.duration_since(first.happened());
        ensure(one == other || apart >= SignedDuration::from_secs(i64::from(delay) - 1), || {
            let seconds = apart.as_secs_f64();
            let message =
                format!("{other} was terminated {seconds:.1} s after {one}, want at least {delay} s");
            violation(RELEASED_TOGETHER, message)
                .shown_by("first deletion", *first)
                .shown_by("deletion too soon", *second)
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn pod_of(set: &str, clique: &str, name: &str, node: Option<&str>) -> Value {
        let labels = json!({names::PART_OF: set, names::REPLICA_INDEX: "0", names::POD_CLIQUE: clique});
        json!({"kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": {"nodeName": node}})
    }

    pub(super) fn ruling_of(found: &[Finding], clause: &str) -> Ruling {
        let finding = found.iter().find(|finding| finding.clause == clause);
        finding.expect("a finding of the clause").ruling.clone()
    }

    fn pod(name: &str, node: Option<&str>) -> Value {
        pod_of("w", "w-0-worker", name, node)
    }

    #[rstest::rstest]
    #[case::after_the_delay(4, &[])]
    #[case::rounded(3, &[])]
    #[case::early(2, &["gang-with-bound-pods-terminated-early"])]
    fn terminating_a_partly_bound_gang_early_is_a_violation(#[case] seconds: i64, #[case] wanted: &[&str]) {
        let bound = pod("a", Some("n"));
        let waiting = Story::flat().added(pod("a", None)).added(pod("b", None)).modified(bound.clone());
        let deleted = waiting.later(seconds).deleted(bound).deleted(pod("b", None));
        let history = deleted.added(pod("c", None)).added(pod("d", None)).end();
        let found = terminations(&history, &Scope::Replica { set: "w".into(), index: 0 });
        assert_eq!(found.len(), 1);
        assert_eq!(codes(not_recycled_early(&history, &found[0], 4)), wanted);
    }

    #[rstest]
    #[case::once(1, &[])]
    #[case::not_again(2, &["capacity-not-released"])]
    fn a_partly_bound_gang_that_is_terminated_too_rarely_is_a_violation(
        #[case] least: usize,
        #[case] wanted: &[&str],
    ) {
        let bound = pod("a", Some("n"));
        let waiting = Story::flat().added(pod("a", None)).added(pod("b", None)).modified(bound.clone());
        let deleted = waiting.later(6).deleted(bound).deleted(pod("b", None));
        let history = deleted.added(pod("c", None)).added(pod("d", None)).end();
        let scope = Scope::Replica { set: "w".into(), index: 0 };
        assert_eq!(codes(releases_capacity(&history, &scope, history.entries.len(), least, 6)), wanted);
        assert_eq!(codes(releases_capacity(&history, &scope, 0, 1, 6)), ["capacity-not-released"]);
    }

    fn of_replica(name: &str, replica: &str) -> Value {
        let mut pod = pod(&format!("{name}-{replica}"), None);
        pod["metadata"]["labels"][names::REPLICA_INDEX] = json!(replica);
        pod
    }

    fn both_replicas() -> [Scope; 2] {
        [0, 1].map(|index| Scope::Replica { set: "w".into(), index })
    }

    #[rstest]
    #[case::after_the_delay(1, 4, &[])]
    #[case::rounded(1, 3, &[])]
    #[case::too_soon(1, 2, &["blocked-gangs-released-together"])]
    #[case::the_same_gang(0, 2, &[])]
    fn terminating_two_gangs_within_a_delay_is_a_violation(
        #[case] next: usize,
        #[case] seconds: i64,
        #[case] wanted: &[&str],
    ) {
        let pods = |replica: &str| ["old", "new", "newest"].map(|name| of_replica(name, replica));
        let ([first, recreated, last], [other, other_recreated, _]) = (pods("0"), pods("1"));
        let both = Story::flat().added(first.clone()).added(other.clone());
        let once = both.deleted(first).added(recreated.clone()).later(seconds);
        let (old, new) = if next == 0 { (recreated, last) } else { (other, other_recreated) };
        assert_eq!(codes(one_per_delay(&once.deleted(old).added(new).end(), &both_replicas(), 4)), wanted);
    }

    #[test]
    fn a_first_deletion_that_is_delivered_late_is_no_violation() {
        let mut first = of_replica("old", "0");
        let both = Story::flat().added(first.clone()).added(of_replica("old", "1"));
        first["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:00:00Z");
        let once = both.later(3).modified(first).added(of_replica("new", "0"));
        let twice = once.later(1).deleted(of_replica("old", "1")).added(of_replica("new", "1"));
        assert_eq!(one_per_delay(&twice.end(), &both_replicas(), 4), Ok(()));
    }

    #[test]
    fn a_gang_that_was_never_terminated_leaves_its_recreation_undecided() {
        let ruling = |story: Story| {
            let history = story.submitted(one_clique("w", 1)).end();
            requires_termination(&history, &replica(&history, "w", 0).expect("submitted"))
        };
        let bound = || Story::flat().added(pod("a", Some("n"))).added(pod("b", Some("n")));
        let never = ruling(bound());
        assert!(matches!(never, Err(Broken::Precondition { clause: TERM_02, .. })), "{never:?}");
        let deleted = bound().deleted(pod("a", Some("n"))).deleted(pod("b", Some("n")));
        assert_eq!(ruling(deleted.added(pod("c", None)).added(pod("d", None))), Ok(()));
    }
}
