use conformance_contract::names;
use conformance_expect as expect;
use serde_json::json;

use super::*;

/// Nodes of 32 CPUs, 256 GiB and 8 GPUs, four per rack and eight per block.
fn nodes(count: usize) -> Vec<Value> {
    let node = |index: usize| {
        let name = format!("n-{index}");
        let (rack, block) = (format!("rack-{}", index / 4), format!("block-{}", index / 8));
        let labels = json!({(names::HOST): name, (names::RACK): rack, (names::BLOCK): block});
        let amounts = json!({"cpu": "32", "memory": "256Gi", "pods": "110", (GPU): "8"});
        json!({"metadata": {"name": name, "labels": labels}, "status": {"allocatable": amounts}})
    };
    (0..count).map(node).collect()
}

fn clique(name: &str, replicas: u32, gpus: u32) -> Value {
    let container = json!({"name": "c", "resources": {"limits": {(GPU): gpus}}});
    json!({"name": name, "spec": {"replicas": replicas, "podSpec": {"containers": [container]}}})
}

fn pcs(template: Value) -> Value {
    json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": template}})
}

fn one_clique(replicas: u32, gpus: u32) -> Value {
    pcs(json!({"cliques": [clique("a", replicas, gpus)]}))
}

fn with(field: &str, value: Value) -> Value {
    let mut set = one_clique(2, 1);
    set["spec"]["template"]["cliques"][0]["spec"]["podSpec"][field] = value;
    set
}

fn required(level: &str) -> Value {
    json!({"topologyName": names::TOPOLOGY, "pack": {"required": level}})
}

fn decided(pcs: &Value, nodes: &[Value], knowledge: Knowledge) -> Decision {
    decide(pcs, &expect::gangs(pcs), nodes, knowledge)
}

fn on(pcs: &Value, count: usize) -> Feasibility {
    decided(pcs, &nodes(count), Knowledge::Complete).feasibility
}

fn misfit(pcs: &Value, count: usize) -> String {
    match on(pcs, count) {
        Feasibility::Infeasible(misfits) => misfits[0].to_string(),
        other => panic!("{other:?} is not infeasible"),
    }
}

#[rstest::rstest]
#[case::full(one_clique(8, 8), true)]
#[case::one_pod_too_many(one_clique(9, 8), false)]
#[case::two_pods_per_node(one_clique(16, 4), true)]
#[case::five_of_eight_gpus_twice(one_clique(9, 5), false)]
#[case::replicas_of_the_set({ let mut set = one_clique(4, 8); set["spec"]["replicas"] = json!(2); set }, true)]
#[case::too_many_replicas_of_the_set({ let mut set = one_clique(4, 8); set["spec"]["replicas"] = json!(3); set }, false)]
#[case::replicas_of_a_scaling_group(
    pcs(json!({"cliques": [clique("a", 4, 8)],
        "podCliqueScalingGroups": [{"name": "g", "cliqueNames": ["a"], "replicas": 2}]})),
    true
)]
#[case::too_many_replicas_of_a_scaling_group(
    pcs(json!({"cliques": [clique("a", 4, 8)],
        "podCliqueScalingGroups": [{"name": "g", "cliqueNames": ["a"], "replicas": 3}]})),
    false
)]
fn all_pods_fit_or_the_workload_is_refused(#[case] pcs: Value, #[case] fits: bool) {
    match on(&pcs, 8) {
        Feasibility::Fits => assert!(fits),
        Feasibility::Infeasible(_) => assert!(!fits),
        Feasibility::Undecided(why) => panic!("{why:?}"),
    }
}

#[test]
fn a_workload_that_is_too_large_names_what_the_nodes_have() {
    assert_eq!(
        misfit(&one_clique(9, 8), 8),
        "spec: 9 pods request 72 nvidia.com/gpu, and 8 nodes, with 64 nvidia.com/gpu, room for 880 pods in all, do not hold \
         all of them: pass --nodes with more nodes, or use fewer replicas"
    );
}

