//! Finds PodGangs that are only partially bound. Either their scheduler binds podgroups one by one (TERM-17),
//! or a pod waits for its volume after all pods have got nodes (TERM-21).
//!
//! Such a gang is not breached, because some of its podgroups were never bound. Two of them may each hold
//! nodes that the other needs. So they are terminated after the termination delay.
//!
//! A scaling group replica in a base PodGang may be terminated alone, and then only partially bound. The rest
//! of the PodGang is not affected, so only this replica is terminated again.
//!
//! PodGangs and replicas that wait for the same room are terminated one per delay, the youngest first
//! (TERM-33). If several were terminated at once, each could bind the same pods again. After a termination, the
//! others keep what they have for a whole delay. A PodGang that waits for a volume has room, so it is terminated
//! after one delay. A PodGang waits only for younger ones that were created before its own delay ended.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use grove_api::names::{
    CONDITION_POD_GANG_SCHEDULED, LABEL_SCALING_GROUP, LABEL_SCALING_GROUP_REPLICA_INDEX,
    LABEL_SCHEDULER_NAME,
};
use grove_api::{PodClique, PodGang};
use jiff::Timestamp;
use kube::ResourceExt;
use serde_json::Value;

use crate::cache::caches::Caches;
use crate::cache::gang_view::GangView;
use crate::cache::observed_pod::Pod;
use crate::cache::pods::{bound_since, refusal};
use crate::context::Context;
use crate::context::releases::{GroupReplica, Part};
use crate::faults::fault;
use crate::status::held::held_since;

/// How long a scheduler may take to bind all pods of a gang, even if the termination delay is shorter.
const MIN_BINDING_TIME: Duration = Duration::from_secs(6);

struct PodGroupBinding {
    minimum: Option<Timestamp>,
    first_pod: Option<Timestamp>,
    newest_pod: Option<Timestamp>,
}

struct HalfBound {
    since: Timestamp,
    /// Whether a scheduler refuses a pod of the PodGang.
    waits_for_room: bool,
}

/// A gang that was fully bound and has lost a pod is breached, which `gang_termination` handles. `replica`
/// limits the PodGang to the podgroups of this replica.
fn find_half_bound(caches: &Caches, pod_gang: &PodGang, replica: Option<&GroupReplica>) -> Option<HalfBound> {
    let pcs = caches.pod_clique_set_of(pod_gang)?;
    let mut view = GangView::of(caches, pod_gang);
    if replica.is_some() {
        let members = members(caches, pod_gang).into_iter();
        let own = members.filter(|member| group_replica(member).as_ref() == replica);
        let names: BTreeSet<_> = own.map(|member| member.name_any()).collect();
        view.podgroups.retain(|podgroup| names.contains(&podgroup.name));
    }
    view.unbound_minimum()?;
    let bindings = view.podgroups.iter().filter(|podgroup| podgroup.min_replicas > 0).map(|podgroup| {
        let member = caches.pod_cliques.get(pod_gang.namespace().as_deref(), &podgroup.name);
        let minimum = member.and_then(|member| {
            held_since(&member.status.as_ref()?.conditions, caches.generation_of(&pcs, &member))
        });
        let created = |pod: &Arc<Pod>| Some(pod.metadata.creation_timestamp.as_ref()?.0);
        PodGroupBinding {
            minimum,
            first_pod: podgroup.pods.iter().filter_map(|pod| bound_since(pod)).min(),
            newest_pod: podgroup.pods.iter().filter_map(created).max(),
        }
    });
    let since = half_bound_since(pod_gang, &bindings.collect::<Vec<_>>())?;
    Some(HalfBound { since, waits_for_room: view.pods().iter().any(|pod| refusal(pod).is_some()) })
}

fn half_bound_since(pod_gang: &PodGang, bindings: &[PodGroupBinding]) -> Option<Timestamp> {
    let times = bindings.iter().flat_map(|podgroup| [podgroup.minimum, podgroup.first_pod]);
    let since = times.flatten().min()?;
    if bindings.iter().all(|podgroup| podgroup.minimum.is_some()) {
        return None;
    }
    let mut conditions = pod_gang.status.as_ref()?.conditions.iter();
    let scheduled = conditions.find(|condition| condition.type_ == CONDITION_POD_GANG_SCHEDULED)?;
    // The condition may be written after the first binding of recreated pods. The waiting pods are then older
    // than that binding, unlike those of a replica that was recreated alone.
    let mut waiting = bindings.iter().filter(|podgroup| podgroup.minimum.is_none());
    let are_as_old = waiting.all(|podgroup| podgroup.newest_pod.is_some_and(|newest| newest <= since));
    let was_unscheduled = scheduled.last_transition_time.0 <= since || are_as_old;
    (scheduled.status == "False" && was_unscheduled).then_some(since)
}

fn members(caches: &Caches, pod_gang: &PodGang) -> Vec<Arc<PodClique>> {
    let (namespace, podgroups) = (pod_gang.namespace(), pod_gang.spec.podgroups.iter());
    podgroups.filter_map(|podgroup| caches.pod_cliques.get(namespace.as_deref(), &podgroup.name)).collect()
}

