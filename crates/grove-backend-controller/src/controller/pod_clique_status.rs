//! Status of a PodClique: counts of its pods, and whether its minimum is scheduled and healthy.

use std::sync::Arc;

use grove_api::names::{
    self, CONDITION_MIN_AVAILABLE_BREACHED, CONDITION_POD_CLIQUE_SCHEDULED, LABEL_POD_CLIQUE,
    LABEL_POD_TEMPLATE_HASH, LABEL_SCALING_GROUP, REASON_INSUFFICIENT_SCHEDULED_PODS,
    REASON_SUFFICIENT_SCHEDULED_PODS,
};
use grove_api::{PodClique, PodCliqueStatus};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodStatus};
use kube::ResourceExt;
use kube::runtime::controller::Action;
use serde_json::json;

use super::conditions::{self, Verdict};
use super::context::Context;
use super::error::ReconcileError;
use super::gang_view::{is_live, own_pods};
use super::json_diff::merge_patch;
use super::writes;

/// Writes the status of one PodClique if it has changed.
///
/// # Errors
/// The write failed.
pub(super) async fn reconcile(pclq: Arc<PodClique>, context: Arc<Context>) -> Result<Action, ReconcileError> {
    let Some(pcs) = context.caches.root_of(&pclq) else { return Ok(Action::await_change()) };
    let mut status = status(&pclq, &pcs.name_any(), &own_pods(&context.caches, &pclq));
    if context.faults.ready_counts_scheduled {
        status.ready_replicas = status.scheduled_replicas;
    }
    let complete = status.replicas == pclq.spec.replicas && status.updated_replicas == status.replicas;
    if complete {
        status.current_pod_template_hash = pclq.labels().get(LABEL_POD_TEMPLATE_HASH).cloned();
    }
    let before = serde_json::to_value(pclq.status.clone().unwrap_or_default())?;
    if let Some(patch) = merge_patch(&before, &serde_json::to_value(&status)?) {
        writes::patch_status(&context.client, &*pclq, &json!({ "status": patch })).await?;
    }
    Ok(Action::await_change())
}

/// The status by what the pods say.
fn status(pclq: &PodClique, pcs: &str, pods: &[Arc<Pod>]) -> PodCliqueStatus {
    let live: Vec<_> = pods.iter().filter(|pod| is_live(pod)).collect();
    let count = |holds: &dyn Fn(&Pod) -> bool| {
        i32::try_from(live.iter().filter(|pod| holds(pod)).count()).unwrap_or(0)
    };
    let template = pclq.labels().get(LABEL_POD_TEMPLATE_HASH);
    let before = pclq.status.clone().unwrap_or_default();
    let mut status = PodCliqueStatus {
        observed_generation: pclq.metadata.generation,
        replicas: count(&|_| true),
        ready_replicas: count(&|pod| condition(pod, "Ready")),
        updated_replicas: count(&|pod| pod.labels().get(LABEL_POD_TEMPLATE_HASH) == template),
        schedule_gated_replicas: count(&is_gated),
        scheduled_replicas: count(&|pod| condition(pod, "PodScheduled")),
        hpa_pod_selector: (!pclq.labels().contains_key(LABEL_SCALING_GROUP)).then(|| selector(pclq, pcs)),
        ..before.clone()
    };
    if before.observed_generation.is_some() {
        let minimum = pclq.spec.min_available.unwrap_or(pclq.spec.replicas);
        let unhealthy = count(&|pod| condition(pod, "PodScheduled") && is_unhealthy(pod));
        let scheduled = status.scheduled_replicas;
        for verdict in [
            scheduled_verdict(scheduled, minimum),
            breached_verdict(scheduled, scheduled - unhealthy, minimum),
        ] {
            status.conditions = conditions::with(status.conditions, verdict, None);
        }
    }
    status
}

fn scheduled_verdict(scheduled: i32, minimum: i32) -> Verdict {
    let enough = scheduled >= minimum;
    Verdict {
        type_: CONDITION_POD_CLIQUE_SCHEDULED,
        status: Some(enough),
        reason: if enough { REASON_SUFFICIENT_SCHEDULED_PODS } else { REASON_INSUFFICIENT_SCHEDULED_PODS },
        message: format!("scheduled pods: {scheduled}, minAvailable: {minimum}"),
    }
}

