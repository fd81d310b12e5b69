use conformance_cluster::nodes::NodeSpec;
use conformance_driver::case::Isolation;
use conformance_driver::context::node_spec;

use super::*;
use crate::feasibility::Knowledge;
use crate::workload;

const FILE: &str = r#"
apiVersion: v1
kind: Node
metadata:
  name: gpu
  annotations: {conformance.grove.io/replicas: "2"}
  labels: {accelerator: h100, topology.kubernetes.io/rack: r1, topology.kubernetes.io/block: b1}
spec:
  taints: [{key: gpu, value: "yes", effect: NoSchedule}]
status:
  allocatable: {cpu: 96, memory: 1Ti, nvidia.com/gpu: 8, rdma/ib: "8", pods: 4}
---
apiVersion: v1
kind: Node
metadata: {name: small}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: of-gpu}
spec:
  driver: gpu.example.com
  nodeName: gpu
  pool: {name: gpu, generation: 1, resourceSliceCount: 1}
  devices: [{name: d0, attributes: {uuid: {string: GPU-1}, model: {string: h100}}}]
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}
"#;

fn read(text: &str) -> Templates {
    Templates::read(text, "nodes.yaml").unwrap()
}

fn objects(templates: &Templates) -> Vec<Value> {
    let of = |(index, node): (usize, &Nodes)| node_spec(node, index, "ns", "run").object();
    templates.nodes().iter().enumerate().map(of).collect()
}

#[test]
fn nodes_get_the_labels_taints_and_resources_of_their_template() {
    let nodes = objects(&read(FILE));
    assert_eq!(nodes.len(), 3);
    for node in &nodes[..2] {
        let labels = &node["metadata"]["labels"];
        assert_eq!(labels["accelerator"], "h100");
        assert_eq!((&labels[RACK], &labels[BLOCK]), (&json!("ns-r1"), &json!("ns-b1")));
        assert_eq!(node["spec"]["taints"][1], json!({"key": "gpu", "value": "yes", "effect": "NoSchedule"}));
        assert_eq!(
            node["status"]["allocatable"],
            json!({"cpu": "96", "memory": "1Ti", "nvidia.com/gpu": "8", "rdma/ib": "8", "pods": "4"})
        );
        let source = &node["metadata"]["annotations"][conformance_cluster::nodes::TEMPLATE];
        assert_eq!(*source, "nodes.yaml: document 1 (Node gpu)");
    }
    let (small, labels) = (&nodes[2]["status"]["allocatable"], &nodes[2]["metadata"]["labels"]);
    assert_eq!(*small, json!({"cpu": "32", "memory": "256Gi", "pods": "110"}));
    assert!(labels[RACK].is_null() && labels["accelerator"].is_null(), "{labels}");
}

#[test]
fn devices_belong_to_their_node_and_have_no_uuid() {
    let nodes = read(FILE).nodes();
    let slices = |node: &Nodes| node.template.map(|template| template.slices.clone()).unwrap_or_default();
    let wanted = json!({"spec": {"driver": "gpu.example.com", "pool": {"name": "pool-0"},
        "devices": [{"name": "d0", "attributes": {"model": {"string": "h100"}}}]}});
    assert_eq!((slices(&nodes[0]), slices(&nodes[2])), (vec![wanted], Vec::new()));
    let classes = &nodes[0].template.unwrap().device_classes;
    assert_eq!(classes[0]["metadata"], json!({"name": "gpu.example.com"}));
}

fn of_cluster(differs: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": format!("ip-10-0-0-{differs}.example.com"), "uid": format!("uid-{differs}"),
            "resourceVersion": differs, "creationTimestamp": "2026-11-28T00:00:00Z",
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
            "labels": {
                "kubernetes.io/hostname": format!("ip-10-0-0-{differs}"), "zone": "z", (RACK): "r7",
                "address": format!("10.0.0.{differs}"), "instance": format!("i-{differs}"),
                "short": format!("ip-10-0-0-{differs}"), "conformance.grove.io/pool": "p",
            },
        },
        "spec": {
            "podCIDR": format!("10.1.{differs}.0/24"), "providerID": format!("aws:///z/i-{differs}"),
            "unschedulable": true,
            "taints": [
                {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
                {"key": "team", "value": "blue", "effect": "NoExecute", "timeAdded": "2026-11-28T00:00:00Z"},
            ],
        },
        "status": {
            "capacity": {"cpu": "64", "pods": "58"}, "allocatable": {"cpu": "63500m", "pods": "58"},
            "addresses": [
                {"type": "InternalIP", "address": format!("10.0.0.{differs}")},
                {"type": "Hostname", "address": format!("ip-10-0-0-{differs}.example.com")},
            ],
            "nodeInfo": {"machineID": differs}, "images": [],
        },
    })
}

