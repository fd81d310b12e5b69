use std::path::Path;
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::super::mock_kubelet::MockKubelet;
use super::*;

const BOUND: Duration = Duration::from_secs(20);

async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, what).await.expect("not in time")
}

fn options(plugins_dir: &Path, health_bind: SocketAddr) -> Options {
    Options {
        resource: "nvidia.com/gpu".parse().unwrap(),
        gpus: 2,
        plugins_dir: plugins_dir.to_owned(),
        health_bind,
        node: None,
        faults: Faults::default(),
    }
}

async fn status(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: plugin\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    answer.lines().next().map(str::to_owned)
}

async fn wait_for_status(address: SocketAddr, path: &str, wanted: &str) {
    let until_wanted = async {
        while status(address, path).await.as_deref() != Some(wanted) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    within(until_wanted).await;
}

async fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

#[tokio::test]
async fn is_ready_once_registered_and_stops_within_a_second() {
    let folder = tempfile::tempdir().unwrap();
    let address = free_address().await;
    let (end, ended) = oneshot::channel::<()>();
    let shutdown = async {
        let _ = ended.await;
    };
    let program = tokio::spawn(run_until(options(folder.path(), address), shutdown));
    wait_for_status(address, "/healthz", "HTTP/1.1 200 OK").await;
    wait_for_status(address, "/readyz", "HTTP/1.1 503 Service Unavailable").await;

    let (_kubelet, mut registrations) = MockKubelet::start(folder.path());
    within(registrations.recv()).await.unwrap();
    wait_for_status(address, "/readyz", "HTTP/1.1 200 OK").await;

    let start = Instant::now();
    end.send(()).unwrap();
    within(program).await.unwrap().unwrap();
    assert!(start.elapsed() < Duration::from_secs(1), "took {:?}", start.elapsed());
    assert!(!folder.path().join("fake-gpu-nvidia.com_gpu.sock").exists());
}

#[tokio::test]
async fn an_address_in_use_ends_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let options = options(folder.path(), taken.local_addr().unwrap());
    let result = within(run_until(options, std::future::pending())).await;
    assert!(matches!(result, Err(PluginError::Health(_))), "{result:?}");
}
