//! Gang termination: deletes and recreates the pods of a scope whose breach has lasted for the termination
//! delay.
//!
//! A PodCliqueSet replica is breached if one of its standalone PodCliques is, or if a scaling group has too
//! few unbreached replicas. If the group has enough, only its breached replica is terminated. A PodClique can
//! be breached only after its minimum was bound in this generation, so a gang that waits for room keeps
//! waiting. The statuses store the start of a breach, so it survives a restart. Termination only writes the
//! number of the next generation.
//!
//! An update takes pods down itself. In the replica of the current update step, the delay starts with the
//! step and again with each pod that becomes Ready. If the step makes no progress for a whole delay, the
//! replica is terminated.

use std::sync::Arc;
use std::time::Duration;

use grove_api::names::{self, CONDITION_MIN_AVAILABLE_BREACHED};
use grove_api::{PodClique, PodCliqueScalingGroup, PodCliqueSet};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::half_gangs;
use crate::cache::caches::of;
use crate::cache::generation::{self, Cause, of_replica};
use crate::cache::informer::Informer;
use crate::cache::ownership::is_controlled_by;
use crate::context::Context;
use crate::context::action::Action;
use crate::context::error::ReconcileError;
use crate::context::writes::{self, Writable};
use crate::faults::fault;
use crate::plan::conditions;
use crate::plan::duration::duration;
use crate::status::held::held_since;

/// Upstream's default, 4 h.
const DEFAULT_DELAY: Duration = Duration::from_secs(4 * 60 * 60);
/// Statuses store times in whole seconds.
const ROUNDED: Duration = Duration::from_secs(1);

const REASON_REPLICA_RECYCLED: &str = "PodCliqueSetReplicaDeleteSuccessful";
const REASON_GROUP_REPLICA_RECYCLED: &str = "PodCliqueScalingGroupReplicaDeleteSuccessful";

const BREACHED: &str = "its minimum was not available for the termination delay";
const HALF_BOUND: &str = "it was bound in part for the termination delay, and gives its room back";

/// Terminates the replicas whose delay has expired, and requeues for the next deadline.
pub(crate) async fn reconcile(
    pcs: Arc<PodCliqueSet>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    if pcs.metadata.deletion_timestamp.is_some() || context.registry.resolve(&pcs).is_none() {
        return Ok(Action::await_change());
    }
    let delay = pcs.spec.template.termination_delay.as_deref().and_then(duration);
    let delay = delay.filter(|delay| !delay.is_zero()).unwrap_or(DEFAULT_DELAY) + ROUNDED;
    let delay = if fault!("termination-at-once") { Duration::ZERO } else { delay };
    let now = Timestamp::now();
    let mut next: Option<Duration> = None;
    for i in 0..pcs.spec.replicas {
        if fault!("update-shelters") && turn_began(&pcs, i).is_some() {
            continue;
        }
        if fault!("update-shelters-others") && turn_began(&pcs, i).is_none() && is_updating(&pcs) {
            continue;
        }
        let replica = Replica::of(&context, &pcs, i);
        let clocks = replica.clocks().not_before(turn_began(&pcs, i));
        let plan = plan(&clocks, delay, now);
        next = next.into_iter().chain(plan.wait).min();
        if plan.whole {
            replica.recycle(&context, &pcs, BREACHED).await?;
            continue;
        }
        for (group, replicas) in replica.groups.iter().zip(&plan.of_groups) {
            group.recycle(&context, &pcs, replicas, BREACHED).await?;
        }
        if plan.of_groups.iter().all(Vec::is_empty) && !fault!("half-gangs-stay") {
            next = next.into_iter().chain(replica.give_back(&context, &pcs, delay, now).await?).min();
        }
    }
    Ok(next.map_or_else(Action::await_change, Action::requeue))
}

