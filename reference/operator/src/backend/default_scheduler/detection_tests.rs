use http::{Request, Response};
use kube::client::Body;
use tower_test::mock;

use super::*;

#[derive(Clone, Copy)]
struct Server {
    served: Option<Version>,
    composite: bool,
    generic_workload: bool,
    topology: bool,
}

const FULL: Server =
    Server { served: Some(Version::V1Alpha2), composite: false, generic_workload: true, topology: true };
const WITH_TREES: Server = Server { served: Some(Version::V1Beta1), composite: true, ..FULL };

async fn answer(server: Server, mut handle: mock::Handle<Request<Body>, Response<Body>>) {
    while let Some((request, send)) = handle.next_request().await {
        let path = request.uri().path().to_owned();
        let (status, body) = if let Some(version) = path.strip_prefix("/apis/scheduling.k8s.io/")
            && !version.contains('/')
        {
            let resource = |name: &str, kind: &str| json!({"name": name, "singularName": "", "namespaced": true, "kind": kind, "verbs": []});
            let list = |resources: &[Value]| {
                let group_version = format!("scheduling.k8s.io/{version}");
                (200, json!({"groupVersion": group_version, "resources": resources}))
            };
            if server.served.is_some_and(|served| served.as_str() == version) {
                list(&[resource("workloads", "Workload"), resource("podgroups", "PodGroup")])
            } else if server.composite && version == COMPOSITE_VERSION {
                list(&[resource("compositepodgroups", "CompositePodGroup")])
            } else {
                (404, json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}))
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
            if !server.composite {
                spec.remove("parentCompositePodGroupName");
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
#[case::not_served(Server { served: None, ..FULL }, Some("scheduling.k8s.io/v1alpha2"), Some("v1alpha2"))]
#[case::gate_off(Server { generic_workload: false, ..FULL }, Some("GenericWorkload"), Some("GenericWorkload"))]
#[case::no_topology(Server { topology: false, ..FULL }, None, Some("TopologyAwareWorkloadScheduling"))]
#[tokio::test]
async fn a_missing_feature_is_named(
    #[case] server: Server,
    #[case] gangs: Option<&str>,
    #[case] topology: Option<&str>,
) {
    let support = detection(server, SchedulerFeatureGates::default()).support().await;
    for (found, expected) in [(support.gangs.map(drop), gangs), (support.topology, topology)] {
        match (found, expected) {
            (Ok(()), None) => {}
            (Err(reason), Some(name)) => assert!(reason.contains(name), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_gate_declared_off_counts_as_missing() {
    let gates = SchedulerFeatureGates { gang_scheduling: false, ..SchedulerFeatureGates::default() };
    let support = detection(FULL, gates).support().await;
    assert!(support.gangs.unwrap_err().contains("feature gate GangScheduling is off"));
}

#[rstest::rstest]
#[case::of_1_36(FULL, SchedulerFeatureGates::default(), Version::V1Alpha2, Some("Kubernetes 1.37"))]
#[case::all(WITH_TREES, SchedulerFeatureGates::default(), Version::V1Beta1, None)]
#[case::gate_off(
    Server { composite: false, ..WITH_TREES },
    SchedulerFeatureGates::default(),
    Version::V1Beta1,
    Some("feature gate CompositePodGroup")
)]
#[case::declared_off(
    WITH_TREES,
    SchedulerFeatureGates { composite_pod_group: false, ..SchedulerFeatureGates::default() },
    Version::V1Beta1,
    Some("feature gate CompositePodGroup is off")
)]
#[tokio::test]
async fn a_missing_part_of_tree_support_is_named(
    #[case] server: Server,
    #[case] gates: SchedulerFeatureGates,
    #[case] version: Version,
    #[case] missing: Option<&str>,
) {
    let support = detection(server, gates).support().await;
    assert_eq!(support.gangs, Ok(version));
    let scope = support.scope(GangScope::PodGang);
    match (support.composite, missing) {
        (Ok(()), None) => assert_eq!(scope, Ok(GangScope::Tree)),
        (Err(Unavailable::Absent(reason)), Some(name)) => {
            assert!(reason.contains(name), "{reason}");
            assert_eq!(scope, Ok(GangScope::PodGang));
        }
        other => panic!("{other:?}"),
    }
}
