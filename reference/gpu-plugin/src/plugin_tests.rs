use std::collections::BTreeSet;
use std::time::Instant;

use tempfile::TempDir;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;
use tonic::{Code, Status};

use super::super::devices::Unhealthy;
use super::super::mock_kubelet::{MockKubelet, Registered};
use super::super::v1beta1::{AllocateRequest, ContainerAllocateRequest, Empty, ListAndWatchResponse};
use super::*;

/// Timeout of a step, longer than any step takes. The slowest step waits for two checks of the sockets.
const BOUND: Duration = Duration::from_secs(20);
const SOCKET: &str = "fake-gpu-nvidia.com_gpu.sock";

async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, what).await.expect("not in time")
}

fn devices(count: u16, unhealthy: &[u16]) -> Devices {
    Devices { count, unhealthy: Unhealthy::These(unhealthy.iter().copied().collect::<BTreeSet<_>>()) }
}

struct Running {
    devices: watch::Sender<Devices>,
    registered: watch::Receiver<bool>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

fn run(plugins_dir: &Path, with: Devices) -> Running {
    run_faulty(plugins_dir, with, Faults::default())
}

fn run_faulty(plugins_dir: &Path, with: Devices, faults: Faults) -> Running {
    let (devices, given) = watch::channel(with);
    let (register, registered) = watch::channel(false);
    let (stop, stopped) = watch::channel(false);
    let plugin = Plugin {
        resource: "nvidia.com/gpu".parse().unwrap(),
        plugins_dir: plugins_dir.to_owned(),
        devices: given,
        registered: register,
        faults,
    };
    Running { devices, registered, stop, task: tokio::spawn(plugin.run(stopped)) }
}

struct World {
    folder: TempDir,
    kubelet: MockKubelet,
    registrations: UnboundedReceiver<Registered>,
    running: Running,
    first: Registered,
}

async fn world(with: Devices) -> World {
    faulty_world(with, Faults::default()).await
}

async fn faulty_world(with: Devices, faults: Faults) -> World {
    let folder = tempfile::tempdir().unwrap();
    let (kubelet, mut registrations) = MockKubelet::start(folder.path());
    let running = run_faulty(folder.path(), with, faults);
    let first = within(registrations.recv()).await.unwrap();
    World { folder, kubelet, registrations, running, first }
}

fn listed(response: Option<ListAndWatchResponse>) -> Vec<(String, String)> {
    let devices = response.expect("the list has ended").devices.into_iter();
    devices.map(|device| (device.id, device.health)).collect()
}

fn expected(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(id, health)| ((*id).to_owned(), (*health).to_owned())).collect()
}

async fn allocate(registered: &mut Registered, containers: &[&[&str]]) -> Result<Vec<String>, Status> {
    let mut request = AllocateRequest::default();
    for container in containers {
        let devices_ids = container.iter().map(|id| (*id).to_owned()).collect();
        request.container_requests.push(ContainerAllocateRequest { devices_ids });
    }
    let answer = within(registered.plugin.allocate(request)).await?.into_inner();
    let mut ids = Vec::new();
    for response in answer.container_responses {
        assert_eq!(response.envs.len(), 1, "no other variable");
        ids.push(response.envs["FAKE_GPU_DEVICES"].clone());
    }
    Ok(ids)
}

#[tokio::test]
async fn registers_its_resource_and_its_socket() {
    let mut world = world(devices(2, &[])).await;
    let Registered { request, options, .. } = &world.first;
    assert_eq!(
        (request.version.as_str(), request.endpoint.as_str(), request.resource_name.as_str()),
        ("v1beta1", SOCKET, "nvidia.com/gpu")
    );
    assert_eq!(request.options.as_ref(), Some(options), "both have the same options");
    assert!(!options.pre_start_required && !options.get_preferred_allocation_available);
    assert!(world.folder.path().join(SOCKET).exists());
    within(world.running.registered.wait_for(|registered| *registered)).await.unwrap();
}

#[tokio::test]
async fn streams_the_devices_and_every_change() {
    let mut world = world(devices(2, &[])).await;
    let mut lists = within(world.first.plugin.list_and_watch(Empty {})).await.unwrap().into_inner();
    let list = listed(within(lists.message()).await.unwrap());
    assert_eq!(list, expected(&[("fake-gpu-0", "Healthy"), ("fake-gpu-1", "Healthy")]));

    world.running.devices.send_replace(devices(2, &[1]));
    let list = listed(within(lists.message()).await.unwrap());
    assert_eq!(list, expected(&[("fake-gpu-0", "Healthy"), ("fake-gpu-1", "Unhealthy")]));

    world.running.devices.send_replace(devices(1, &[]));
    let list = listed(within(lists.message()).await.unwrap());
    assert_eq!(list, expected(&[("fake-gpu-0", "Healthy")]));
}