fn slice_of_cluster(differs: &str) -> Value {
    let node = format!("ip-10-0-0-{differs}.example.com");
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
        "metadata": {"name": format!("{node}-gpu-x"), "uid": differs, "ownerReferences": [{"name": node}]},
        "spec": {"driver": "gpu.example.com", "nodeName": node,
            "pool": {"name": node, "generation": 3, "resourceSliceCount": 1},
            "devices": [{"name": "d0", "attributes": {"gpu.example.com/uuid": {"string": differs},
                "host": {"string": format!("10.0.0.{differs}")}, "cores": {"int": 8}}}]},
    })
}

#[test]
fn what_identifies_the_nodes_of_a_cluster_is_removed() {
    let mut shared = slice_of_cluster("1");
    shared["spec"].as_object_mut().unwrap().remove("nodeName");
    shared["spec"]["allNodes"] = true.into();
    let objects =
        vec![of_cluster("1"), of_cluster("2"), slice_of_cluster("1"), slice_of_cluster("2"), shared];
    let (templates, left_out) = Templates::of_cluster(objects, "--kubeconfig prod").unwrap();
    assert_eq!(left_out, 1);
    let text = templates.write("Nodes of prod.").unwrap();
    for identity in ["ip-10", "uid", "i-1", "10.0.0", "10.1", "ttl", "aws", "machine", "node.kubernetes.io"] {
        assert!(!text.contains(identity), "{identity}: {text}");
    }
    for shape in ["replicas: '2'", "zone: z", "rack: r7", "key: team", "cpu: 63500m", "cores"] {
        assert!(text.contains(shape), "{shape}: {text}");
    }
}

#[test]
fn a_copy_of_a_cluster_is_read_back_unchanged() {
    let mut other = of_cluster("3");
    other["status"]["allocatable"]["cpu"] = "8".into();
    let objects = vec![of_cluster("1"), other, of_cluster("2"), slice_of_cluster("1"), slice_of_cluster("2")];
    let (copied, _) = Templates::of_cluster(objects, "--kubeconfig prod").unwrap();
    let mut again = read(&copied.write("Nodes of prod.").unwrap());
    assert_eq!(again.all[0].source, "nodes.yaml: document 1 (Node shape-0)");
    for template in &mut again.all {
        template.source = "--kubeconfig prod".into();
    }
    assert_eq!(again, copied);
    let counts: Vec<_> = copied.all.iter().map(|template| (template.count, template.slices.len())).collect();
    assert_eq!(counts, [(2, 1), (1, 0)]);
}

#[test]
fn a_list_is_read_as_its_elements() {
    let list = json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": [of_cluster("1"), of_cluster("2")]});
    assert_eq!(objects(&read(&list.to_string())).len(), 2);
}

