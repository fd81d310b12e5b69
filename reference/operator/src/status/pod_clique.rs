//! Status of a PodClique: pod counts, whether its minimum is scheduled and healthy, and the next pod of an
//! update.

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

use super::held::{held_verdict, is_held_of_another};
use super::startup_wait;
use crate::cache::observed_pod::{ContainerStatus, Pod, PodStatus};
use crate::cache::pods::{has_condition, is_bound, is_former, is_live, is_ready, own_pods};
use crate::context::action::{Action, next_look};
use crate::context::error::ReconcileError;
use crate::context::{Context, writes};
use crate::faults::fault;
use crate::plan::conditions::{self, Verdict};
use crate::plan::json_diff::merge_patch;
use crate::update::update_view::{
    CliqueView, is_in_turn, is_of_update, may_follow, rolls, selected, taken_down, told_generation,
};

/// How old a PodClique must be before its status reports missing pods.
const CREATION: Duration = Duration::from_secs(3);
const REASON_ALL_LOST: &str = "AllScheduledReplicasLost";

/// Message about the minimum of what is scaled to 0.
pub(super) const IDLE: &str = "0 replicas are asked for";

pub(crate) async fn reconcile(pclq: Arc<PodClique>, context: Arc<Context>) -> Result<Action, ReconcileError> {
    let Some(pcs) = context.caches.root_of(&pclq) else { return Ok(Action::await_change()) };
    let generation = context.caches.generation_of(&pcs, &pclq);
    let pods = own_pods(&context.caches, &pclq);
    if let Some(rest) = still_made(&pclq, pods.len(), Timestamp::now()) {
        return Ok(Action::requeue(rest));
    }
    let mut status = status(&spoiled(&pclq), &pcs.name_any(), &pods, generation);
    let wait = startup_wait::verdict(&context.caches, &pcs, &pclq, &pods, &status.conditions);
    if let Some(wait) = wait.filter(|wait| tells_of_order(wait.status)) {
        status.conditions = conditions::with(status.conditions, wait, None);
    }
    if fault!("ready-counts-scheduled") {
        status.ready_replicas = status.scheduled_replicas;
    }
    let view = CliqueView::of(&context.caches, &pcs, Arc::clone(&pclq)).filter(CliqueView::makes_new_pods);
    let current = view.is_some();
    if let Some(view) = view {
        let may_follow = || may_follow(&context.caches, &pcs, &pclq);
        status.update_progress = progress(&pcs, &view, may_follow, Timestamp::now());
    }
    let complete = status.replicas == pclq.spec.replicas && status.updated_replicas == status.replicas;
    if complete {
        status.current_pod_template_hash = pclq.labels().get(LABEL_POD_TEMPLATE_HASH).cloned();
        let is_told = status
            .current_pod_clique_set_generation_hash
            .as_ref()
            .is_some_and(|told| is_of_update(&pcs, told));
        if let Some(generation) = (current && !is_told).then(|| told_generation(&pcs)).flatten() {
            status.current_pod_clique_set_generation_hash = Some(generation);
        }
    }
    let before = pclq.status.clone().unwrap_or_default();
    if let Some(patch) = merge_patch(&serde_json::to_value(&before)?, &serde_json::to_value(&status)?) {
        writes::patch_status_of_version(&context, &*pclq, &patch).await?;
    }
    match (before.scheduled_replicas, status.scheduled_replicas) {
        (1.., 0) => context.events.warn(&*pclq, REASON_ALL_LOST, "no pod of it is scheduled any more").await,
        (_, 1..) => context.events.settled(&*pclq, REASON_ALL_LOST),
        _ => {}
    }
    if fault!("restless-conditions") {
        return Ok(Action::requeue(Duration::from_secs(1)));
    }
    Ok(next_look(status.update_progress.is_some_and(|progress| progress.update_ended_at.is_none())))
}

