use std::sync::Arc;

use grove_api::names::{
    self, CONDITION_GANG_TERMINATION_IN_PROGRESS, CONDITION_MIN_AVAILABLE_BREACHED,
    CONDITION_POD_CLIQUE_SCHEDULED, LABEL_PCS_REPLICA_INDEX, LABEL_SCALING_GROUP,
    LABEL_SCALING_GROUP_REPLICA_INDEX,
};
use grove_api::{
    PodClique, PodCliqueScalingGroup, PodCliqueScalingGroupReplicaUpdateProgress,
    PodCliqueScalingGroupStatus, PodCliqueScalingGroupUpdateProgress, PodCliqueSet,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::held::held_since;
use super::pod_clique::{IDLE, selector_text};
use crate::cache::caches::group_key;
use crate::cache::generation::{self, Cause, of_replica};
use crate::cache::ownership::is_controlled_by;
use crate::context::action::{Action, next_check};
use crate::context::error::ReconcileError;
use crate::context::{Context, writes};
use crate::faults::fault;
use crate::plan::conditions::{self, ConditionUpdate};
use crate::plan::json_diff::merge_patch;
use crate::plan::minimums;
use crate::update::update_view::{
    CliqueView, GroupView, is_in_update_step, is_of_update, may_follow, reported_generation, rolls,
};

const REASON_ALL_LOST: &str = "AllScheduledReplicasLost";

pub(crate) async fn reconcile(
    pcsg: Arc<PodCliqueScalingGroup>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    let Some(pcs) = context.caches.pod_clique_set_of(&*pcsg) else { return Ok(Action::await_change()) };
    let members = |j: i32| -> Option<Vec<Arc<PodClique>>> {
        let names = pcsg.spec.clique_names.iter();
        let member = |clique: &String| {
            let name = names::scaling_group_pod_clique(&pcsg.name_any(), j, clique);
            let found = context.caches.pod_cliques.get(pcsg.namespace().as_deref(), &name)?;
            is_controlled_by(&*found, &*pcsg).then_some(found)
        };
        names.map(member).collect()
    };
    let replicas: Vec<_> = (0..pcsg.spec.replicas).map(members).collect();
    let is_scaled_in = |member: &Arc<PodClique>| {
        let j = member.labels().get(LABEL_SCALING_GROUP_REPLICA_INDEX).and_then(|j| j.parse::<i32>().ok());
        j.is_none_or(|j| j >= pcsg.spec.replicas) && is_controlled_by(&**member, &*pcsg)
    };
    let key = group_key(&pcsg.namespace().unwrap_or_default(), &pcsg.name_any());
    let is_observed = replicas.iter().all(Option::is_some)
        && !context.caches.pod_cliques.indexed(&key).iter().any(is_scaled_in);
    let group = GroupView::of(&context.caches, &pcs, Arc::clone(&pcsg));
    let mut status = status(&pcsg, &pcs.name_any(), &replicas, |j| group.is_new(j) && group.is_up(j));
    let may_follow = |j: i32| {
        let mut members = group.members_of(j);
        members.all(|member| may_follow(&context.caches, &pcs, &member.pclq))
    };
    status.update_progress = progress(&pcs, &group, may_follow, Timestamp::now());
    let reported = status.current_pod_clique_set_generation_hash.as_ref();
    let is_reported = reported.is_some_and(|reported| is_of_update(&pcs, reported));
    let is_newly_updated = !is_reported && group.is_all_new();
    if let Some(generation) = is_newly_updated.then(|| reported_generation(&pcs)).flatten() {
        status.current_pod_clique_set_generation_hash = Some(generation);
    }
    if is_observed {
        status.observed_generation = pcsg.metadata.generation;
    }
    let replica =
        pcsg.labels().get(LABEL_PCS_REPLICA_INDEX).and_then(|replica| replica.parse().ok()).unwrap_or(0);
    let base = context.caches.own_pod_gang(&pcs, &context.pod_gang_names.base(&pcs, replica));
    let base = base.map_or(0, |base| generation::of_gang(&base));
    if let Some(termination) = termination_condition(&pcsg, base, &replicas) {
        status.conditions = conditions::with(status.conditions, termination, None);
    }
    let before = pcsg.status.clone().unwrap_or_default();
    if let Some(patch) = merge_patch(&serde_json::to_value(&before)?, &serde_json::to_value(&status)?) {
        writes::patch_status_of_version(&context, &*pcsg, &patch).await?;
    }
    match (before.scheduled_replicas, status.scheduled_replicas) {
        (1.., 0) => {
            context
                .events
                .warn(&*pcsg, REASON_ALL_LOST, "the scaling group lost its last scheduled replica")
                .await
        }
        (_, 1..) => context.events.reset_warning(&*pcsg, REASON_ALL_LOST),
        _ => {}
    }
    Ok(next_check(status.update_progress.is_some_and(|progress| progress.update_ended_at.is_none())))
}

/// The progress of an update of the scaling group, with the next step if one may start.
fn progress(
    pcs: &PodCliqueSet,
    group: &GroupView,
    may_follow: impl FnOnce(i32) -> bool,
    now: Timestamp,
) -> Option<PodCliqueScalingGroupUpdateProgress> {
    let pcsg = &group.pcsg;
    let before = pcsg.status.as_ref().and_then(|status| status.update_progress.clone());
    let is_updated = pcs.status.as_ref().is_some_and(|status| status.update_progress.is_some());
    // Hashing all templates is expensive, and most PodCliqueSets are never updated.
    let Some(generation) = is_updated.then(|| reported_generation(pcs)).flatten() else { return before };
    let before = before.filter(|before| is_of_update(pcs, &before.pod_clique_set_generation_hash));
    let mut progress = before.unwrap_or(PodCliqueScalingGroupUpdateProgress {
        update_started_at: Time(now),
        update_ended_at: None,
        pod_clique_set_generation_hash: generation,
        updated_pod_cliques_count: 0,
        total_pod_cliques_count: 0,
        ready_replica_indices_selected_to_update: None,
    });
    let steps = group.steps(pcs);
    if is_in_update_step(pcs, &**pcsg)
        && let Some(next) = group.units().next(&steps)
        && may_follow(*next)
    {
        let steps = steps.followed_by(*next);
        progress.ready_replica_indices_selected_to_update = steps.current.map(|current| {
            PodCliqueScalingGroupReplicaUpdateProgress { current, completed: steps.completed }
        });
    }
    let count = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    progress.total_pod_cliques_count = count(group.replicas.len() * pcsg.spec.clique_names.len());
    progress.updated_pod_cliques_count = count(group.members().filter(|member| member.is_new()).count());
    if !rolls(pcs) || group.is_settled(pcs) {
        progress.update_ended_at.get_or_insert(Time(now));
    } else if group.members().any(CliqueView::has_old) {
        progress.update_ended_at = None;
    }
    Some(progress)
}

/// False once all cliques were scheduled and healthy since the termination started. The reason contains the
/// number of terminations, to distinguish a new termination from a finished one.
fn termination_condition(
    pcsg: &PodCliqueScalingGroup,
    base: u64,
    replicas: &[Option<Vec<Arc<PodClique>>>],
) -> Option<ConditionUpdate> {
    let recycles = base + Cause::Breach.counts(pcsg).values().sum::<u64>();
    let conditions = pcsg.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let known = conditions.iter().find(|known| known.type_ == CONDITION_GANG_TERMINATION_IN_PROGRESS);
    let reason = format!("GangTermination{recycles}");
    let is_new = known.is_none_or(|known| known.reason != reason);
    if recycles == 0 {
        return None;
    }
    let is_held = |j: usize, member: &Arc<PodClique>| {
        let generation = of_replica(base, Some(pcsg), i32::try_from(j).unwrap_or(i32::MAX));
        let conditions =
            member.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        held_since(conditions, generation).is_some()
            && !conditions::is_true(conditions, CONDITION_MIN_AVAILABLE_BREACHED)
    };
    let mut all = replicas.iter().enumerate().map(|(j, members)| (j, members.as_deref()));
    let is_over =
        all.all(|(j, members)| members.is_some_and(|members| members.iter().all(|one| is_held(j, one))));
    let was_in_progress = known.is_some_and(|known| known.status == "True");
    let is_in_progress = (is_new || was_in_progress) && !is_over;
    let message = match is_in_progress {
        true => "the operator terminated replicas, and not all of them are scheduled and healthy again",
        false => "all terminated replicas have been scheduled and healthy again",
    };
    Some(ConditionUpdate {
        type_: CONDITION_GANG_TERMINATION_IN_PROGRESS,
        status: Some(is_in_progress),
        reason: reason.into(),
        message: message.to_owned(),
    })
}

/// `None` is a replica with missing PodCliques. `is_new` checks pods, because statuses may be stale.
fn status(
    pcsg: &PodCliqueScalingGroup,
    pcs: &str,
    replicas: &[Option<Vec<Arc<PodClique>>>],
    is_new: impl Fn(usize) -> bool,
) -> PodCliqueScalingGroupStatus {
    let number = |count: usize| i32::try_from(count).unwrap_or(0);
    let count = |is_counted: fn(&PodClique) -> bool| {
        let most = if fault!("group-status-of-first-clique") { 1 } else { usize::MAX };
        let is_replica_counted =
            |cliques: &&Vec<Arc<PodClique>>| cliques.iter().take(most).all(|clique| is_counted(clique));
        number(replicas.iter().flatten().filter(is_replica_counted).count())
    };
    let is_current = |clique: &PodClique| is_scheduled(clique) && is_available(clique) && is_updated(clique);
    let current = replicas.iter().enumerate().filter(|(j, cliques)| {
        is_new(*j) && cliques.as_ref().is_some_and(|cliques| cliques.iter().all(|clique| is_current(clique)))
    });
    let minimum = minimums::of_group(pcsg);
    let healthy = count(|clique| has_status(clique) && !is_true(clique, CONDITION_MIN_AVAILABLE_BREACHED));
    let breached = healthy < minimum;
    let reason = match breached {
        true => "InsufficientAvailablePodCliqueScalingGroupReplicas",
        false => "SufficientAvailablePodCliqueScalingGroupReplicas",
    };
    let are = if breached { "fewer than" } else { "at least" };
    let message = match minimum {
        0 => IDLE.to_owned(),
        _ => format!("{are} {minimum} replicas (minAvailable) are healthy"),
    };
    let condition = ConditionUpdate {
        type_: CONDITION_MIN_AVAILABLE_BREACHED,
        status: Some(breached),
        reason: reason.into(),
        message,
    };
    let mut selector = names::managed_labels(pcs);
    selector.insert(LABEL_SCALING_GROUP.to_owned(), pcsg.name_any());
    let before = pcsg.status.clone().unwrap_or_default();
    PodCliqueScalingGroupStatus {
        replicas: pcsg.spec.replicas,
        scheduled_replicas: count(is_scheduled),
        available_replicas: count(|clique| is_scheduled(clique) && is_available(clique)),
        updated_replicas: number(current.count()),
        selector: Some(selector_text(&selector)),
        conditions: conditions::with(before.conditions.clone(), condition, None),
        ..before
    }
}

fn is_scheduled(clique: &PodClique) -> bool {
    is_true(clique, CONDITION_POD_CLIQUE_SCHEDULED)
}

fn has_status(clique: &PodClique) -> bool {
    clique.status.as_ref().is_some_and(|status| !status.conditions.is_empty())
}

fn is_true(clique: &PodClique, type_: &str) -> bool {
    clique.status.as_ref().is_some_and(|status| conditions::is_true(&status.conditions, type_))
}

pub(super) fn is_available(clique: &PodClique) -> bool {
    let minimum = minimums::of_clique(clique);
    clique.status.as_ref().is_some_and(|status| status.ready_replicas >= minimum)
}

pub(super) fn is_updated(clique: &PodClique) -> bool {
    clique.status.as_ref().is_some_and(|status| status.updated_replicas >= clique.spec.replicas)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn clique(ready: i32, scheduled: bool) -> Arc<PodClique> {
        let condition = |type_: &str, status: bool| {
            json!({"type": type_, "status": if status { "True" } else { "False" }, "reason": "R", "message": "",
                   "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        let conditions = [
            condition(CONDITION_POD_CLIQUE_SCHEDULED, scheduled),
            condition(CONDITION_MIN_AVAILABLE_BREACHED, !scheduled),
        ];
        let clique = json!({
            "metadata": {"name": "c"}, "spec": {"podSpec": {}, "replicas": 2, "minAvailable": 2},
            "status": {"readyReplicas": ready, "conditions": conditions},
        });
        Arc::new(serde_json::from_value(clique).unwrap())
    }

    #[rstest::rstest]
    #[case::all(vec![Some(vec![clique(2, true), clique(2, true)]), Some(vec![clique(2, true)])], 2, 2, false)]
    #[case::one_clique_not_ready(vec![Some(vec![clique(2, true), clique(1, true)])], 1, 0, false)]
    #[case::one_not_scheduled(vec![Some(vec![clique(0, false), clique(2, true)])], 0, 0, true)]
    #[case::incomplete_replicas_do_not_count(vec![None], 0, 0, true)]
    fn a_replica_counts_only_if_all_its_cliques_do(
        #[case] replicas: Vec<Option<Vec<Arc<PodClique>>>>,
        #[case] scheduled: i32,
        #[case] available: i32,
        #[case] breached: bool,
    ) {
        let pcsg = PodCliqueScalingGroup::new("wl-0-sg", grove_api::PodCliqueScalingGroupSpec::default());
        let status = status(&pcsg, "wl", &replicas, |_| true);
        assert_eq!((status.scheduled_replicas, status.available_replicas), (scheduled, available));
        assert_eq!(conditions::is_true(&status.conditions, CONDITION_MIN_AVAILABLE_BREACHED), breached);
    }
}
