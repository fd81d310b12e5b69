//! Finds PodGangs that are only partially bound. Their scheduler binds podgroups one by one (TERM-17), or a
//! pod waits for its volume after all pods have got nodes (TERM-21).
//!
//! A podgroup that is bound is not breached, and a podgroup that was never bound cannot be. Such a gang would
//! keep its nodes indefinitely, and two gangs that each hold what the other needs would block each other. So
//! a PodGang that was partially bound for the termination delay is terminated.
//!
//! PodGangs that wait for room are terminated one at a time, because each could take the same part again. The
//! youngest is first, and the next one follows a delay later. A PodGang that waits for a volume has room and
//! waits for no other.

use std::sync::Arc;
use std::time::Duration;

use grove_api::PodGang;
use grove_api::names::{CONDITION_POD_GANG_SCHEDULED, LABEL_SCHEDULER_NAME};
use jiff::Timestamp;
use kube::ResourceExt;

use crate::cache::caches::Caches;
use crate::cache::gang_view::GangView;
use crate::cache::pods::{bound_since, refusal};
use crate::context::Context;
use crate::status::held::held_since;

/// How long a scheduler may take to bind all pods of a gang, even if the termination delay is shorter.
const BINDING: Duration = Duration::from_secs(6);

struct Part {
    /// Since when its minimum is known to have been bound.
    held: Option<Timestamp>,
    /// Since when the first of its pods is bound.
    first: Option<Timestamp>,
}

struct Half {
    since: Timestamp,
    /// Whether a scheduler refuses one of its pods.
    wants_room: bool,
}

/// A PodGang that is partially bound, if the minimum of some podgroup was never bound in this generation. A
/// gang that was fully bound and has lost a pod is breached, which `gang_termination` handles.
fn half(caches: &Caches, pod_gang: &PodGang) -> Option<Half> {
    let pcs = caches.set_of(pod_gang)?;
    let view = GangView::of(caches, pod_gang);
    view.unbound_minimum()?;
    let parts = view.podgroups.iter().filter(|podgroup| podgroup.min_replicas > 0).map(|podgroup| {
        let member = caches.pod_cliques.get(pod_gang.namespace().as_deref(), &podgroup.name);
        let held = member.and_then(|member| {
            held_since(&member.status.as_ref()?.conditions, caches.generation_of(&pcs, &member))
        });
        Part { held, first: podgroup.pods.iter().filter_map(|pod| bound_since(pod)).min() }
    });
    let since = never_whole(pod_gang, &parts.collect::<Vec<_>>())?;
    Some(Half { since, wants_room: view.pods().iter().any(|pod| refusal(pod).is_some()) })
}

fn never_whole(pod_gang: &PodGang, parts: &[Part]) -> Option<Timestamp> {
    let since = parts.iter().flat_map(|part| part.held.into_iter().chain(part.first)).min()?;
    if parts.iter().all(|part| part.held.is_some()) {
        return None;
    }
    let mut conditions = pod_gang.status.as_ref()?.conditions.iter();
    let scheduled = conditions.find(|condition| condition.type_ == CONDITION_POD_GANG_SCHEDULED)?;
    (scheduled.status == "False" && scheduled.last_transition_time.0 <= since).then_some(since)
}

/// Since when a PodGang is partially bound, and after how many delays it is terminated.
pub(super) fn half_bound(context: &Context, pod_gang: &PodGang) -> Option<(Timestamp, u32)> {
    let Half { since, wants_room } = half(&context.caches, pod_gang)?;
    if !wants_room {
        return Some((since, 1));
    }
    let scheduler = pod_gang.labels().get(LABEL_SCHEDULER_NAME);
    let age = |pod_gang: &PodGang| {
        (pod_gang.metadata.creation_timestamp.as_ref().map(|made| made.0), pod_gang.uid())
    };
    let others = context.caches.pod_gangs.store.state();
    let younger = others.iter().filter(|other: &&Arc<PodGang>| {
        other.labels().get(LABEL_SCHEDULER_NAME) == scheduler
            && age(other) > age(pod_gang)
            && half(&context.caches, other).is_some_and(|other| other.wants_room)
    });
    Some((since, u32::try_from(younger.count()).unwrap_or(u32::MAX).saturating_add(1)))
}

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

    /// `Scheduled` has had this status since second `since`.
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
    #[case::one_of_two(&[(Some(5), Some(5)), (None, None)], ("False", 3), Some(5))]
    #[case::the_first_of_three(&[(Some(7), Some(7)), (None, None), (Some(5), Some(5))], ("False", 3), Some(5))]
    #[case::a_bound_pod_was_replaced(&[(Some(5), Some(8)), (None, None)], ("False", 3), Some(5))]
    #[case::a_part_of_a_podgroup(&[(None, Some(5))], ("False", 3), Some(5))]
    #[case::nothing(&[(None, None), (None, None)], ("False", 3), None)]
    #[case::all(&[(Some(5), Some(5)), (Some(6), Some(6))], ("True", 6), None)]
    #[case::whole_before_and_a_replica_recycled_alone(&[(Some(5), Some(5)), (None, None)], ("False", 9), None)]
    fn half_since(
        #[case] parts: &[(Option<i64>, Option<i64>)],
        #[case] scheduled: (&str, i64),
        #[case] since: Option<i64>,
    ) {
        let part =
            |(held, first): &(Option<i64>, Option<i64>)| Part { held: held.map(at), first: first.map(at) };
        let parts: Vec<_> = parts.iter().map(part).collect();
        assert_eq!(never_whole(&pod_gang(scheduled.0, scheduled.1), &parts), since.map(at));
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
