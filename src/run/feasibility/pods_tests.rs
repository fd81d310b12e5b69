use serde_json::json;

use super::*;

fn message(pod_spec: Value, allocatable: &Value) -> Option<String> {
    let pcs = json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
        "cliques": [{"name": "a", "spec": {"podSpec": pod_spec}}]}}});
    let node = json!({"status": {"allocatable": allocatable}});
    let shapes = shapes(&pcs, &conformance_expect::gangs(&pcs));
    shapes[0].misfit(&[Node::of(&node)], &[true]).map(|misfit| misfit.to_string())
}

fn node() -> Value {
    json!({"cpu": "32", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "8"})
}

fn requests(resources: Value) -> Value {
    json!({"containers": [{"name": "c", "resources": {"requests": resources}}]})
}

#[rstest::rstest]
#[case::cpu(requests(json!({"cpu": "32"})), None)]
#[case::cpu_as_a_number(requests(json!({"cpu": 32})), None)]
#[case::thousandths_of_a_cpu(requests(json!({"cpu": "32000m"})), None)]
#[case::more_cpu(requests(json!({"cpu": "32001m"})), Some("requests 32.001 cpu, and the largest node has 32"))]
#[case::much_cpu(requests(json!({"cpu": 64})), Some("requests 64 cpu, and the largest node has 32: request at most 32, or pass --nodes FILE with larger"))]
#[case::memory(requests(json!({"memory": "256Gi"})), None)]
#[case::more_memory(
    requests(json!({"memory": "400Gi"})), Some("requests 400Gi memory, and the largest node has 256Gi")
)]
#[case::gpus(requests(json!({"nvidia.com/gpu": 8})), None)]
#[case::more_gpus(
    requests(json!({"nvidia.com/gpu": 16})),
    Some("requests 16 nvidia.com/gpu, and the largest node has 8: pass --nodes with at least 16 GPUs per node")
)]
#[case::missing_resource(
    requests(json!({"rdma/ib": 8})),
    Some("spec.template.cliques[0].spec.podSpec.containers[0].resources.requests[\"rdma/ib\"]: each pod of PodClique \
          w-0-a requests 8 rdma/ib, and no node has rdma/ib: remove the request, or pass --nodes FILE with it")
)]
#[case::none_of_a_missing_resource(requests(json!({"rdma/ib": 0})), None)]
#[case::other_gpus(requests(json!({"amd.com/gpu": 1})), Some("no node has amd.com/gpu"))]
#[case::hugepages(requests(json!({"hugepages-2Mi": "64Mi"})), Some("requests 64Mi hugepages-2Mi, and no node has"))]
#[case::storage(requests(json!({"ephemeral-storage": "1Gi"})), Some("no node has ephemeral-storage"))]
#[case::a_limit(
    json!({"containers": [{"resources": {"limits": {"rdma/ib": 8}}}]}),
    Some("containers[0].resources.limits[\"rdma/ib\"]")
)]
#[case::the_largest_of_several_containers(
    json!({"containers": [{"resources": {"limits": {"nvidia.com/gpu": 4}}}, {"resources": {"limits": {"nvidia.com/gpu": 5}}}]}),
    Some("containers[1].resources.limits[\"nvidia.com/gpu\"]: each pod of PodClique w-0-a requests 9")
)]
#[case::init_containers_run_before_the_others(
    json!({"initContainers": [{"resources": {"limits": {"nvidia.com/gpu": 8}}}],
           "containers": [{"resources": {"limits": {"nvidia.com/gpu": 8}}}]}),
    None
)]
#[case::a_sidecar_next_to_a_container(
    json!({"initContainers": [{"restartPolicy": "Always", "resources": {"limits": {"nvidia.com/gpu": 1}}}],
           "containers": [{"resources": {"limits": {"nvidia.com/gpu": 8}}}]}),
    Some("requests 9 nvidia.com/gpu, and the largest node has 8")
)]
#[case::pod_level(
    json!({"containers": [{}], "resources": {"requests": {"cpu": 64}}}),
    Some("podSpec.resources.requests[\"cpu\"]")
)]
#[case::overhead(json!({"containers": [{}], "overhead": {"cpu": 64}}), Some("podSpec.overhead[\"cpu\"]"))]
#[case::nothing(json!({"containers": [{"name": "c"}]}), None)]
fn a_pod_fits_a_node(#[case] pod_spec: Value, #[case] wanted: Option<&str>) {
    match (message(pod_spec, &node()), wanted) {
        (None, None) => {}
        (Some(found), Some(wanted)) => assert!(found.contains(wanted), "{found}"),
        (found, wanted) => panic!("{found:?}, want {wanted:?}"),
    }
}

#[test]
fn a_node_without_pods_takes_none() {
    let found = message(requests(json!({})), &json!({"pods": "0"})).unwrap();
    assert!(found.contains("requests 1 pods, and no node has pods"), "{found}");
}

#[rstest::rstest]
#[case::none(json!({"containers": [{"ports": [{"containerPort": 80}]}]}), 0)]
#[case::of_the_host(json!({"containers": [{"ports": [{"containerPort": 80, "hostPort": 8080}]}]}), 1)]
#[case::with_the_network_of_the_host(
    json!({"hostNetwork": true, "containers": [{"ports": [{"containerPort": 80}]}]}), 1
)]
#[case::of_a_sidecar(
    json!({"initContainers": [{"restartPolicy": "Always", "ports": [{"containerPort": 80, "hostPort": 80}]}]}), 1
)]
#[case::of_an_init_container(json!({"initContainers": [{"ports": [{"containerPort": 80, "hostPort": 80}]}]}), 0)]
fn host_ports_are_counted(#[case] pod_spec: Value, #[case] wanted: usize) {
    assert_eq!(ports(&pod_spec).len(), wanted);
}

#[rstest::rstest]
#[case("cpu", 32 * ONE, "32")]
#[case("cpu", ONE / 10, "0.1")]
#[case("cpu", ONE + ONE / 4, "1.25")]
#[case("memory", 256 * ONE * 1024 * 1024 * 1024, "256Gi")]
#[case("memory", 1536 * ONE, "1536")]
#[case("memory", 2048 * ONE, "2Ki")]
#[case("memory", 0, "0")]
#[case("nvidia.com/gpu", 8 * ONE, "8")]
fn amounts_are_shown_as_quantities(#[case] resource: &str, #[case] amount: Amount, #[case] wanted: &str) {
    assert_eq!(shown(resource, amount), wanted);
}
