use std::sync::Arc;
use std::time::Duration;

use grove_api::names::{
    self, CONDITION_MIN_AVAILABLE_BREACHED, CONDITION_POD_CLIQUE_SCHEDULED, LABEL_POD_CLIQUE,
    LABEL_POD_TEMPLATE_HASH, LABEL_SCALING_GROUP, REASON_INSUFFICIENT_SCHEDULED_PODS,
    REASON_SUFFICIENT_SCHEDULED_PODS,
};
use grove_api::{PodClique, PodCliqueSet, PodCliqueStatus, PodCliqueUpdateProgress};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::held::{held_condition, held_since, is_evicted, is_held_in_other_generation, without_minimum};
use super::startup_wait;
use crate::cache::observed_pod::{ContainerStatus, Pod, PodStatus};
use crate::cache::pods::{has_condition, is_bound, is_former, is_live, is_preempted, is_ready, own_pods};
use crate::context::action::{Action, next_check};
use crate::context::error::ReconcileError;
use crate::context::{Context, writes};
use crate::faults::fault;
use crate::plan::conditions::{self, ConditionUpdate};
use crate::plan::json_diff::merge_patch;
use crate::update::update_view::{
    CliqueView, is_in_update_step, is_of_update, may_follow, reported_generation, reported_steps, rolls,
    selected_pods,
};

/// The age from which the status of a PodClique reports missing pods.
const CREATION: Duration = Duration::from_secs(3);
const REASON_ALL_LOST: &str = "AllScheduledReplicasLost";

pub(super) const IDLE: &str = "0 replicas are requested";

pub(crate) async fn reconcile(pclq: Arc<PodClique>, context: Arc<Context>) -> Result<Action, ReconcileError> {
    let Some(pcs) = context.caches.root_of(&pclq) else { return Ok(Action::await_change()) };
    let generation = context.caches.generation_of(&pcs, &pclq);
    let pods = own_pods(&context.caches, &pclq);
    if let Some(delay) = first_status_delay(&pclq, pods.len(), Timestamp::now()) {
        return Ok(Action::requeue(delay));
    }
    let uid = pclq.uid().unwrap_or_default();
    let mut seen = with_fault(&pclq);
    // Once all bound pods were evicted, the minimum counts as never bound and is not breached (PRE-12).
    if is_evicted(&pods, context.evictions.has(&uid)) && !fault!("eviction-is-a-breach") {
        seen = without_minimum(seen);
    }
    let mut status = status(&seen, &pcs.name_any(), &pods, generation);
    let is_held = held_since(&status.conditions, generation).is_some();
    // The minimum is bound again, so the eviction no longer affects the conditions.
    if is_held && !pods.iter().any(|pod| is_preempted(pod)) {
        context.evictions.forget(&uid);
    }
    let wait = startup_wait::condition(&context.caches, &pcs, &pclq, &pods, &status.conditions);
    if let Some(wait) = wait.filter(|wait| reports_startup_wait(wait.status)) {
        status.conditions = conditions::with(status.conditions, wait, None);
    }
    if fault!("ready-counts-scheduled") {
        status.ready_replicas = status.scheduled_replicas;
    }
    let view = CliqueView::of(&context.caches, &pcs, Arc::clone(&pclq)).filter(CliqueView::creates_new_pods);
    let has_new_template = view.is_some();
    if let Some(view) = view {
        let may_follow = || may_follow(&context.caches, &pcs, &pclq);
        status.update_progress = progress(&pcs, &view, may_follow, Timestamp::now());
    }
    let is_updated = status.replicas == pclq.spec.replicas && status.updated_replicas == status.replicas;
    if is_updated {
        status.current_pod_template_hash = pclq.labels().get(LABEL_POD_TEMPLATE_HASH).cloned();
        let reported = status.current_pod_clique_set_generation_hash.as_ref();
        let is_reported = reported.is_some_and(|reported| is_of_update(&pcs, reported));
        if has_new_template
            && !is_reported
            && let Some(generation) = reported_generation(&pcs)
        {
            status.current_pod_clique_set_generation_hash = Some(generation);
        }
    }
    let before = pclq.status.clone().unwrap_or_default();
    if let Some(patch) = merge_patch(&serde_json::to_value(&before)?, &serde_json::to_value(&status)?) {
        writes::patch_status_of_version(&context, &*pclq, &patch).await?;
    }
    match (before.scheduled_replicas, status.scheduled_replicas) {
        (1.., 0) => {
            context.events.warn(&*pclq, REASON_ALL_LOST, "the PodClique lost its last scheduled pod").await
        }
        (_, 1..) => context.events.reset_warning(&*pclq, REASON_ALL_LOST),
        _ => {}
    }
    if fault!("condition-messages-change") {
        return Ok(Action::requeue(Duration::from_secs(1)));
    }
    Ok(next_check(status.update_progress.is_some_and(|progress| progress.update_ended_at.is_none())))
}