fn breached_verdict(scheduled: i32, healthy: i32, minimum: i32) -> Verdict {
    let (breached, reason, pods, counted) = match (scheduled >= minimum, healthy >= minimum) {
        (false, _) => (true, "ScheduledReplicasBelowMinAvailable", "scheduled", scheduled),
        (true, false) => (true, "InsufficientReadyPods", "ready or starting", healthy),
        (true, true) => (false, "SufficientReadyPods", "ready or starting", healthy),
    };
    let message = format!("{pods} pods: {counted}, minAvailable: {minimum}");
    Verdict { type_: CONDITION_MIN_AVAILABLE_BREACHED, status: Some(breached), reason, message }
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

fn condition(pod: &Pod, type_: &str) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == type_ && condition.status == "True")
}

fn is_gated(pod: &Pod) -> bool {
    let gates = pod.spec.as_ref().and_then(|spec| spec.scheduling_gates.as_ref());
    gates.is_some_and(|gates| !gates.is_empty())
}

/// Not ready although it has started, or because a container ended in an error. A pod that is still starting
/// counts as healthy: init containers may take their time.
fn is_unhealthy(pod: &Pod) -> bool {
    let containers = |status: &PodStatus| -> Vec<ContainerStatus> {
        let lists = [&status.init_container_statuses, &status.container_statuses];
        lists.into_iter().flatten().flatten().cloned().collect()
    };
    let containers = pod.status.as_ref().map(containers).unwrap_or_default();
    let failed = |container: &ContainerStatus| {
        let states = [&container.state, &container.last_state];
        let mut ended = states.into_iter().flatten().filter_map(|state| state.terminated.as_ref());
        ended.any(|ended| ended.exit_code != 0)
    };
    let started = || containers.iter().any(|container| container.started == Some(true) && !container.ready);
    !condition(pod, "Ready") && (containers.iter().any(failed) || started())
}

#[cfg(test)]
mod tests {
    use kube::runtime::watcher::Event;
    use serde_json::Value;

    use super::*;
    use crate::controller::test_api::World;

    fn pod(name: &str, gated: bool, conditions: &[&str], container: Value) -> Arc<Pod> {
        let conditions: Vec<_> =
            conditions.iter().map(|type_| json!({"type": type_, "status": "True"})).collect();
        let containers: Vec<_> =
            Some(container).into_iter().filter(|container| !container.is_null()).collect();
        let gates = if gated { json!([{"name": "g"}]) } else { json!([]) };
        let pod = json!({
            "metadata": {"name": name, "labels": {LABEL_POD_TEMPLATE_HASH: "h"}},
            "spec": {"containers": [], "schedulingGates": gates},
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
        let status = status(&pclq(Some(1)), "wl", &pods);
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

    /// The fault `ready-counts-scheduled`: without it nothing is ready here.
    #[rstest::rstest]
    #[case::as_it_should_be(None, json!(null))]
    #[case::faulty(Some("ready-counts-scheduled"), json!(1))]
    #[tokio::test]
    async fn ready_is_not_scheduled(#[case] fault: Option<&str>, #[case] ready: Value) {
        let mut world = fault.map_or_else(World::new, |name| World::new().with_fault(name));
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
        pclq.metadata.owner_references = owner("PodCliqueSet", "wl");
        let mut pod = (*pod("a", false, &["PodScheduled"], json!(null))).clone();
        pod.metadata.namespace = Some("ns".to_owned());
        pod.metadata.owner_references = owner("PodClique", "wl-0-a");
        pod.labels_mut().insert(LABEL_POD_CLIQUE.to_owned(), "wl-0-a".to_owned());
        world.feeds.pods.take(Event::Apply(pod));
        reconcile(Arc::new(pclq), Arc::clone(&world.context)).await.unwrap();
        let written = world.written();
        assert_eq!(written[0].1["status"]["scheduledReplicas"], 1);
        assert_eq!(written[0].1["status"]["readyReplicas"], ready);
    }

    #[test]
    fn no_conditions_before_the_first_status() {
        assert!(status(&pclq(None), "wl", &[]).conditions.is_empty());
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
        let status = status(&pclq(Some(1)), "wl", &pods);
        assert_eq!(conditions::is_true(&status.conditions, CONDITION_MIN_AVAILABLE_BREACHED), breached);
    }
}