/// How long to delay the first status while pods are created, because each pod would change it.
fn still_made(pclq: &PodClique, pods: usize, now: Timestamp) -> Option<Duration> {
    let is_told = pclq.status.as_ref().is_some_and(|status| !status.conditions.is_empty());
    let wanted = usize::try_from(pclq.spec.replicas).unwrap_or(0);
    let age = now.duration_since(pclq.metadata.creation_timestamp.as_ref()?.0);
    let left = CREATION.checked_sub(Duration::try_from(age).unwrap_or_default())?;
    (!is_told && pods < wanted && !left.is_zero()).then_some(left)
}

/// Progress of a PodClique's update, and the pod of the next update step. The status of a scaling group
/// reports the steps of its members.
fn progress(
    pcs: &PodCliqueSet,
    clique: &CliqueView,
    may_follow: impl FnOnce() -> bool,
    now: Timestamp,
) -> Option<PodCliqueUpdateProgress> {
    let pclq = &clique.pclq;
    let before = pclq.status.as_ref().and_then(|status| status.update_progress.clone());
    let is_updated = pcs.status.as_ref().is_some_and(|status| status.update_progress.is_some());
    // Hashing all templates is expensive, and most PodCliqueSets are never updated.
    let Some(generation) = is_updated.then(|| told_generation(pcs)).flatten() else { return before };
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
    if is_standalone && is_in_turn(pcs, &**pclq) {
        let turns = taken_down(&progress);
        if let Some(next) = clique.units().next(&turns)
            && may_follow()
        {
            progress.ready_pods_selected_to_update = selected(turns.followed_by(next.clone()));
        }
    }
    if !rolls(pcs) || clique.is_settled(pcs) {
        progress.update_ended_at.get_or_insert(Time(now));
    } else if clique.has_old() {
        progress.update_ended_at = None;
    }
    Some(progress)
}

/// Whether the status reports that the PodClique waits for others, or no longer waits.
fn tells_of_order(is_held: Option<bool>) -> bool {
    if fault!("order-untold") {
        return false;
    }
    is_held != Some(false) || !fault!("order-told-for-good")
}

/// The fault `all-replicas-needed`.
fn spoiled(pclq: &PodClique) -> PodClique {
    let mut pclq = pclq.clone();
    if fault!("all-replicas-needed") {
        pclq.spec.min_available = Some(pclq.spec.replicas);
    }
    pclq
}

/// Computes the status from the pods; `generation` is the one that they should have.
fn status(pclq: &PodClique, pcs: &str, pods: &[Arc<Pod>], generation: u64) -> PodCliqueStatus {
    let live: Vec<_> = pods.iter().filter(|pod| is_live(pod) || fault!("terminating-is-counted")).collect();
    let count = |holds: &dyn Fn(&Pod) -> bool| {
        i32::try_from(live.iter().filter(|pod| holds(pod)).count()).unwrap_or(0)
    };
    let template = pclq.labels().get(LABEL_POD_TEMPLATE_HASH);
    let before = pclq.status.clone().unwrap_or_default();
    let replicas = count(&|_| true);
    // A generation is observed once as many pods exist as it requests.
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
    let is_idle = pclq.spec.replicas == 0 && !fault!("idle-is-breached");
    let minimum = if is_idle { 0 } else { pclq.spec.min_available.unwrap_or(pclq.spec.replicas) };
    let is_unready = |pod: &Pod| fault!("starting-is-unhealthy") && !has_condition(pod, "Ready");
    let unhealthy = count(&|pod| is_bound(pod) && (is_unhealthy(pod) || is_unready(pod)));
    let scheduled = status.scheduled_replicas;
    let present = count(&|pod| is_bound(pod) && !is_former(pod, generation));
    let verdicts = [
        Some(scheduled_verdict(scheduled >= minimum, minimum)),
        Some(breached_verdict(scheduled >= minimum, scheduled - unhealthy >= minimum, minimum)),
        held_verdict(&status.conditions, present >= minimum, generation, is_idle),
    ];
    if !fault!("held-time-kept") {
        status.conditions.retain(|condition| !is_held_of_another(condition, generation));
    }
    for mut verdict in verdicts.into_iter().flatten() {
        if fault!("restless-conditions") {
            verdict.message = format!("{} at {}", verdict.message, Timestamp::now().as_second());
        }
        status.conditions = conditions::with(status.conditions, verdict, None);
    }
    status
}

