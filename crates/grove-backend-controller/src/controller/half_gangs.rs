//! PodGangs that stay half bound, where a scheduler binds their podgroups one by one (TERM-17).
//!
//! A podgroup that is bound is not breached, and one that never was cannot be: nothing would ever end it, and two such gangs that
//! each hold what the other wants would hold it for ever. So one that has been half bound for the termination delay is recycled,
//! which gives its room back. Were all of them to do that at once, each could take the same half again; the youngest goes first,
//! and the next a delay later.

use std::sync::Arc;
use std::time::Duration;

use grove_api::PodGang;
use grove_api::names::{CONDITION_POD_GANG_SCHEDULED, LABEL_SCHEDULER_NAME};
use jiff::Timestamp;
use kube::ResourceExt;

use super::caches::Caches;
use super::context::Context;
use super::pod_clique_status::held_since;
use crate::backend::Served;

/// What a scheduler may take from the first podgroup of a gang to the last, however short the termination delay is.
const BINDING: Duration = Duration::from_secs(6);

/// Since when some podgroup of a PodGang has had its minimum bound, and another one never, in their generation. A gang that was
/// whole since and has lost something is another matter: that is a breach, and has had its answer.
fn half_since(caches: &Caches, pod_gang: &PodGang) -> Option<Timestamp> {
    let pcs = caches.set_of(pod_gang)?;
    let held = pod_gang.spec.podgroups.iter().filter(|podgroup| podgroup.min_replicas > 0).map(|podgroup| {
        let member = caches.pod_cliques.get(pod_gang.namespace().as_deref(), &podgroup.name)?;
        held_since(&member.status.as_ref()?.conditions, caches.generation_of(&pcs, &member))
    });
    never_whole(pod_gang, &held.collect::<Vec<_>>())
}

fn never_whole(pod_gang: &PodGang, held: &[Option<Timestamp>]) -> Option<Timestamp> {
    let since = held.iter().flatten().min().copied().filter(|_| held.iter().any(Option::is_none))?;
    let mut conditions = pod_gang.status.as_ref()?.conditions.iter();
    let scheduled = conditions.find(|condition| condition.type_ == CONDITION_POD_GANG_SCHEDULED)?;
    (scheduled.status == "False" && scheduled.last_transition_time.0 <= since).then_some(since)
}

/// Since when a PodGang is half bound that its scheduler binds in parts, and for how many delays it has to be until it gives its
/// room back.
pub(super) fn half_bound(context: &Context, pod_gang: &PodGang) -> Option<(Timestamp, u32)> {
    let scheduler = pod_gang.labels().get(LABEL_SCHEDULER_NAME);
    let Served::By(backend) = context.serve(pod_gang) else { return None };
    if backend.binds_whole(pod_gang) {
        return None;
    }
    let since = half_since(&context.caches, pod_gang)?;
    let age = |pod_gang: &PodGang| {
        (pod_gang.metadata.creation_timestamp.as_ref().map(|made| made.0), pod_gang.uid())
    };
    let others = context.caches.pod_gangs.store.state();
    let younger = others.iter().filter(|other: &&Arc<PodGang>| {
        other.labels().get(LABEL_SCHEDULER_NAME) == scheduler
            && age(other) > age(pod_gang)
            && half_since(&context.caches, other).is_some()
    });
    Some((since, u32::try_from(younger.count()).unwrap_or(u32::MAX).saturating_add(1)))
}

/// How long it is until then.
pub(super) fn left(half: (Timestamp, u32), delay: Duration, now: Timestamp) -> Duration {
    let (since, delays) = half;
    let due = Duration::try_from(now.duration_since(since)).unwrap_or_default();
    delay.max(BINDING).saturating_mul(delays).saturating_sub(due)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// `Scheduled` has been so since then.
    fn pod_gang(scheduled: &str, since: i64) -> PodGang {
        let condition = json!({"type": CONDITION_POD_GANG_SCHEDULED, "status": scheduled, "reason": "R", "message": "",
                               "lastTransitionTime": at(since)});
        serde_json::from_value(json!({
            "metadata": {"name": "g"}, "spec": {"podgroups": []},
            "status": {"phase": "Pending", "conditions": [condition]},
        }))
        .unwrap()
    }

    #[rstest::rstest]
    #[case::one_of_two(&[Some(5), None], ("False", 3), Some(5))]
    #[case::the_first_of_three(&[Some(7), None, Some(5)], ("False", 3), Some(5))]
    #[case::nothing(&[None, None], ("False", 3), None)]
    #[case::all(&[Some(5), Some(6)], ("True", 6), None)]
    #[case::whole_before_and_a_replica_recycled_alone(&[Some(5), None], ("False", 9), None)]
    fn half(#[case] held: &[Option<i64>], #[case] scheduled: (&str, i64), #[case] since: Option<i64>) {
        let held: Vec<_> = held.iter().map(|second| second.map(at)).collect();
        assert_eq!(never_whole(&pod_gang(scheduled.0, scheduled.1), &held), since.map(at));
    }

    #[rstest::rstest]
    #[case::not_yet((at(5), 1), 8, 7)]
    #[case::after_a_younger_one((at(5), 2), 8, 15)]
    #[case::due((at(1), 1), 5, 1)]
    #[case::a_scheduler_needs_longer((at(5), 1), 1, 5)]
    fn the_youngest_goes_first(#[case] half: (Timestamp, u32), #[case] delay: u64, #[case] seconds: u64) {
        assert_eq!(left(half, Duration::from_secs(delay), at(6)), Duration::from_secs(seconds));
    }
}