/// How long to delay the first status while pods are created, because each new pod would change it.
fn first_status_delay(pclq: &PodClique, pods: usize, now: Timestamp) -> Option<Duration> {
    let has_status = pclq.status.as_ref().is_some_and(|status| !status.conditions.is_empty());
    let wanted = usize::try_from(pclq.spec.replicas).unwrap_or(0);
    let age = now.duration_since(pclq.metadata.creation_timestamp.as_ref()?.0);
    let remaining = CREATION.checked_sub(Duration::try_from(age).unwrap_or_default())?;
    (!has_status && pods < wanted && !remaining.is_zero()).then_some(remaining)
}

/// For a PodClique in a scaling group, the status of the group reports the update steps.
fn progress(
    pcs: &PodCliqueSet,
    clique: &CliqueView,
    may_follow: impl FnOnce() -> bool,
    now: Timestamp,
) -> Option<PodCliqueUpdateProgress> {
    let pclq = &clique.pclq;
    let before = pclq.status.as_ref().and_then(|status| status.update_progress.clone());
    let was_updated = pcs.status.as_ref().is_some_and(|status| status.update_progress.is_some());
    // Hashing all templates is expensive, and most PodCliqueSets are never updated.
    let Some(generation) = was_updated.then(|| reported_generation(pcs)).flatten() else { return before };
    let template = pclq.labels().get(LABEL_POD_TEMPLATE_HASH).cloned().unwrap_or_default();
    let is_same = |before: &PodCliqueUpdateProgress| {
        (&before.pod_clique_set_generation_hash, &before.pod_template_hash) == (&generation, &template)
    };
    let mut progress = before.filter(is_same).unwrap_or_else(|| PodCliqueUpdateProgress {
        update_started_at: Some(Time(now)),
        pod_clique_set_generation_hash: generation.clone(),
        pod_template_hash: template.clone(),
        ..PodCliqueUpdateProgress::default()
    });
    let is_standalone = !pclq.labels().contains_key(LABEL_SCALING_GROUP);
    if is_standalone && is_in_update_step(pcs, &**pclq) {
        let steps = reported_steps(&progress);
        if let Some(next) = clique.units().next(&steps)
            && may_follow()
        {
            progress.ready_pods_selected_to_update = selected_pods(steps.followed_by(next.clone()));
        }
    }
    if !rolls(pcs) || clique.is_settled(pcs) {
        progress.update_ended_at.get_or_insert(Time(now));
    } else if clique.has_old() {
        progress.update_ended_at = None;
    }
    Some(progress)
}

fn reports_startup_wait(is_held: Option<bool>) -> bool {
    if fault!("omit-startup-wait") {
        return false;
    }
    is_held != Some(false) || !fault!("keep-startup-wait")
}

fn with_fault(pclq: &PodClique) -> PodClique {
    let mut pclq = pclq.clone();
    if fault!("all-replicas-needed") {
        pclq.spec.min_available = Some(pclq.spec.replicas);
    }
    pclq
}