#[rstest::rstest]
#[case::kind(
    "kind: ConfigMap",
    "document 1 (ConfigMap): kind is \"ConfigMap\", expected Node, ResourceSlice or DeviceClass"
)]
#[case::no_kind("a: 1", "document 1: kind is null, expected Node")]
#[case::text("nodes", "document 1: kind is null")]
#[case::empty("", "there is no Node: write at least one")]
#[case::yaml("kind: [", "line")]
#[case::version(
    "{apiVersion: v2, kind: Node}",
    "document 1 (Node): apiVersion: \"v2\" is not a version of Node: write v1"
)]
#[case::field(
    "{apiVersion: v1, kind: Node, status: {allocable: {}}}",
    "status.allocable: unknown field: use one of allocatable, capacity"
)]
#[case::field_of_a_taint(
    "{apiVersion: v1, kind: Node, spec: {taints: [{key: a, efect: x}]}}",
    "spec.taints[0].efect: unknown field"
)]
#[case::quantity(
    "{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {memory: 8GB}}}",
    "document 1 (Node a): status.allocatable[\"memory\"]: \"8GB\" is not a quantity: write an amount such as 8, 500m or 64Gi"
)]
#[case::part_of_a_device(
    "{apiVersion: v1, kind: Node, status: {capacity: {rdma/ib: 500m}}}",
    "status.capacity[\"rdma/ib\"]: \"500m\" is not a whole number"
)]
#[case::negative(
    "{apiVersion: v1, kind: Node, status: {allocatable: {cpu: -1}}}",
    "status.allocatable[\"cpu\"]: -1 is negative"
)]
#[case::effect(
    "{apiVersion: v1, kind: Node, spec: {taints: [{key: a, effect: Never}]}}",
    "spec.taints[0].effect: \"Never\" is not an effect: write NoSchedule"
)]
#[case::taint(
    "{apiVersion: v1, kind: Node, spec: {taints: [{effect: NoSchedule}]}}",
    "spec.taints[0].key: null is not a key"
)]
#[case::label(
    "{apiVersion: v1, kind: Node, metadata: {labels: {gpu: true}}}",
    "metadata.labels[\"gpu\"]: true is not a string: write \"true\" in quotes"
)]
#[case::label_value(
    "{apiVersion: v1, kind: Node, metadata: {labels: {gpu: a b}}}",
    "the API server rejects \"a b\""
)]
#[case::label_key(
    "{apiVersion: v1, kind: Node, metadata: {labels: {a/b/c: d}}}",
    "metadata.labels[\"a/b/c\"]: the API server rejects this key"
)]
#[case::long_rack(
    "{apiVersion: v1, kind: Node, metadata: {labels: {topology.kubernetes.io/rack: a0123456789012345678901234567890123456789}}}",
    "is too long: use at most 40 characters"
)]
#[case::replicas(
    "{apiVersion: v1, kind: Node, metadata: {annotations: {conformance.grove.io/replicas: many}}}",
    "\"many\" is not a number of nodes"
)]
#[case::no_replicas(
    "{apiVersion: v1, kind: Node, metadata: {annotations: {conformance.grove.io/replicas: \"0\"}}}",
    "\"0\" is not a number of nodes"
)]
#[case::too_many(
    "{apiVersion: v1, kind: Node, metadata: {annotations: {conformance.grove.io/replicas: \"1001\"}}}",
    "1001 nodes, want at most 1000"
)]
#[case::same_name(
    "{apiVersion: v1, kind: Node, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Node, metadata: {name: a}}",
    "document 2 (Node a): metadata.name: an earlier Node has this name"
)]
#[case::labels(
    "{apiVersion: v1, kind: Node, metadata: {labels: [a]}}",
    "metadata.labels: [\"a\"] is not a mapping"
)]
#[case::taints("{apiVersion: v1, kind: Node, spec: {taints: {}}}", "spec.taints: {} is not a list")]
#[case::allocatable(
    "{apiVersion: v1, kind: Node, status: {allocatable: 8}}",
    "status.allocatable: 8 is not a mapping"
)]
fn an_invalid_template_names_the_document_and_the_field(#[case] text: &str, #[case] wanted: &str) {
    let error = Templates::read(text, "nodes.yaml").unwrap_err().to_string();
    assert!(error.contains(wanted), "{error}");
}

#[rstest::rstest]
#[case::version(
    "apiVersion: resource.k8s.io/v1beta1",
    "apiVersion: resource.k8s.io/v1\n",
    "write resource.k8s.io/v1"
)]
#[case::node("nodeName: other", "nodeName: gpu", "spec.nodeName names Node other, which does not exist")]
#[case::no_node("", "nodeName: gpu", "spec.nodeName: the field is missing")]
#[case::several("allNodes: true", "nodeName: gpu", "spec.allNodes: only devices of one node are simulated")]
#[case::driver("", "driver: gpu.example.com", "spec.driver: the field is missing")]
#[case::device(
    "devices: [{}]",
    "devices: [{name: d0, attributes: {uuid: {string: GPU-1}, model: {string: h100}}}]",
    "spec.devices[0].name: the field is missing"
)]
#[case::field("nodName: gpu", "nodeName: gpu", "spec.nodName: unknown field")]
fn an_invalid_slice_names_the_document_and_the_field(
    #[case] new: &str,
    #[case] old: &str,
    #[case] wanted: &str,
) {
    assert!(FILE.contains(old), "{old}");
    let text = FILE.replacen(old, &format!("{new}\n").replace("\n\n", "\n"), 1);
    let error = Templates::read(&text, "nodes.yaml").unwrap_err().to_string();
    assert!(error.contains("document 3 (ResourceSlice of-gpu)") && error.contains(wanted), "{error}");
}

fn set(name: &str, pod_spec: &str, pods: u32) -> String {
    format!(
        "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {{name: {name}}}\nspec: {{replicas: 1, template: \
         {{cliques: [{{name: a, spec: {{replicas: {pods}, podSpec: {{{pod_spec}}}}}}}]}}}}\n"
    )
}

fn undecided_or_error(text: &str, file: &str) -> String {
    match workload::case(text, read(file).nodes(), Knowledge::Complete) {
        Ok(accepted) => accepted.undecided.join(", "),
        Err(error) => error.to_string(),
    }
}

