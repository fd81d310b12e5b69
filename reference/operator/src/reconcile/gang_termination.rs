//! Replaces the pods of a PodCliqueSet or scaling-group replica that is breached for the termination delay.
//!
//! A PodCliqueSet replica is breached if one of its standalone PodCliques is breached, or if a scaling group
//! has too few unbreached replicas. If it has enough, only its breached replicas are terminated. A PodClique
//! can be breached only after its minimum was bound in this generation, so a gang that waits for room keeps
//! waiting. The statuses store the start of a breach, so a restart does not restart the delay.
//!
//! In the replica of the current update step, the delay starts with the step, and again with each pod that
//! becomes Ready. So this replica is terminated only if the step makes no progress for a whole delay.

use std::sync::Arc;
use std::time::Duration;

use grove_api::names::{self, CONDITION_MIN_AVAILABLE_BREACHED};
use grove_api::{PodClique, PodCliqueScalingGroup, PodCliqueSet};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::half_gangs;
use crate::cache::caches::object_key;
use crate::cache::generation::{self, Cause, of_replica};
use crate::cache::informer::Informer;
use crate::cache::ownership::is_controlled_by;
use crate::cache::pods::pods_of_name;
use crate::context::Context;
use crate::context::action::Action;
use crate::context::error::ReconcileError;
use crate::context::releases::GroupReplica;
use crate::context::writes::{self, Writable};
use crate::faults::{self, fault};
use crate::plan::conditions;
use crate::plan::duration::duration;
use crate::status::held::held_since;

/// Upstream's default, 4 h.
const DEFAULT_DELAY: Duration = Duration::from_secs(4 * 60 * 60);
/// Added to each delay, because statuses store times in whole seconds.
const ROUNDED: Duration = Duration::from_secs(1);

const REASON_REPLICA_RECYCLED: &str = "PodCliqueSetReplicaDeleteSuccessful";
const REASON_GROUP_REPLICA_RECYCLED: &str = "PodCliqueScalingGroupReplicaDeleteSuccessful";

const BREACHED: &str = "fewer than minAvailable pods or replicas were available for terminationDelay";
const HALF_BOUND: &str =
    "only a part of its gang was bound for terminationDelay, and the operator frees the nodes";

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
        if fault!("updating-replica-not-terminated") && update_step_start(&pcs, i).is_some() {
            continue;
        }
        if fault!("other-replicas-not-terminated")
            && update_step_start(&pcs, i).is_none()
            && is_updating(&pcs)
        {
            continue;
        }
        let replica = Replica::of(&context, &pcs, i);
        let times = replica.breach_times().not_before(update_step_start(&pcs, i));
        let times = if fault!("delay-restarts") { times.not_before(Some(*faults::STARTED)) } else { times };
        let is_immediate = fault!("later-breaches-at-once") && replica.generation(&context, &pcs) > 0;
        let due = due_terminations(&times, if is_immediate { Duration::ZERO } else { delay }, now);
        next = next.into_iter().chain(due.wait).min();
        if due.whole_replica {
            replica.recycle(&context, &pcs, BREACHED).await?;
            continue;
        }
        for (group, replicas) in replica.groups.iter().zip(&due.group_replicas) {
            group.recycle(&context, &pcs, replicas, BREACHED).await?;
        }
        if due.group_replicas.iter().all(Vec::is_empty) && !fault!("partial-gangs-keep-nodes") {
            let half_bound = replica.terminate_half_bound(&context, &pcs, delay, now).await?;
            next = next.into_iter().chain(half_bound).min();
        }
    }
    Ok(next.map_or_else(Action::await_change, Action::requeue))
}