fn status(pclq: &PodClique, pcs: &str, pods: &[Arc<Pod>], generation: u64) -> PodCliqueStatus {
    let live: Vec<_> =
        pods.iter().filter(|pod| is_live(pod) || fault!("statuses-count-terminating-pods")).collect();
    let count = |is_counted: &dyn Fn(&Pod) -> bool| {
        i32::try_from(live.iter().filter(|pod| is_counted(pod)).count()).unwrap_or(0)
    };
    let template = pclq.labels().get(LABEL_POD_TEMPLATE_HASH);
    let before = pclq.status.clone().unwrap_or_default();
    let replicas = count(&|_| true);
    // A generation is observed once the requested number of pods exists.
    let observed = pclq.metadata.generation.filter(|_| replicas == pclq.spec.replicas);
    let mut status = PodCliqueStatus {
        observed_generation: observed.or(before.observed_generation),
        replicas,
        ready_replicas: count(&is_ready),
        updated_replicas: count(&|pod| pod.labels().get(LABEL_POD_TEMPLATE_HASH) == template),
        schedule_gated_replicas: count(&is_gated),
        scheduled_replicas: count(&is_bound),
        hpa_pod_selector: (!pclq.labels().contains_key(LABEL_SCALING_GROUP)).then(|| selector(pclq, pcs)),
        ..before.clone()
    };
    let is_idle = pclq.spec.replicas == 0 && !fault!("idle-podgroups-are-breached");
    let minimum = if is_idle { 0 } else { pclq.spec.min_available.unwrap_or(pclq.spec.replicas) };
    let is_unready = |pod: &Pod| fault!("starting-is-unhealthy") && !has_condition(pod, "Ready");
    let unhealthy = count(&|pod| is_bound(pod) && (is_unhealthy(pod) || is_unready(pod)));
    let scheduled = status.scheduled_replicas;
    let bound = count(&|pod| is_bound(pod) && !is_former(pod, generation) && !is_preempted(pod));
    let updates = [
        Some(scheduled_condition(scheduled >= minimum, minimum)),
        Some(breached_condition(scheduled >= minimum, scheduled - unhealthy >= minimum, minimum)),
        held_condition(&status.conditions, bound >= minimum, generation, is_idle),
    ];
    if !fault!("keep-first-bound-time") {
        status.conditions.retain(|condition| !is_held_in_other_generation(condition, generation));
    }
    for mut update in updates.into_iter().flatten() {
        if fault!("condition-messages-change") {
            update.message = format!("{} at {}", update.message, Timestamp::now().as_second());
        }
        status.conditions = conditions::with(status.conditions, update, None);
    }
    status
}

/// The message contains no counts, so that it stays the same while pods are created one by one (STAT-08).
fn scheduled_condition(is_scheduled: bool, minimum: i32) -> ConditionUpdate {
    let (reason, comparison) = match is_scheduled {
        true => (REASON_SUFFICIENT_SCHEDULED_PODS, "at least"),
        false => (REASON_INSUFFICIENT_SCHEDULED_PODS, "fewer than"),
    };
    let message = match minimum {
        0 => IDLE.to_owned(),
        _ => format!("{comparison} {minimum} pods (minAvailable) are scheduled"),
    };
    ConditionUpdate {
        type_: CONDITION_POD_CLIQUE_SCHEDULED,
        status: Some(is_scheduled),
        reason: reason.into(),
        message,
    }
}

fn breached_condition(is_scheduled: bool, is_healthy: bool, minimum: i32) -> ConditionUpdate {
    let (breached, reason, message) = match (is_scheduled, is_healthy) {
        (false, _) => {
            (true, "ScheduledReplicasBelowMinAvailable", "fewer than {} pods (minAvailable) are scheduled")
        }
        (true, false) => {
            (true, "InsufficientReadyPods", "fewer than {} pods (minAvailable) are ready or starting")
        }
        (true, true) if minimum == 0 => (false, "SufficientReadyPods", IDLE),
        (true, true) => {
            (false, "SufficientReadyPods", "at least {} pods (minAvailable) are ready or starting")
        }
    };
    let message = message.replace("{}", &minimum.to_string());
    ConditionUpdate {
        type_: CONDITION_MIN_AVAILABLE_BREACHED,
        status: Some(breached),
        reason: reason.into(),
        message,
    }
}

fn selector(pclq: &PodClique, pcs: &str) -> String {
    let mut labels = names::managed_labels(pcs);
    labels.insert(LABEL_POD_CLIQUE.to_owned(), pclq.name_any());
    selector_text(&labels)
}

pub(super) fn selector_text(labels: &std::collections::BTreeMap<String, String>) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}

fn is_gated(pod: &Pod) -> bool {
    pod.gates().next().is_some()
}

/// A starting pod counts as healthy: init containers may take long, and are never ready while they run.
fn is_unhealthy(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    let statuses = |list: fn(&PodStatus) -> &Option<Vec<ContainerStatus>>| {
        status.and_then(|status| list(status).as_deref()).unwrap_or_default()
    };
    let (inits, containers) =
        (statuses(|status| &status.init_container_statuses), statuses(|status| &status.container_statuses));
    let has_failed = |container: &ContainerStatus| {
        let states = [&container.state, &container.last_state];
        let mut ended = states.into_iter().flatten().filter_map(|state| state.terminated.as_ref());
        ended.any(|ended| ended.exit_code != 0)
    };
    let is_unready =
        || containers.iter().any(|container| container.started == Some(true) && !container.ready);
    !has_condition(pod, "Ready") && (inits.iter().chain(containers).any(has_failed) || is_unready())
}

#[cfg(test)]
#[path = "pod_clique_tests.rs"]
mod tests;
