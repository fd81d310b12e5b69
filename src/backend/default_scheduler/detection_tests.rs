//! Detection against an API server that is made up here.

use http::{Request, Response};
use kube::client::Body;
use tower_test::mock;

use super::*;

/// What the made-up API server does.
#[derive(Clone, Copy)]
struct Server {
    served: bool,
    generic_workload: bool,
    topology: bool,
}

const FULL: Server = Server { served: true, generic_workload: true, topology: true };

async fn answer(server: Server, mut handle: mock::Handle<Request<Body>, Response<Body>>) {
    while let Some((request, send)) = handle.next_request().await {
        let path = request.uri().path().to_owned();
        let (status, body) = if path == "/apis/scheduling.k8s.io/v1alpha2" {
            let resource = |name: &str, kind: &str| json!({"name": name, "singularName": "", "namespaced": true, "kind": kind, "verbs": []});
            match server.served {
                true => (
                    200,
                    json!({
                        "groupVersion": "scheduling.k8s.io/v1alpha2",
                        "resources": [resource("workloads", "Workload"), resource("podgroups", "PodGroup")],
                    }),
                ),
                false => {
                    (404, json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}))
                }
            }
        } else {
            assert_eq!(request.uri().query(), Some("&dryRun=All"), "nothing is ever stored");
            let body = request.into_body().collect_bytes().await.unwrap();
            let mut object: Value = serde_json::from_slice(&body).unwrap();
            let spec = object["spec"].as_object_mut().unwrap();
            if !server.generic_workload {
                spec.remove("schedulingGroup");
            }
            if !server.topology {
                spec.remove("schedulingConstraints");
            }
            (201, object)
        };
        let body = Body::from(serde_json::to_vec(&body).unwrap());
        send.send_response(Response::builder().status(status).body(body).unwrap());
    }
}

fn detection(server: Server, gates: SchedulerFeatureGates) -> Detection {
    let (service, handle) = mock::pair::<Request<Body>, Response<Body>>();
    tokio::spawn(answer(server, handle));
    Detection::new(Client::new(service, "default"), "grove-system".into(), gates)
}

#[rstest::rstest]
#[case::all(FULL, None, None)]
#[case::not_served(Server { served: false, ..FULL }, Some("scheduling.k8s.io/v1alpha2"), Some("v1alpha2"))]
#[case::gate_off(Server { generic_workload: false, ..FULL }, Some("GenericWorkload"), Some("GenericWorkload"))]
#[case::no_topology(Server { topology: false, ..FULL }, None, Some("TopologyAwareWorkloadScheduling"))]
#[tokio::test]
async fn what_is_missing_is_named(
    #[case] server: Server,
    #[case] gangs: Option<&str>,
    #[case] topology: Option<&str>,
) {
    let support = detection(server, SchedulerFeatureGates::default()).support().await;
    for (found, expected) in [(support.gangs, gangs), (support.topology, topology)] {
        match (found, expected) {
            (Ok(()), None) => {}
            (Err(reason), Some(name)) => assert!(reason.contains(name), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_gate_declared_off_is_believed() {
    let gates = SchedulerFeatureGates { gang_scheduling: false, ..SchedulerFeatureGates::default() };
    let support = detection(FULL, gates).support().await;
    assert!(support.gangs.unwrap_err().contains("GangScheduling is declared off"));
}