#[derive(Debug, Default, PartialEq, Eq)]
struct BreachTimes {
    standalone: Vec<Option<Timestamp>>,
    groups: Vec<GroupBreachTimes>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct GroupBreachTimes {
    min: usize,
    replicas: Vec<Option<Timestamp>>,
}

impl BreachTimes {
    fn not_before(mut self, step_start: Option<Timestamp>) -> Self {
        let Some(step_start) = step_start else { return self };
        let group_replicas = self.groups.iter_mut().flat_map(|group| &mut group.replicas);
        for since in self.standalone.iter_mut().chain(group_replicas).flatten() {
            *since = step_start.max(*since);
        }
        self
    }
}

fn is_updating(pcs: &PodCliqueSet) -> bool {
    (0..pcs.spec.replicas).any(|i| update_step_start(pcs, i).is_some())
}

fn update_step_start(pcs: &PodCliqueSet, i: i32) -> Option<Timestamp> {
    let progress = pcs.status.as_ref()?.update_progress.as_ref()?;
    let current = progress.currently_updating.iter().find(|current| current.replica_index == i)?;
    Some(current.update_started_at.as_ref()?.0)
}

impl GroupBreachTimes {
    /// Since when too few replicas are unbreached. `None` if enough replicas are unbreached.
    fn breached_since(&self) -> Option<Timestamp> {
        let mut starts: Vec<_> = self.replicas.iter().flatten().copied().collect();
        starts.sort_unstable();
        let spare = self.replicas.len().checked_sub(self.min)?;
        starts.get(spare).copied()
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct DueTerminations {
    whole_replica: bool,
    group_replicas: Vec<Vec<i32>>,
    wait: Option<Duration>,
}

fn due_terminations(times: &BreachTimes, delay: Duration, now: Timestamp) -> DueTerminations {
    let time_left = |since: Timestamp| -> Duration {
        let ends = since.saturating_add(SignedDuration::try_from(delay).unwrap_or(SignedDuration::MAX));
        ends.map_or(Duration::MAX, |ends| {
            Duration::try_from(ends.duration_since(now)).unwrap_or(Duration::ZERO)
        })
    };
    let groups = times.groups.iter().map(GroupBreachTimes::breached_since);
    let whole_replica = times.standalone.iter().copied().chain(groups).flatten().map(time_left).min();
    if whole_replica == Some(Duration::ZERO) {
        return DueTerminations { whole_replica: true, ..DueTerminations::default() };
    }
    let mut terminations = DueTerminations { wait: whole_replica, ..DueTerminations::default() };
    for group in &times.groups {
        let mut due = Vec::new();
        // If too few replicas are unbreached, the whole PodCliqueSet replica is terminated instead.
        if group.breached_since().is_none() {
            for (j, since) in (0..).zip(&group.replicas) {
                let Some(since) = *since else { continue };
                match time_left(since) {
                    Duration::ZERO => due.push(j),
                    wait => terminations.wait = terminations.wait.into_iter().chain([wait]).min(),
                }
            }
        }
        terminations.group_replicas.push(due);
    }
    terminations
}

struct Replica {
    i: i32,
    /// The standalone PodCliques, each with the generation that its pods must have.
    standalone: Vec<(Arc<PodClique>, u64)>,
    groups: Vec<Group>,
    base: String,
}

struct Group {
    pcsg: Arc<PodCliqueScalingGroup>,
    replicas: Vec<Vec<(Arc<PodClique>, u64)>>,
}

async fn delete_controlled<K: Writable>(
    context: &Context,
    cache: &Informer<K>,
    pcs: &PodCliqueSet,
) -> Result<(), ReconcileError> {
    let found = cache.indexed(&object_key(&pcs.namespace().unwrap_or_default(), &pcs.name_any()));
    for object in found.iter().filter(|object| is_controlled_by(&***object, pcs)) {
        writes::delete(&context.client, &**object).await?;
    }
    Ok(())
}

impl Replica {
    fn of(context: &Context, pcs: &PodCliqueSet, i: i32) -> Self {
        let (caches, namespace, pcs_name) = (&context.caches, pcs.namespace(), pcs.name_any());
        let base = context.pod_gang_names.base(pcs, i);
        let generation = caches.own_pod_gang(pcs, &base).map_or(0, |base| generation::of_gang(&base));
        let template = &pcs.spec.template;
        let clique = |name: String| {
            let found = caches.pod_cliques.get(namespace.as_deref(), &name)?;
            found.metadata.deletion_timestamp.is_none().then_some(found)
        };
        let standalone = template.standalone_cliques().filter_map(|template| {
            let found = clique(names::standalone_pod_clique(&pcs_name, i, &template.name));
            found.filter(|found| is_controlled_by(&**found, pcs)).map(|found| (found, generation))
        });
        let group = |name: &String| {
            let pcsg_name = names::scaling_group(&pcs_name, i, name);
            let pcsg = caches.scaling_groups.get(namespace.as_deref(), &pcsg_name)?;
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

    fn generation(&self, context: &Context, pcs: &PodCliqueSet) -> u64 {
        context.caches.own_pod_gang(pcs, &self.base).map_or(0, |base| generation::of_gang(&base))
    }

    fn breach_times(&self) -> BreachTimes {
        let since = |(pclq, generation): &(Arc<PodClique>, u64)| breached_since(pclq, *generation);
        let group = |group: &Group| GroupBreachTimes {
            min: match usize::try_from(group.pcsg.spec.min_available.unwrap_or(1)) {
                _ if fault!("group-breach-terminates-replica") => group.replicas.len(),
                _ if fault!("one-group-replica-is-enough") => 1,
                min => min.unwrap_or(0),
            },
            replicas: group.replicas.iter().map(|members| members.iter().filter_map(since).min()).collect(),
        };
        BreachTimes {
            standalone: self.standalone.iter().map(since).collect(),
            groups: self.groups.iter().map(group).collect(),
        }
    }

    /// A recreated PodGang has lost its count, so the new generation must exceed that of every pod.
    async fn recycle(&self, context: &Context, pcs: &PodCliqueSet, why: &str) -> Result<(), ReconcileError> {
        let Some(base) = context.caches.own_pod_gang(pcs, &self.base) else { return Ok(()) };
        let cliques = self
            .standalone
            .iter()
            .chain(self.groups.iter().flat_map(|group| group.replicas.iter().flatten()));
        let pods = cliques.flat_map(|(pclq, _)| pods_of_name(&context.caches, pclq));
        let highest = pods.map(|pod| generation::of_pod(&pod)).max().unwrap_or(0);
        let next = generation::of_gang(&base).max(highest) + 1;
        writes::patch(context, &*base, &generation::next_generation_patch(&base, next)).await?;
        if !fault!("terminations-not-counted") {
            context.metrics.record_recycles(&pcs.namespace().unwrap_or_default(), 1);
        }
        if fault!("termination-deletes-podgang") {
            writes::delete(&context.client, &*base).await?;
        }
        if fault!("termination-deletes-claims") {
            delete_controlled(context, &context.caches.resource_claims, pcs).await?;
        }
        if fault!("termination-deletes-autoscalers") {
            delete_controlled(context, &context.caches.autoscalers, pcs).await?;
        }
        let note = format!("deleted the pods of PodCliqueSet replica {} to create them again: {why}", self.i);
        context.events.publish(pcs, REASON_REPLICA_RECYCLED, &note).await;
        Ok(())
    }

    async fn terminate_half_bound(
        &self,
        context: &Context,
        pcs: &PodCliqueSet,
        delay: Duration,
        now: Timestamp,
    ) -> Result<Option<Duration>, ReconcileError> {
        let time_left = |gang: &str, replica: Option<GroupReplica>| {
            let gang = context.caches.own_pod_gang(pcs, gang)?;
            half_gangs::release(context, &gang, replica, delay, now)
        };
        let mut next = time_left(&self.base, None);
        if next == Some(Duration::ZERO) {
            self.recycle(context, pcs, HALF_BOUND).await?;
            return Ok(None);
        }
        let is_base_half_bound = next.is_some();
        for group in &self.groups {
            let replicas_in_base = group.pcsg.spec.min_available.unwrap_or(1);
            let mut due = Vec::new();
            for (j, members) in (0..).zip(&group.replicas) {
                // A partially bound base PodGang is terminated as a whole.
                let is_of_base = j < replicas_in_base;
                if is_of_base && (is_base_half_bound || fault!("partial-replicas-keep-nodes")) {
                    continue;
                }
                let replica = is_of_base.then(|| GroupReplica { index: j, group: group.pcsg.name_any() });
                let gang = members.first().and_then(|(member, _)| member.labels().get(names::LABEL_POD_GANG));
                match gang.and_then(|gang| time_left(gang, replica)) {
                    Some(Duration::ZERO) => due.push(j),
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
        let patch = generation::replace_replicas_patch(&self.pcsg, Cause::Breach, replicas);
        writes::patch(context, &*self.pcsg, &patch).await?;
        context.metrics.record_recycles(&self.pcsg.namespace().unwrap_or_default(), replicas.len());
        for j in replicas {
            let group = self.pcsg.name_any();
            let note = format!(
                "deleted the pods of replica {j} of PodCliqueScalingGroup {group} to create them again: {why}"
            );
            context.events.publish(pcs, REASON_GROUP_REPLICA_RECYCLED, &note).await;
        }
        Ok(())
    }
}

fn breached_since(pclq: &PodClique, generation: u64) -> Option<Timestamp> {
    let conditions = &pclq.status.as_ref()?.conditions;
    let breached = conditions::true_since(conditions, CONDITION_MIN_AVAILABLE_BREACHED)?;
    if fault!("breach-before-first-binding") {
        let created = pclq.metadata.creation_timestamp.as_ref().map(|created| created.0);
        return Some(breached.max(created.unwrap_or(breached)));
    }
    // A breach starts no earlier than the first binding of the minimum.
    Some(breached.max(held_since(conditions, generation)?))
}

#[cfg(test)]
#[path = "gang_termination_tests.rs"]
mod tests;