#[tokio::test]
async fn healthy_devices_are_allocated_and_others_refused() {
    let mut world = world(devices(3, &[2])).await;
    let ids = allocate(&mut world.first, &[&["fake-gpu-1", "fake-gpu-0"], &[]]).await.unwrap();
    assert_eq!(ids, ["fake-gpu-1,fake-gpu-0", ""]);

    let unhealthy = allocate(&mut world.first, &[&["fake-gpu-0"], &["fake-gpu-2"]]).await.unwrap_err();
    assert_eq!(unhealthy.code(), Code::FailedPrecondition);
    assert!(unhealthy.message().contains("fake-gpu-2"), "{unhealthy}");

    let unknown = allocate(&mut world.first, &[&["fake-gpu-3"]]).await.unwrap_err();
    assert_eq!(unknown.code(), Code::InvalidArgument);
    assert!(unknown.message().contains("fake-gpu-3"), "{unknown}");
}

#[tokio::test]
async fn registers_again_with_a_kubelet_that_restarts() {
    let mut world = world(devices(2, &[])).await;
    let mut lists = within(world.first.plugin.list_and_watch(Empty {})).await.unwrap().into_inner();
    within(lists.message()).await.unwrap();
    within(world.running.registered.wait_for(|registered| *registered)).await.unwrap();

    world.kubelet.restart();
    let mut second = within(world.registrations.recv()).await.unwrap();
    assert_eq!(second.request, world.first.request);
    let mut lists = within(second.plugin.list_and_watch(Empty {})).await.unwrap().into_inner();
    let list = listed(within(lists.message()).await.unwrap());
    assert_eq!(list, expected(&[("fake-gpu-0", "Healthy"), ("fake-gpu-1", "Healthy")]));
    within(world.running.registered.wait_for(|registered| *registered)).await.unwrap();
}

#[tokio::test]
async fn the_fault_same_gpus_gives_containers_the_same_devices() {
    let faults = Faults { same_gpus: true, ..Faults::default() };
    let mut world = faulty_world(devices(4, &[]), faults).await;
    let given: &[&[&str]] = &[&["fake-gpu-0", "fake-gpu-1"], &["fake-gpu-3", "fake-gpu-2"]];
    let ids = allocate(&mut world.first, given).await.unwrap();
    assert_eq!(ids, ["fake-gpu-0,fake-gpu-1"; 2]);
    let unknown = allocate(&mut world.first, &[&["fake-gpu-4"]]).await.unwrap_err();
    assert_eq!(unknown.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn the_fault_register_once_prevents_registering_again() {
    let faults = Faults { register_once: true, ..Faults::default() };
    let mut world = faulty_world(devices(2, &[]), faults).await;
    within(world.running.registered.wait_for(|registered| *registered)).await.unwrap();
    world.kubelet.restart();
    assert!(tokio::time::timeout(3 * CHECK_INTERVAL, world.registrations.recv()).await.is_err());
    assert!(*world.running.registered.borrow());
}

#[tokio::test]
async fn serves_again_after_its_socket_is_removed() {
    let mut world = world(devices(1, &[])).await;
    std::fs::remove_file(world.folder.path().join(SOCKET)).unwrap();
    within(world.registrations.recv()).await.unwrap();
    assert!(world.folder.path().join(SOCKET).exists());
}

#[tokio::test]
async fn stops_within_a_second_and_removes_its_socket() {
    let mut world = world(devices(1, &[])).await;
    let mut lists = within(world.first.plugin.list_and_watch(Empty {})).await.unwrap().into_inner();
    within(lists.message()).await.unwrap();
    within(world.running.registered.wait_for(|registered| *registered)).await.unwrap();

    let start = Instant::now();
    world.running.stop.send_replace(true);
    within(world.running.task).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(1), "took {:?}", start.elapsed());
    assert!(!world.folder.path().join(SOCKET).exists());
    assert!(!*world.running.registered.borrow(), "it is no longer registered");
}

#[tokio::test]
async fn waits_for_the_folder_and_the_kubelet() {
    let folder = tempfile::tempdir().unwrap();
    let later = folder.path().join("device-plugins");
    let mut running = run(&later, devices(1, &[]));
    assert!(!*running.registered.borrow());
    std::fs::create_dir(&later).unwrap();
    let (_kubelet, mut registrations) = MockKubelet::start(&later);
    within(registrations.recv()).await.unwrap();
    within(running.registered.wait_for(|registered| *registered)).await.unwrap();
    running.stop.send_replace(true);
    within(running.task).await.unwrap();
}

#[tokio::test]
async fn a_refusal_contains_the_kubelets_message_and_is_retried() {
    let folder = tempfile::tempdir().unwrap();
    let refusing =
        MockKubelet::refusing(folder.path(), "requested device plugin API version is not supported");
    let request = RegisterRequest { version: "v0".to_owned(), ..RegisterRequest::default() };
    let error = within(register(&folder.path().join("kubelet.sock"), request)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the kubelet refused the registration: requested device plugin API version is not supported"
    );

    let mut running = run(folder.path(), devices(1, &[]));
    drop(refusing);
    let (_kubelet, mut registrations) = MockKubelet::start(folder.path());
    within(registrations.recv()).await.unwrap();
    within(running.registered.wait_for(|registered| *registered)).await.unwrap();
}

#[tokio::test]
async fn a_missing_kubelet_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let error = within(register(&folder.path().join("kubelet.sock"), RegisterRequest::default())).await;
    let reason = error.unwrap_err().to_string();
    assert!(reason.starts_with("cannot connect to ") && reason.contains("No such file"), "{reason}");
}