/// Messages contain no counts: while pods are created one by one, the fact and so the message stay the same
/// (STAT-08).
fn scheduled_verdict(enough: bool, minimum: i32) -> Verdict {
    let (reason, are) = match enough {
        true => (REASON_SUFFICIENT_SCHEDULED_PODS, "at least"),
        false => (REASON_INSUFFICIENT_SCHEDULED_PODS, "fewer than"),
    };
    let message = match minimum {
        0 => IDLE.to_owned(),
        _ => format!("{are} minAvailable {minimum} pods are scheduled"),
    };
    Verdict { type_: CONDITION_POD_CLIQUE_SCHEDULED, status: Some(enough), reason: reason.into(), message }
}

fn breached_verdict(scheduled: bool, healthy: bool, minimum: i32) -> Verdict {
    let (breached, reason, are) = match (scheduled, healthy) {
        (false, _) => {
            (true, "ScheduledReplicasBelowMinAvailable", "fewer than minAvailable {} pods are scheduled")
        }
        (true, false) => {
            (true, "InsufficientReadyPods", "fewer than minAvailable {} pods are ready or starting")
        }
        (true, true) if minimum == 0 => (false, "SufficientReadyPods", IDLE),
        (true, true) => (false, "SufficientReadyPods", "at least minAvailable {} pods are ready or starting"),
    };
    let message = are.replace("{}", &minimum.to_string());
    Verdict {
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

/// Labels as a selector: `a=1,b=2`.
pub(super) fn selector_text(labels: &std::collections::BTreeMap<String, String>) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}

fn is_gated(pod: &Pod) -> bool {
    pod.gates().next().is_some()
}

/// Whether a started pod is not ready, or a container ended in an error. A pod that is still starting counts
/// as healthy: init containers may take long, and are never ready while they run.
fn is_unhealthy(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    let of = |list: fn(&PodStatus) -> &Option<Vec<ContainerStatus>>| {
        status.and_then(|status| list(status).as_deref()).unwrap_or_default()
    };
    let (inits, containers) =
        (of(|status| &status.init_container_statuses), of(|status| &status.container_statuses));
    let failed = |container: &ContainerStatus| {
        let states = [&container.state, &container.last_state];
        let mut ended = states.into_iter().flatten().filter_map(|state| state.terminated.as_ref());
        ended.any(|ended| ended.exit_code != 0)
    };
    let started = || containers.iter().any(|container| container.started == Some(true) && !container.ready);
    !has_condition(pod, "Ready") && (inits.iter().chain(containers).any(failed) || started())
}

#[cfg(test)]
mod tests {
    use kube::runtime::watcher::Event;
    use serde_json::{Value, json};

    use super::*;
    use crate::context::test_api::World;
    use crate::status::held::held_since;

    fn pod(name: &str, gated: bool, conditions: &[&str], container: Value) -> Arc<Pod> {
        let conditions: Vec<_> =
            conditions.iter().map(|type_| json!({"type": type_, "status": "True"})).collect();
        let containers: Vec<_> =
            Some(container).into_iter().filter(|container| !container.is_null()).collect();
        let gates = if gated { json!([{"name": "g"}]) } else { json!([]) };
        let node = conditions.iter().any(|condition| condition["type"] == "PodScheduled").then_some("n");
        let pod = json!({
            "metadata": {"name": name, "labels": {LABEL_POD_TEMPLATE_HASH: "h"}},
            "spec": {"containers": [], "schedulingGates": gates, "nodeName": node},
            "status": {"conditions": conditions, "containerStatuses": containers},
        });
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    fn pclq(observed: Option<i64>) -> PodClique {
        serde_json::from_value(json!({
            "metadata": {"name": "wl-0-a", "generation": 1, "labels": {LABEL_POD_TEMPLATE_HASH: "h"}},
            "spec": {"podSpec": {}, "replicas": 3, "minAvailable": 2},
            "status": {"observedGeneration": observed},
        }))
        .unwrap()
    }

    #[test]
    fn counts() {
        let pods = [
            pod("a", true, &[], json!(null)),
            pod("b", false, &["PodScheduled"], json!(null)),
            pod("c", false, &["PodScheduled", "Ready"], json!(null)),
        ];
        let status = status(&pclq(Some(1)), "wl", &pods, 0);
        let counts = (
            status.replicas,
            status.ready_replicas,
            status.schedule_gated_replicas,
            status.scheduled_replicas,
        );
        assert_eq!(counts, (3, 1, 1, 2));
        assert_eq!(status.updated_replicas, 3);
        assert!(conditions::is_true(&status.conditions, CONDITION_POD_CLIQUE_SCHEDULED));
        assert!(!conditions::is_true(&status.conditions, CONDITION_MIN_AVAILABLE_BREACHED));
    }

    #[tokio::test]
    async fn a_scheduled_pod_is_not_ready() {
        let mut world = World::new();
        let owner = |kind: &str, name: &str| {
            let uid = format!("uid-of-{name}");
            let owner = json!({"apiVersion": "grove.io/v1alpha1", "kind": kind, "name": name, "uid": uid,
                               "controller": true});
            serde_json::from_value(json!([owner])).unwrap()
        };
        let pcs = json!({
            "metadata": {"name": "wl", "namespace": "ns", "uid": "uid-of-wl"},
            "spec": {"replicas": 1, "template": {"cliques": []}},
        });
        world.feeds.pod_clique_sets.take(Event::Apply(serde_json::from_value(pcs).unwrap()));
        let mut pclq = pclq(Some(1));
        pclq.metadata.namespace = Some("ns".to_owned());
        pclq.metadata.uid = Some("uid-of-wl-0-a".to_owned());
        pclq.metadata.resource_version = Some("7".to_owned());
        pclq.metadata.owner_references = owner("PodCliqueSet", "wl");
        let mut pod = (*pod("a", false, &["PodScheduled"], json!(null))).clone();
        pod.metadata.namespace = Some("ns".to_owned());
        pod.metadata.owner_references = owner("PodClique", "wl-0-a");
        pod.labels_mut().insert(LABEL_POD_CLIQUE.to_owned(), "wl-0-a".to_owned());
        world.feeds.pods.take(Event::Apply(pod));
        reconcile(Arc::new(pclq), Arc::clone(&world.context)).await.unwrap();
        let written = world.written();
        assert_eq!(written[0].1["metadata"]["resourceVersion"], "7", "of that version and no other");
        assert_eq!(written[0].1["status"]["scheduledReplicas"], 1);
        assert_eq!(written[0].1["status"]["readyReplicas"], Value::Null);
    }

    #[rstest::rstest]
    #[case::being_made(1, 2, false, Some(2))]
    #[case::all_made(1, 3, false, None)]
    #[case::for_long(3, 0, false, None)]
    #[case::told_before(1, 2, true, None)]
    fn what_is_being_made_is_not_told(
        #[case] age: i64,
        #[case] pods: usize,
        #[case] is_told: bool,
        #[case] seconds: Option<u64>,
    ) {
        let mut pclq = pclq(None);
        pclq.metadata.creation_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        if is_told {
            pclq.status = Some(status(&pclq, "wl", &[], 0));
        }
        let now = Timestamp::from_second(age).unwrap();
        assert_eq!(still_made(&pclq, pods, now), seconds.map(Duration::from_secs));
    }

    /// 3 pods wanted, 2 needed.
    #[test]
    fn what_is_not_done_is_not_observed() {
        let pods = ["a", "b", "c"].map(|name| pod(name, false, &["PodScheduled"], json!(null)));
        assert_eq!(status(&pclq(None), "wl", &pods[..2], 0).observed_generation, None);
        assert_eq!(status(&pclq(None), "wl", &pods, 0).observed_generation, Some(1));
    }

    #[test]
    fn a_clique_is_held_in_the_generation_in_which_its_minimum_was_bound() {
        let bound = ["a", "b"].map(|name| pod(name, false, &["PodScheduled"], json!(null)));
        let held = |pclq: &PodClique, pods: &[Arc<Pod>], generation| {
            let conditions = status(pclq, "wl", pods, generation).conditions;
            (0..3).filter(|generation| held_since(&conditions, *generation).is_some()).collect::<Vec<_>>()
        };
        let mut pclq = pclq(Some(1));
        assert_eq!(held(&pclq, &bound[..1], 0), [] as [u64; 0], "one of two");
        pclq.status = Some(status(&pclq, "wl", &bound, 0));
        assert_eq!(held(&pclq, &[], 0), [0], "it was");
        assert_eq!(held(&pclq, &bound, 1), [] as [u64; 0], "those are of the former generation");
        let mut anew = bound.map(|pod| (*pod).clone());
        for pod in &mut anew {
            pod.labels_mut().insert(names::LABEL_GENERATION.to_owned(), "1".to_owned());
        }
        assert_eq!(held(&pclq, &anew.map(Arc::new), 1), [1]);
    }

    #[test]
    fn an_idle_clique_is_not_breached_and_not_held_when_it_comes_back() {
        let bound = ["a", "b"].map(|name| pod(name, false, &["PodScheduled"], json!(null)));
        let mut pclq = pclq(Some(1));
        let mut told = |replicas: i32, pods: &[Arc<Pod>]| {
            pclq.spec.replicas = replicas;
            pclq.status = Some(status(&pclq, "wl", pods, 0));
            let conditions = &pclq.status.as_ref().unwrap().conditions;
            let is_true = |type_| conditions::is_true(conditions, type_);
            (is_true(CONDITION_MIN_AVAILABLE_BREACHED), held_since(conditions, 0).is_some())
        };
        assert_eq!(told(2, &bound), (false, true));
        assert_eq!(told(0, &bound), (false, false));
        assert_eq!(told(0, &[]), (false, false));
        assert_eq!(told(2, &[]), (true, false), "it waits");
        assert_eq!(told(2, &bound), (false, true));
    }

    #[rstest::rstest]
    #[case::starting(json!(null), false)]
    #[case::crashed(
        json!({"name": "m", "ready": false, "restartCount": 1, "image": "", "imageID": "",
               "lastState": {"terminated": {"exitCode": 1}}}),
        true
    )]
    #[case::started_not_ready(
        json!({"name": "m", "ready": false, "started": true, "restartCount": 0, "image": "", "imageID": ""}),
        true
    )]
    fn health(#[case] container: Value, #[case] breached: bool) {
        let pods = [
            pod("a", false, &["PodScheduled"], container),
            pod("b", false, &["PodScheduled", "Ready"], json!(null)),
        ];
        let status = status(&pclq(Some(1)), "wl", &pods, 0);
        assert_eq!(conditions::is_true(&status.conditions, CONDITION_MIN_AVAILABLE_BREACHED), breached);
    }

    /// An init container that waits for other cliques is started and not ready for as long as they take.
    #[test]
    fn an_init_container_may_take_its_time() {
        let mut waiting = (*pod("a", false, &["PodScheduled"], json!(null))).clone();
        let init = json!({"name": "i", "ready": false, "started": true, "restartCount": 0, "image": "", "imageID": ""});
        waiting.status.get_or_insert_default().init_container_statuses =
            Some(vec![serde_json::from_value(init).unwrap()]);
        assert!(!is_unhealthy(&waiting));
    }
}
