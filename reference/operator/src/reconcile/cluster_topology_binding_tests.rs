use kube::api::DynamicObject;
use kube::runtime::watcher::Event;
use serde_json::Value;

use super::*;
use crate::backend::fake_backend::FakeBackend;
use crate::context::test_api::World;

const STATUS: &str = "PATCH /apis/grove.io/v1alpha1/clustertopologybindings/topo/status";

fn binding(schedulers: &[&str]) -> ClusterTopologyBinding {
    let bound: Vec<_> = schedulers
        .iter()
        .map(|scheduler| json!({"schedulerName": scheduler, "topologyReference": "theirs"}))
        .collect();
    serde_json::from_value(json!({
        "metadata": {"name": "topo", "uid": "u", "generation": 1},
        "spec": {"levels": [{"domain": "rack", "key": "r"}], "schedulerTopologyBindings": bound},
    }))
    .unwrap()
}

fn world(state: TopologyState, readiness: Result<(), String>) -> World {
    let backend = FakeBackend { topology: Some(state), readiness, ..FakeBackend::ready("fake") };
    World::with_backend(|_| Arc::new(backend))
}

async fn reconciled(
    world: &World,
    binding: &ClusterTopologyBinding,
) -> (Option<ClusterTopologyBindingStatus>, Result<Action, ReconcileError>, Vec<String>) {
    let result = reconcile(Arc::new(binding.clone()), Arc::clone(&world.context)).await;
    let (statuses, others): (Vec<_>, Vec<_>) =
        world.written().into_iter().partition(|(request, _)| request == STATUS);
    let status =
        statuses.into_iter().next().map(|(_, body)| serde_json::from_value(body["status"].clone()).unwrap());
    (status, result, others.into_iter().map(|(request, _)| request).collect())
}

fn reason(status: &ClusterTopologyBindingStatus) -> &str {
    &status.conditions[0].reason
}

fn topology(name: &str) -> DynamicObject {
    serde_json::from_value(json!({"metadata": {"name": name, "generation": 3}})).unwrap()
}

#[tokio::test]
async fn the_status_of_a_binding_in_sync_is_written_once() {
    let world = world(TopologyState::InSync, Ok(()));
    let mut binding = binding(&[]);
    let (status, result, others) = reconciled(&world, &binding).await;
    let status = status.unwrap();
    assert_eq!((reason(&status), status.observed_generation), ("InSync", Some(1)));
    assert_eq!((result.unwrap(), others), (Action::await_change(), Vec::<String>::new()));
    binding.status = Some(status);
    assert!(reconciled(&world, &binding).await.0.is_none());
}

#[tokio::test]
async fn a_refusal_is_reported_and_not_retried() {
    let world = world(TopologyState::Refused("held by another".into()), Ok(()));
    let (status, result, events) = reconciled(&world, &binding(&[])).await;
    assert_eq!(reason(&status.unwrap()), "TopologyRefused");
    assert_eq!(result.unwrap(), Action::await_change());
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(events[0].contains("events"));
}

#[tokio::test]
async fn a_referenced_topology_is_compared_and_not_synced() {
    let mut world = world(TopologyState::Refused("synced".into()), Ok(()));
    let binding = binding(&["fake"]);
    let (status, ..) = reconciled(&world, &binding).await;
    assert_eq!(reason(&status.unwrap()), "Drift", "the referenced topology does not exist");
    world.feeds.topology_resources[0].1.take(Event::Apply(topology("theirs")));
    let (status, ..) = reconciled(&world, &binding).await;
    let status = status.unwrap();
    let entry = &status.scheduler_topology_statuses[0];
    assert_eq!((entry.topology_reference.as_str(), entry.in_sync), ("theirs", true));
    assert_eq!(entry.scheduler_backend_topology_observed_generation, Some(3));
}

#[tokio::test]
async fn a_scheduler_that_is_not_installed_is_checked_again() {
    let world = world(TopologyState::InSync, Err("no CRD".into()));
    let (status, result, events) = reconciled(&world, &binding(&[])).await;
    let status = status.unwrap();
    assert_eq!(reason(&status), "SchedulerBackendNotReady");
    assert_eq!(status.conditions[0].message, "fake: no CRD");
    assert_eq!(result.unwrap(), Action::requeue(NOT_READY_PAUSE));
    assert!(events.is_empty(), "{events:?}");
}

#[tokio::test]
async fn a_scheduler_that_is_not_enabled_is_reported() {
    let world = world(TopologyState::InSync, Ok(()));
    let (status, ..) = reconciled(&world, &binding(&["gone"])).await;
    let status = status.unwrap();
    assert_eq!(reason(&status), "TopologyNotFound");
    let schedulers: Vec<_> =
        status.scheduler_topology_statuses.iter().map(|entry| entry.scheduler_name.as_str()).collect();
    assert_eq!(schedulers, ["fake", "gone"]);
}

#[tokio::test]
async fn a_binding_that_is_being_deleted_gets_no_status() {
    let world = world(TopologyState::InSync, Ok(()));
    let mut binding = serde_json::to_value(binding(&[])).unwrap();
    binding["metadata"]["deletionTimestamp"] = Value::from("2026-01-01T00:00:00Z");
    let (status, ..) = reconciled(&world, &serde_json::from_value(binding).unwrap()).await;
    assert!(status.is_none());
}