/// Since when each part is breached; `None` if it is not.
#[derive(Debug, Default, PartialEq, Eq)]
struct Clocks {
    standalone: Vec<Option<Timestamp>>,
    groups: Vec<GroupClocks>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct GroupClocks {
    min: usize,
    replicas: Vec<Option<Timestamp>>,
}

impl Clocks {
    /// Moves breaches that started before the update step to the start of the step.
    fn not_before(mut self, turn: Option<Timestamp>) -> Self {
        let of_groups = self.groups.iter_mut().flat_map(|group| &mut group.replicas);
        for since in self.standalone.iter_mut().chain(of_groups).flatten() {
            *since = turn.map_or(*since, |turn| turn.max(*since));
        }
        self
    }
}

fn is_updating(pcs: &PodCliqueSet) -> bool {
    (0..pcs.spec.replicas).any(|i| turn_began(pcs, i).is_some())
}

/// Start of the update step of replica `i`, if that is the current one.
fn turn_began(pcs: &PodCliqueSet, i: i32) -> Option<Timestamp> {
    let progress = pcs.status.as_ref()?.update_progress.as_ref()?;
    let current = progress.currently_updating.iter().find(|current| current.replica_index == i)?;
    Some(current.update_started_at.as_ref()?.0)
}

impl GroupClocks {
    /// Since when too few replicas are unbreached.
    fn breached(&self) -> Option<Timestamp> {
        let mut breached: Vec<_> = self.replicas.iter().flatten().copied().collect();
        breached.sort_unstable();
        let spare = self.replicas.len().checked_sub(self.min)?;
        breached.get(spare).copied()
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    /// The whole PodCliqueSet replica.
    whole: bool,
    /// Replica indexes, for each scaling group.
    of_groups: Vec<Vec<i32>>,
    /// Time until the next deadline.
    wait: Option<Duration>,
}

fn plan(clocks: &Clocks, delay: Duration, now: Timestamp) -> Plan {
    let left = |since: Timestamp| -> Duration {
        let ends = since.saturating_add(SignedDuration::try_from(delay).unwrap_or(SignedDuration::MAX));
        ends.map_or(Duration::MAX, |ends| {
            Duration::try_from(ends.duration_since(now)).unwrap_or(Duration::ZERO)
        })
    };
    let whole = clocks.standalone.iter().copied().chain(clocks.groups.iter().map(GroupClocks::breached));
    let whole = whole.flatten().map(left).min();
    if whole == Some(Duration::ZERO) {
        return Plan { whole: true, ..Plan::default() };
    }
    let mut plan = Plan { wait: whole, ..Plan::default() };
    for group in &clocks.groups {
        let mut due = Vec::new();
        // If too few replicas are left, the whole PodCliqueSet replica is terminated instead.
        let alone = group.replicas.iter().enumerate().filter(|_| group.breached().is_none());
        for (j, since) in alone.filter_map(|(j, since)| Some((i32::try_from(j).ok()?, (*since)?))) {
            match left(since) {
                Duration::ZERO => due.push(j),
                wait => plan.wait = plan.wait.into_iter().chain([wait]).min(),
            }
        }
        plan.of_groups.push(due);
    }
    plan
}

struct Replica {
    i: i32,
    /// PodCliques with the generation that their pods must have.
    standalone: Vec<(Arc<PodClique>, u64)>,
    groups: Vec<Group>,
    base: String,
}

/// A scaling group with the existing PodCliques of each replica.
struct Group {
    pcsg: Arc<PodCliqueScalingGroup>,
    replicas: Vec<Vec<(Arc<PodClique>, u64)>>,
}

async fn delete_own<K: Writable>(
    context: &Context,
    cache: &Informer<K>,
    pcs: &PodCliqueSet,
) -> Result<(), ReconcileError> {
    let found = cache.indexed(&of(&pcs.namespace().unwrap_or_default(), &pcs.name_any()));
    for object in found.iter().filter(|object| is_controlled_by(&***object, pcs)) {
        writes::delete(&context.client, &**object).await?;
    }
    Ok(())
}

impl Replica {
    fn of(context: &Context, pcs: &PodCliqueSet, i: i32) -> Self {
        let (caches, namespace, set) = (&context.caches, pcs.namespace(), pcs.name_any());
        let base = context.pod_gang_names.base(pcs, i);
        let generation = caches.gang_of_set(pcs, &base).map_or(0, |base| generation::of_gang(&base));
        let template = &pcs.spec.template;
        let clique = |name: String| {
            let found = caches.pod_cliques.get(namespace.as_deref(), &name)?;
            found.metadata.deletion_timestamp.is_none().then_some(found)
        };
        let standalone = template.standalone_cliques().filter_map(|template| {
            let found = clique(names::standalone_pod_clique(&set, i, &template.name));
            found.filter(|found| is_controlled_by(&**found, pcs)).map(|found| (found, generation))
        });
        let group = |name: &String| {
            let pcsg =
                caches.scaling_groups.get(namespace.as_deref(), &names::scaling_group(&set, i, name))?;
            let pcsg = Some(pcsg).filter(|pcsg| is_controlled_by(&**pcsg, pcs))?;
            let members = |j: i32| {
                let generation = of_replica(generation, Some(&pcsg), j);
                let names = pcsg.spec.clique_names.iter();
                let found = names
                    .filter_map(|name| clique(names::scaling_group_pod_clique(&pcsg.name_any(), j, name)));
                found
                    .filter(|found| is_controlled_by(&**found, &*pcsg))
                    .map(|found| (found, generation))
                    .collect()
            };
            let replicas = (0..pcsg.spec.replicas).map(members).collect();
            Some(Group { pcsg, replicas })
        };
        Self {
            i,
            standalone: standalone.collect(),
            groups: template
                .pod_clique_scaling_groups
                .iter()
                .filter_map(|config| group(&config.name))
                .collect(),
            base,
        }
    }