#[test]
fn pods_that_fit_only_in_some_order_are_undecided() {
    let set = pcs(json!({"cliques": [clique("a", 1, 8), clique("b", 2, 4)]}));
    assert!(matches!(on(&set, 2), Feasibility::Undecided(why) if why[0].contains("particular way")));
    assert_eq!(on(&set, 3), Feasibility::Fits);
}

#[rstest::rstest]
#[case::in_a_rack("rack", 4, None)]
#[case::larger_than_a_rack("rack", 5, Some("no rack has room for them"))]
#[case::in_a_block("block", 8, None)]
#[case::in_a_host("host", 1, None)]
#[case::larger_than_a_host("host", 2, Some("no host has room for them"))]
#[case::an_unknown_level(
    "zone",
    1,
    Some("must be in one zone, and the nodes have labels for block, rack, host only")
)]
fn required_levels_have_room(#[case] level: &str, #[case] replicas: u32, #[case] wanted: Option<&str>) {
    let set = |part: &dyn Fn(&mut Value)| {
        let mut set = one_clique(replicas, 8);
        part(&mut set["spec"]["template"]);
        set
    };
    let whole = set(&|template| template["topologyConstraint"] = required(level));
    let of_clique = set(&|template| template["cliques"][0]["topologyConstraint"] = required(level));
    for (set, path) in [(whole, "spec.template"), (of_clique, "spec.template.cliques[0]")] {
        match wanted {
            None => assert_eq!(on(&set, 8), Feasibility::Fits),
            Some(wanted) => {
                let message = misfit(&set, 8);
                assert!(
                    message.starts_with(&format!("{path}.topologyConstraint.pack.required: ")),
                    "{message}"
                );
                assert!(message.contains(wanted), "{message}");
            }
        }
    }
}

#[test]
fn a_preferred_level_needs_no_room() {
    let mut set = one_clique(5, 8);
    set["spec"]["template"]["topologyConstraint"] =
        json!({"topologyName": names::TOPOLOGY, "pack": {"preferred": "rack"}});
    assert_eq!(on(&set, 8), Feasibility::Fits);
}

#[test]
fn each_replica_of_a_scaling_group_may_use_another_rack() {
    let set = |replicas: u32| {
        pcs(json!({"cliques": [clique("a", 4, 8)], "podCliqueScalingGroups": [
            {"name": "g", "cliqueNames": ["a"], "replicas": replicas, "minAvailable": replicas, "topologyConstraint": required("rack")},
        ]}))
    };
    assert_eq!(on(&set(2), 8), Feasibility::Fits);
    assert!(misfit(&set(3), 8).starts_with("spec: 12 pods"));
    assert_eq!(on(&set(3), 12), Feasibility::Fits);
}

#[rstest::rstest]
#[case::claim(
    with("volumes", json!([{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])),
    "podSpec.volumes[0].persistentVolumeClaim.claimName: each pod of PodClique w-0-a needs PersistentVolumeClaim data, \
     and no volume is provisioned here"
)]
#[case::ephemeral(with("volumes", json!([{"name": "v", "ephemeral": {}}])), "podSpec.volumes[0].ephemeral: ")]
#[case::device(with("resourceClaims", json!([{"name": "d"}])), "no device is published here")]
#[case::priority(with("priorityClassName", json!("high")), "podSpec.priorityClassName: ")]
#[case::runtime(with("runtimeClassName", json!("kata")), "no RuntimeClass exists here")]
#[case::overhead(with("overhead", json!({"cpu": "1"})), "podSpec.overhead: ")]
#[case::node_name(with("nodeName", json!("n-0")), "podSpec.nodeName: ")]
#[case::selector(with("nodeSelector", json!({"pool": "gpu"})), "podSpec.nodeSelector[\"pool\"]: ")]
#[case::affinity_without_a_domain(
    with("affinity", json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}})),
    "topologyKey: each pod of PodClique w-0-a needs nodes with label zone"
)]
#[case::spread_without_a_domain(
    with("topologySpreadConstraints", json!([{"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}])),
    "podSpec.topologySpreadConstraints[0].topologyKey: "
)]
#[case::priority_of_the_set(
    { let mut set = one_clique(1, 1); set["spec"]["template"]["priorityClassName"] = json!("high"); set },
    "spec.template.priorityClassName: the PodCliqueSet has PriorityClass high"
)]
#[case::shared_claim(
    { let mut set = one_clique(1, 1); set["spec"]["template"]["cliques"][0]["resourceSharing"] = json!([{"name": "d"}]); set },
    "spec.template.cliques[0].resourceSharing[0]: clique a shares a claim"
)]
fn a_field_that_no_node_satisfies_is_named(#[case] set: Value, #[case] wanted: &str) {
    let message = misfit(&set, 8);
    assert!(message.contains(wanted), "{message}");
}