const TOLERATES: &str =
    "tolerations: [{key: gpu, operator: Exists}], containers: [{name: c, resources: {limits: {rdma/ib: 8}}}]";

#[rstest::rstest]
#[case::fits(TOLERATES, 2, "")]
#[case::one_too_many(TOLERATES, 3, "do not hold all of them")]
#[case::too_much(
    "containers: [{name: c, resources: {limits: {rdma/ib: 9}}}], tolerations: [{operator: Exists}]",
    1,
    "the largest node has 8"
)]
#[case::not_tolerated(
    "nodeSelector: {accelerator: h100}, containers: [{name: c}]",
    1,
    "a node has the taint gpu=yes:NoSchedule"
)]
#[case::rack(
    "nodeSelector: {topology.kubernetes.io/rack: r1}, tolerations: [{operator: Exists}], containers: [{name: c}]",
    2,
    ""
)]
#[case::other_rack(
    "nodeSelector: {topology.kubernetes.io/rack: r2}, tolerations: [{operator: Exists}], containers: [{name: c}]",
    2,
    "have topology.kubernetes.io/rack=<namespace>-r1"
)]
#[case::pods_of_the_template(
    "nodeSelector: {accelerator: h100}, tolerations: [{operator: Exists}], containers: [{name: c}]",
    8,
    ""
)]
#[case::more_pods(
    "nodeSelector: {accelerator: h100}, tolerations: [{operator: Exists}], containers: [{name: c}]",
    9,
    "do not hold all of them"
)]
#[case::devices(
    "resourceClaims: [{name: d, resourceClaimTemplateName: t}], containers: [{name: c}]",
    1,
    "podSpec.resourceClaims[0]"
)]
fn a_workload_fits_nodes_like_the_users(#[case] pod_spec: &str, #[case] pods: u32, #[case] wanted: &str) {
    let message = undecided_or_error(&set("w", pod_spec, pods), FILE);
    assert!(message.contains(wanted) && message.is_empty() == wanted.is_empty(), "{message}");
}

#[test]
fn the_workload_is_one_pod_short_on_nodes_of_a_file() {
    let accepted = workload::case(&set("w", TOLERATES, 2), read(FILE).nodes(), Knowledge::Complete).unwrap();
    let slots: Vec<_> = accepted.case.nodes.iter().map(|node| node.pods).collect();
    assert_eq!(slots.iter().sum::<u32>(), 1, "{slots:?}");
    let specs: Vec<NodeSpec> =
        accepted.case.nodes.iter().map(|node| node_spec(node, 0, "ns", "run")).collect();
    assert_eq!(specs[0].template.map(|template| template.pods), Some(4));
}

#[test]
fn pod_clique_sets_share_the_nodes_of_a_rack_that_they_select() {
    let selects = "nodeSelector: {topology.kubernetes.io/rack: r1}, tolerations: [{operator: Exists}], containers: [{name: c}]";
    let both = |pods| format!("{}---\n{}", set("w", selects, 4), set("x", selects, pods));
    assert_eq!(undecided_or_error(&both(4), FILE), "");
    let message = undecided_or_error(&both(5), FILE);
    assert!(message.contains("do not hold all of them"), "{message}");
}

#[test]
fn only_a_scheduler_allocates_devices_to_claims_of_the_manifest() {
    let companions = "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: any}\nspec: {}\n---\n\
        apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: t}\nspec: {spec: {devices: \
        {requests: [{name: d, exactly: {deviceClassName: any}}]}}}\n";
    let claims = "resourceClaims: [{name: d, resourceClaimTemplateName: t}], containers: [{name: c}]";
    let text = format!("{}---\n{}{companions}", set("w", claims, 1), set("x", claims, 1));
    let accepted = workload::case(&text, read(FILE).nodes(), Knowledge::Complete).unwrap();
    let path = "spec.template.cliques[0].spec.podSpec.resourceClaims[0]";
    let wanted = ["w", "x"].map(|name| format!("PodCliqueSet {name}: {path}"));
    assert_eq!(accepted.undecided, wanted);
    assert_eq!(accepted.case.isolation, Isolation::Dedicated, "a DeviceClass is cluster-scoped");
    let without = workload::case(&text, workload::in_racks(&[(4, 8)]), Knowledge::Complete);
    let message = without.unwrap_err().to_string();
    let wanted = format!("PodCliqueSet x: {path}: each pod of PodClique x-0-a claims a device");
    assert!(message.contains(&wanted) && message.contains("remove the claim"), "{message}");
}