    fn clocks(&self) -> Clocks {
        let clock = |(pclq, generation): &(Arc<PodClique>, u64)| breached_since(pclq, *generation);
        let group = |group: &Group| GroupClocks {
            min: if fault!("group-takes-all") {
                group.replicas.len()
            } else {
                usize::try_from(group.pcsg.spec.min_available.unwrap_or(1)).unwrap_or(0)
            },
            replicas: group.replicas.iter().map(|members| members.iter().filter_map(clock).min()).collect(),
        };
        Clocks {
            standalone: self.standalone.iter().map(clock).collect(),
            groups: self.groups.iter().map(group).collect(),
        }
    }

    /// Starts the next generation of the whole replica. The number exceeds that of every pod, because a
    /// recreated PodGang has lost its count.
    async fn recycle(&self, context: &Context, pcs: &PodCliqueSet, why: &str) -> Result<(), ReconcileError> {
        let Some(base) = context.caches.gang_of_set(pcs, &self.base) else { return Ok(()) };
        let cliques = self
            .standalone
            .iter()
            .chain(self.groups.iter().flat_map(|group| group.replicas.iter().flatten()));
        let namespace = pcs.namespace().unwrap_or_default();
        let pods =
            cliques.flat_map(|(pclq, _)| context.caches.pods.indexed(&of(&namespace, &pclq.name_any())));
        let highest = pods.map(|pod| generation::of_pod(&pod)).max().unwrap_or(0);
        let next = generation::of_gang(&base).max(highest) + 1;
        writes::patch(context, &*base, &generation::next_of_gang(&base, next)).await?;
        if !fault!("recycles-uncounted") {
            context.metrics.recycled(&namespace, 1);
        }
        if fault!("recycle-takes-gang") {
            writes::delete(&context.client, &*base).await?;
        }
        if fault!("recycle-takes-claims") {
            delete_own(context, &context.caches.resource_claims, pcs).await?;
        }
        if fault!("recycle-takes-autoscalers") {
            delete_own(context, &context.caches.autoscalers, pcs).await?;
        }
        let note = format!("PodCliqueSet replica {} recycled: {why}", self.i);
        context.events.tell(pcs, REASON_REPLICA_RECYCLED, &note).await;
        Ok(())
    }