#[rstest::rstest]
#[case::empty_dir(with("volumes", json!([{"name": "v", "emptyDir": {}}])))]
#[case::system_priority(with("priorityClassName", json!("system-node-critical")))]
#[case::no_overhead(with("overhead", json!({})))]
#[case::no_node_name(with("nodeName", json!("")))]
#[case::selector_that_the_schema_refuses(with("nodeSelector", json!({"pool": true})))]
#[case::selector_of_a_rack(with("nodeSelector", json!({(names::RACK): "rack-0"})))]
#[case::soft_spread(
    with("topologySpreadConstraints", json!([{"topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]))
)]
#[case::preferred_affinity(
    with("affinity", json!({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}))
)]
#[case::anti_affinity_without_a_domain(
    with("affinity", json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}))
)]
fn a_field_that_nodes_satisfy_is_no_reason(#[case] set: Value) {
    assert_eq!(on(&set, 8), Feasibility::Fits);
}

#[rstest::rstest]
#[case::anti_affinity(
    with("affinity", json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": names::HOST}]}})),
    "spec.template.cliques[0].spec.podSpec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
)]
#[case::spread(
    with("topologySpreadConstraints", json!([{"topologyKey": names::HOST, "whenUnsatisfiable": "DoNotSchedule"}])),
    "spec.template.cliques[0].spec.podSpec.topologySpreadConstraints[0]"
)]
#[case::queue(
    { let mut set = one_clique(1, 1); set["metadata"]["labels"] = json!({(names::KAI_QUEUE): "team"}); set },
    "metadata.labels[\"kai.scheduler/queue\"]"
)]
#[case::part_of_a_gpu(
    { let mut set = one_clique(1, 0); set["spec"]["template"]["cliques"][0]["annotations"] = json!({"gpu-fraction": "0.5"}); set },
    "spec.template.cliques[0].annotations[\"gpu-fraction\"]"
)]
fn what_only_a_scheduler_knows_is_undecided(#[case] set: Value, #[case] wanted: &str) {
    assert_eq!(on(&set, 8), Feasibility::Undecided(vec![wanted.into()]));
}

#[rstest::rstest]
#[case::written(json!({"iscsi": {"iqn": "q"}}), true)]
#[case::read_only(json!({"iscsi": {"iqn": "q", "readOnly": true}}), false)]
#[case::block_store(json!({"awsElasticBlockStore": {"volumeID": "v", "readOnly": true}}), true)]
#[case::another_kind(json!({"nfs": {"server": "s", "path": "/"}}), false)]
fn only_a_scheduler_knows_whether_pods_of_a_node_share_a_volume(
    #[case] volume: Value,
    #[case] is_undecided: bool,
) {
    let found = on(&with("volumes", json!([volume])), 8);
    assert_eq!(matches!(found, Feasibility::Undecided(_)), is_undecided, "{found:?}");
}

