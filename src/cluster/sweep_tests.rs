use std::sync::{Arc, Mutex};

use http::{Request, Response};
use kube::client::Body;
use tower_test::mock;

use super::*;
use serde_json::Value;

const KEY: &str = "conformance.grove.io/run";

/// Serves the kinds of `objects` only. `log` receives the method, path and body of each change.
async fn serve(
    objects: Vec<Value>,
    log: Arc<Mutex<Vec<String>>>,
    mut handle: mock::Handle<Request<Body>, Response<Body>>,
) {
    while let Some((request, send)) = handle.next_request().await {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let query = request.uri().query().unwrap_or_default().to_owned();
        let body = request.into_body().collect_bytes().await.unwrap_or_default();
        let of_kind: Vec<_> = objects.iter().filter(|object| path == collection(object)).cloned().collect();
        let (code, answer) = match method.as_str() {
            "GET" if !of_kind.is_empty() => {
                assert!(query.contains("labelSelector="), "{query}");
                (200, json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": of_kind}))
            }
            // A real API server gives this answer for a group that it does not serve.
            "GET" => (404, Value::Null),
            _ => {
                let body = String::from_utf8_lossy(&body).into_owned();
                log.lock().unwrap().push(format!("{method} {path} {body}"));
                (200, json!({"kind": "Status", "apiVersion": "v1", "status": "Success", "metadata": {}}))
            }
        };
        let answer = if code == 404 { "404 page not found\n".to_owned() } else { answer.to_string() };
        let answer = Body::from(answer.into_bytes());
        send.send_response(Response::builder().status(code).body(answer).unwrap());
    }
}

fn collection(object: &Value) -> String {
    let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
    let (api_version, plural) = (text("apiVersion"), format!("{}s", text("kind").to_lowercase()));
    let root = if api_version == "v1" { "/api/v1".to_owned() } else { format!("/apis/{api_version}") };
    format!("{root}/{plural}")
}

fn object(api_version: &str, kind: &str, name: &str, labels: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "uid": format!("uid-of-{name}"),
        "resourceVersion": "7", "labels": labels}})
}

fn cluster() -> Vec<Value> {
    let run = |run: &str| json!({(KEY): run});
    let mut simulated = object("v1", "Node", "aon-fits-a-1-0", run("a"));
    simulated["metadata"]["annotations"] = json!({SIMULATED: "fake"});
    let mut leased = object(
        "v1",
        "Node",
        "worker-1",
        json!({
            (KEY): "a", "conformance.grove.io/pool": "aon-fits-a-1", "kubernetes.io/hostname": "worker-1",
            "topology.kubernetes.io/rack": "aon-fits-a-1-rack", "topology.kubernetes.io/zone": "east",
        }),
    );
    leased["spec"] = json!({"taints": [
        {"key": "conformance.grove.io/pool", "value": "aon-fits-a-1", "effect": "NoSchedule"},
        {"key": "team", "value": "blue", "effect": "NoSchedule"},
    ]});
    let mut terminating = object("v1", "Namespace", "aon-fits-a-0", run("a"));
    terminating["metadata"]["deletionTimestamp"] = json!("2026-12-01T10:00:00Z");
    vec![
        object("v1", "Namespace", "aon-fits-a-1", run("a")),
        terminating,
        object("grove.io/v1alpha1", "ClusterTopologyBinding", "conformance-topology", run("a")),
        simulated,
        leased,
    ]
}

async fn swept(objects: Vec<Value>, run: Option<&str>) -> (Result<Vec<String>, ClusterError>, Vec<String>) {
    let (service, handle) = mock::pair::<Request<Body>, Response<Body>>();
    let log = Arc::<Mutex<Vec<String>>>::default();
    let server = tokio::spawn(serve(objects, log.clone(), handle));
    let client = Client::new(service, "default");
    let label = RunLabel { key: KEY, run };
    let found = match left(&client, label).await {
        Ok(found) => {
            for left in &found {
                left.remove().await.unwrap();
            }
            Ok(found.iter().map(ToString::to_string).collect())
        }
        Err(error) => Err(error),
    };
    server.abort();
    let log = log.lock().unwrap().clone();
    (found, log)
}

#[tokio::test]
async fn everything_of_a_run_is_removed_and_nothing_else() {
    let (found, log) = swept(cluster(), None).await;
    insta::assert_snapshot!(found.unwrap().join("\n"), @r"
    Namespace aon-fits-a-1 of run a
    ClusterTopologyBinding conformance-topology of run a
    Node aon-fits-a-1-0 of run a
    Node worker-1 of run a (labels and taints only)
    ");
    insta::assert_snapshot!(log.join("\n"));
}

#[rstest::rstest]
#[case::holds(Some("a"), &["ClusterTopologyBinding conformance-topology of run a (unless another run holds it)"])]
#[case::holds_not(Some("c"), &[])]
#[case::all_runs(None, &["ClusterTopologyBinding conformance-topology of all runs"])]
#[tokio::test]
async fn a_shared_object_is_found_for_the_runs_that_hold_it(
    #[case] run: Option<&str>,
    #[case] wanted: &[&str],
) {
    let mut binding =
        object("grove.io/v1alpha1", "ClusterTopologyBinding", "conformance-topology", json!({(KEY): SHARED}));
    binding["metadata"]["annotations"] =
        json!({"holder.conformance.grove.io/a": "", "holder.conformance.grove.io/b": ""});
    let (service, handle) = mock::pair::<Request<Body>, Response<Body>>();
    let server = tokio::spawn(serve(vec![binding], Arc::default(), handle));
    let found = left(&Client::new(service, "default"), RunLabel { key: KEY, run }).await.unwrap();
    server.abort();
    assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), wanted);
}

#[rstest::rstest]
#[case::no_label(json!({}), None)]
#[case::other_run(json!({(KEY): "b"}), Some("a"))]
#[tokio::test]
async fn nothing_is_removed_if_an_object_lacks_the_label(#[case] labels: Value, #[case] run: Option<&str>) {
    let mut objects = cluster();
    objects.push(object("v1", "Node", "of-another-client", labels));
    let (found, log) = swept(objects, run).await;
    let error = found.unwrap_err().to_string();
    assert!(error.contains("Node of-another-client") && error.contains("nothing is removed"), "{error}");
    assert!(log.is_empty(), "{log:?}");
}