    /// Terminates the gangs that have been partially bound for the delay. Returns the time until the next
    /// deadline.
    async fn give_back(
        &self,
        context: &Context,
        pcs: &PodCliqueSet,
        delay: Duration,
        now: Timestamp,
    ) -> Result<Option<Duration>, ReconcileError> {
        let left = |gang: &str| {
            let gang = context.caches.gang_of_set(pcs, gang)?;
            Some(half_gangs::left(half_gangs::half_bound(context, &gang)?, delay, now))
        };
        let mut next = left(&self.base);
        if next == Some(Duration::ZERO) {
            self.recycle(context, pcs, HALF_BOUND).await?;
            return Ok(None);
        }
        for group in &self.groups {
            let scaled = usize::try_from(group.pcsg.spec.min_available.unwrap_or(1)).unwrap_or(0);
            let mut due = Vec::new();
            for (j, members) in group.replicas.iter().enumerate().skip(scaled) {
                let gang = members.first().and_then(|(member, _)| member.labels().get(names::LABEL_POD_GANG));
                match gang.and_then(|gang| left(gang)) {
                    Some(Duration::ZERO) => due.extend(i32::try_from(j)),
                    wait => next = next.into_iter().chain(wait).min(),
                }
            }
            group.recycle(context, pcs, &due, HALF_BOUND).await?;
        }
        Ok(next)
    }
}

impl Group {
    async fn recycle(
        &self,
        context: &Context,
        pcs: &PodCliqueSet,
        replicas: &[i32],
        why: &str,
    ) -> Result<(), ReconcileError> {
        if replicas.is_empty() {
            return Ok(());
        }
        let patch = generation::next_of_replicas(&self.pcsg, Cause::Breach, replicas);
        writes::patch(context, &*self.pcsg, &patch).await?;
        context.metrics.recycled(&self.pcsg.namespace().unwrap_or_default(), replicas.len());
        for j in replicas {
            let group = self.pcsg.name_any();
            let note = format!("replica {j} of {group} recycled: {why}");
            context.events.tell(pcs, REASON_GROUP_REPLICA_RECYCLED, &note).await;
        }
        Ok(())
    }
}

/// Since when a PodClique is breached, if its minimum was bound in this generation.
fn breached_since(pclq: &PodClique, generation: u64) -> Option<Timestamp> {
    let conditions = &pclq.status.as_ref()?.conditions;
    let breached = conditions::since(conditions, CONDITION_MIN_AVAILABLE_BREACHED)?;
    if fault!("held-from-the-start") {
        let made = pclq.metadata.creation_timestamp.as_ref().map(|made| made.0);
        return Some(breached.max(made.unwrap_or(breached)));
    }
    // Before the minimum was bound, no pod was lost, so the breach starts at the binding at the earliest.
    Some(breached.max(held_since(conditions, generation)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn clocks(standalone: &[Option<i64>], groups: &[(usize, &[Option<i64>])]) -> Clocks {
        let times = |seconds: &[Option<i64>]| seconds.iter().map(|second| second.map(at)).collect::<Vec<_>>();
        let group =
            |(min, replicas): &(usize, &[Option<i64>])| GroupClocks { min: *min, replicas: times(replicas) };
        Clocks { standalone: times(standalone), groups: groups.iter().map(group).collect() }
    }

    /// The time is second 10, the delay 4 s.
    #[rstest::rstest]
    #[case::nothing(clocks(&[None], &[(1, &[None])]), false, &[vec![]], None)]
    #[case::a_clique_too_long(clocks(&[Some(6), None], &[]), true, &[], None)]
    #[case::a_clique_not_long_enough(clocks(&[Some(7)], &[]), false, &[], Some(1))]
    #[case::one_replica_to_spare(clocks(&[], &[(1, &[None, Some(5)])]), false, &[vec![1]], None)]
    #[case::one_to_spare_not_long_enough(clocks(&[], &[(1, &[None, Some(8)])]), false, &[vec![]], Some(2))]
    #[case::none_to_spare(clocks(&[], &[(2, &[None, Some(5)])]), true, &[], None)]
    #[case::too_few_since_the_second(clocks(&[], &[(1, &[Some(2), Some(9)])]), false, &[vec![]], Some(3))]
    #[case::the_whole_takes_its_groups_along(clocks(&[Some(1)], &[(1, &[Some(1), None])]), true, &[], None)]
    #[case::the_clique_waits_and_the_replica_is_due(
        clocks(&[Some(9)], &[(1, &[Some(1), None])]),
        false,
        &[vec![0]],
        Some(3)
    )]
    fn plans(
        #[case] clocks: Clocks,
        #[case] whole: bool,
        #[case] of_groups: &[Vec<i32>],
        #[case] wait: Option<u64>,
    ) {
        let found = plan(&clocks, Duration::from_secs(4), at(10));
        assert_eq!(found, Plan { whole, of_groups: of_groups.to_vec(), wait: wait.map(Duration::from_secs) });
    }

    #[test]
    fn a_turn_begins_a_clock_anew() {
        let before = clocks(&[Some(6), None], &[(1, &[Some(9)])]);
        assert_eq!(before.not_before(Some(at(8))), clocks(&[Some(8), None], &[(1, &[Some(9)])]));
    }
}