#[test]
fn host_ports_need_a_node_each() {
    let mut set = one_clique(2, 1);
    set["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["containers"][0]["ports"] =
        json!([{"containerPort": 80, "hostPort": 80}]);
    assert_eq!(on(&set, 2), Feasibility::Fits);
    let message = misfit(&set, 1);
    assert!(
        message.starts_with("spec: 2 pods request 2 nvidia.com/gpu, and host ports that only one pod"),
        "{message}"
    );
    assert!(message.contains("of a node can use (80), and one node,"), "{message}");
}

#[test]
fn the_hard_gangs_are_placed_on_nodes() {
    let placed = |pcs: &Value| decided(pcs, &nodes(4), Knowledge::Complete).hard_gangs;
    assert_eq!(placed(&one_clique(4, 8)), [1, 1, 1, 1]);
    let mut with_surplus = one_clique(4, 8);
    with_surplus["spec"]["template"]["cliques"][0]["spec"]["minAvailable"] = json!(2);
    assert_eq!(placed(&with_surplus).iter().sum::<u32>(), 2);
}

#[test]
fn real_nodes_are_decided_by_gpus_only() {
    let on_real = |pcs: &Value| decided(pcs, &nodes(2), Knowledge::OfHarness).feasibility;
    assert_eq!(on_real(&one_clique(2, 8)), Feasibility::Fits);
    assert!(matches!(on_real(&one_clique(3, 8)), Feasibility::Infeasible(_)));
    let volume = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]);
    assert!(matches!(on_real(&with("volumes", volume)), Feasibility::Undecided(_)));
    assert!(matches!(on_real(&with("nodeSelector", json!({"pool": "gpu"}))), Feasibility::Undecided(_)));
}

#[rstest::rstest]
#[case::explicit(GPU, json!({"extendedResourceName": GPU}))]
#[case::implicit("deviceclass.resource.kubernetes.io/gpu.example.com", json!({}))]
fn only_a_scheduler_allocates_devices_for_an_extended_resource(#[case] resource: &str, #[case] spec: Value) {
    let mut pcs = one_clique(2, 0);
    let limits = json!({"limits": {(resource): 1}});
    pcs["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["containers"][0]["resources"] = limits;
    let class = json!({"kind": "DeviceClass", "metadata": {"name": "gpu.example.com"}, "spec": spec});
    let slice = json!({"spec": {"driver": "gpu.example.com", "devices": [{"name": "0"}]}});
    let node = json!({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "32", "pods": "110"}}});
    let decide = |objects: &[&Value]| {
        let objects: Vec<_> = objects.iter().map(|object| (*object).clone()).collect();
        decided(&pcs, &objects, Knowledge::Complete).feasibility
    };
    let reason = format!("spec.template.cliques[0].spec.podSpec: devices provide {resource}");
    assert_eq!(decide(&[&node, &slice, &class]), Feasibility::Undecided(vec![reason]));
    assert!(matches!(decide(&[&node, &class]), Feasibility::Infeasible(_)), "no device is published");
    assert!(matches!(decide(&[&node, &slice]), Feasibility::Infeasible(_)), "no class has the resource");
}

#[rstest::rstest]
#[case::pods(with("resourceClaims", json!([{"name": "gpu", "resourceClaimTemplateName": "t"}])), "resourceClaims[0]")]
#[case::shared(
    { let mut set = one_clique(2, 1); set["spec"]["template"]["resourceSharing"] = json!([{"name": "t"}]); set },
    "spec.template.resourceSharing[0]"
)]
fn only_a_scheduler_allocates_published_devices(#[case] pcs: Value, #[case] path: &str) {
    let mut objects = nodes(4);
    assert!(matches!(decided(&pcs, &objects, Knowledge::Complete).feasibility, Feasibility::Infeasible(_)));
    objects.push(json!({"spec": {"driver": "gpu.example.com", "devices": [{"name": "0"}]}}));
    match decided(&pcs, &objects, Knowledge::Complete).feasibility {
        Feasibility::Undecided(why) => assert!(why[0].ends_with(path), "{why:?}"),
        other => panic!("{other:?}"),
    }
}