fn group_replica(pclq: &PodClique) -> Option<GroupReplica> {
    let index = pclq.labels().get(LABEL_SCALING_GROUP_REPLICA_INDEX)?.parse().ok()?;
    Some(GroupReplica { index, group: pclq.labels().get(LABEL_SCALING_GROUP)?.clone() })
}

fn part(pod_gang: &PodGang, replica: Option<GroupReplica>) -> Part {
    Part {
        created: pod_gang.metadata.creation_timestamp.as_ref().map(|created| created.0),
        pod_gang: pod_gang.uid().unwrap_or_default(),
        replica,
    }
}

/// Returns the PodGang if it waits for room as a whole, otherwise its scaling group replicas that wait.
fn parts_without_room(caches: &Caches, pod_gang: &PodGang) -> BTreeSet<Part> {
    let waits_for_room = |replica: Option<&GroupReplica>| {
        find_half_bound(caches, pod_gang, replica).is_some_and(|found| found.waits_for_room)
    };
    if waits_for_room(None) {
        return BTreeSet::from([part(pod_gang, None)]);
    }
    let replicas: BTreeSet<_> =
        members(caches, pod_gang).iter().filter_map(|member| group_replica(member)).collect();
    let waiting = replicas.into_iter().filter(|replica| waits_for_room(Some(replica)));
    waiting.map(|replica| part(pod_gang, Some(replica))).collect()
}

/// The PodGangs that may wait for the same room as this one, which is one of them.
fn competing(caches: &Caches, pod_gang: &PodGang) -> Vec<Arc<PodGang>> {
    let scheduler = pod_gang.labels().get(LABEL_SCHEDULER_NAME);
    let own = members(caches, pod_gang);
    let mut all = caches.pod_gangs.store.state();
    all.retain(|other| {
        other.labels().get(LABEL_SCHEDULER_NAME) == scheduler
            && may_share_nodes(&own, &members(caches, other))
    });
    all
}

/// Whether the node selectors of a PodClique of each gang may match one node. Affinities are not compared.
fn may_share_nodes(one: &[Arc<PodClique>], other: &[Arc<PodClique>]) -> bool {
    let may_share = |one: &PodClique, other: &PodClique| {
        may_match(&one.spec.pod_spec.0["nodeSelector"], &other.spec.pod_spec.0["nodeSelector"])
    };
    one.iter().any(|one| other.iter().any(|other| may_share(one, other)))
}

fn may_match(one: &Value, other: &Value) -> bool {
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else { return true };
    one.iter().all(|(label, value)| other.get(label).is_none_or(|other| other == value))
}

/// Returns the time until this part is terminated if it is partially bound. At zero, the caller must terminate it.
pub(super) fn release(
    context: &Context,
    pod_gang: &PodGang,
    replica: Option<GroupReplica>,
    delay: Duration,
    now: Timestamp,
) -> Option<Duration> {
    let HalfBound { since, waits_for_room } = find_half_bound(&context.caches, pod_gang, replica.as_ref())?;
    if fault!("blocked-gangs-released-together") {
        let together = Timestamp::from_second(since.as_second() / 10 * 10).unwrap_or(since);
        return Some(time_left((together, 1), delay, now));
    }
    let own_delay = time_left((since, 1), delay, now);
    // The other parts are many in a large cluster, so they are read only once the part may be terminated.
    if !waits_for_room || !own_delay.is_zero() {
        return Some(own_delay);
    }
    let part = part(pod_gang, replica);
    Some(context.releases.release(&part, now, |released| {
        let competing = competing(&context.caches, pod_gang);
        // Otherwise a steady supply of new gangs could hold this one back indefinitely.
        let is_in_time = |other: &Part| {
            other.created.is_none_or(|created| !time_left((since, 1), delay, created).is_zero())
        };
        let waiting = competing.iter().flat_map(|other| parts_without_room(&context.caches, other));
        let waiting: Vec<_> = waiting.filter(is_in_time).collect();
        let younger = waiting.iter().filter(|other| **other > part).count();
        let competes =
            |other: &Part| competing.iter().any(|gang| gang.uid().as_ref() == Some(&other.pod_gang));
        let others = released.iter().filter(|(other, _)| **other != part && competes(other));
        let last = others.map(|(_, at)| *at).max();
        time_left_among_others(since, (younger, waiting.len()), last, delay, now)
    }))
}

/// One delay for each younger part and this one, and at least one since the last termination of another part.
/// The latter adds at most one per waiting part: parts with a shorter delay may be terminated more often.
fn time_left_among_others(
    since: Timestamp,
    (younger, waiting): (usize, usize),
    last: Option<Timestamp>,
    delay: Duration,
    now: Timestamp,
) -> Duration {
    let after = |delays: usize| time_left((since, u32::try_from(delays).unwrap_or(u32::MAX)), delay, now);
    let after_last = last.map_or(Duration::ZERO, |last| time_left((last, 1), delay, now));
    after(younger + 1).max(after_last).min(after(younger + 1 + waiting))
}

fn time_left((since, delays): (Timestamp, u32), delay: Duration, now: Timestamp) -> Duration {
    let elapsed = Duration::try_from(now.duration_since(since)).unwrap_or_default();
    delay.max(MIN_BINDING_TIME).saturating_mul(delays).saturating_sub(elapsed)
}

#[cfg(test)]
#[path = "half_gangs_tests.rs"]
mod tests;
