use super::*;

fn workload(replicas: u32, gpus: u32) -> String {
    format!(
        "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {{name: w}}\nspec: {{replicas: 1, template: \
         {{cliques: [{{name: a, spec: {{replicas: {replicas}, podSpec: {{containers: [{{name: c, resources: \
         {{limits: {{nvidia.com/gpu: {gpus}}}}}}}]}}}}}}]}}}}\n"
    )
}

#[test]
fn the_nodes_lack_room_for_one_pod() {
    let accepted = case(&workload(4, 8), in_racks(&[(8, 8)]), Knowledge::Complete).unwrap();
    let slots: Vec<_> = accepted.case.nodes.iter().map(|node| node.pods).collect();
    assert_eq!(slots.iter().sum::<u32>(), 3, "{slots:?}");
    assert_eq!(slots.len(), 8);
    assert!(accepted.undecided.is_empty(), "{:?}", accepted.undecided);
}

#[test]
fn nodes_of_several_shapes_are_in_racks_and_blocks() {
    let found = in_racks(&[(3, 8), (6, 4)]);
    let nodes: Vec<_> =
        found.iter().map(|node| (node.gpus, node.rack.unwrap(), node.block.unwrap())).collect();
    assert_eq!(nodes[..3], [(8, "rack-0", "block-0"); 3]);
    assert_eq!(nodes[3..4], [(4, "rack-0", "block-0")]);
    assert_eq!(nodes[4..8], [(4, "rack-1", "block-0"); 4]);
    assert_eq!(nodes[8..], [(4, "rack-2", "block-1")]);
}

#[test]
fn a_level_of_the_nodes_can_be_required_or_selected_by_its_label() {
    let pcs = |pod_spec: &str, constraint: &str| {
        format!(
            "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {{name: w}}\nspec: {{replicas: 1, template: \
             {{{constraint} cliques: [{{name: a, spec: {{replicas: 4, podSpec: {{containers: [{{name: c, resources: \
             {{limits: {{nvidia.com/gpu: 8}}}}}}]{pod_spec}}}}}}}]}}}}\n"
        )
    };
    let message = |text: String| match case(&text, in_racks(&[(4, 8)]), Knowledge::Complete) {
        Ok(accepted) => accepted.undecided.join(", "),
        Err(error) => error.to_string(),
    };
    let rack = "topologyConstraint: {topologyName: conformance-topology, pack: {required: rack}},";
    assert_eq!(message(pcs("", rack)), "");
    assert_eq!(message(pcs(", nodeSelector: {topology.kubernetes.io/rack: rack-0}", "")), "");
    let other = message(pcs(", nodeSelector: {topology.kubernetes.io/rack: rack-1}", ""));
    assert!(other.contains("the nodes have topology.kubernetes.io/rack=<namespace>-rack-0"), "{other}");
}

#[test]
fn a_clique_of_another_scheduler_is_refused() {
    let text = workload(1, 1).replace("podSpec: {", "podSpec: {schedulerName: volcano, ");
    let case = case(&text, in_racks(&[(8, 8)]), Knowledge::Complete).unwrap().case;
    assert!(runs_on(case, &[Target::VOLCANO]).is_ok());
    let message = runs_on(case, &[Target::VOLCANO, Target::KUBE_POD_GANG]).unwrap_err().to_string();
    assert!(
        message.starts_with("spec.template.cliques[0].spec.podSpec.schedulerName: clique a names volcano"),
        "{message}"
    );
    assert!(message.contains("default-scheduler: pass --backend volcano"), "{message}");
}

#[test]
fn an_empty_scheduler_name_is_none() {
    let text = workload(1, 1).replace("podSpec: {", "podSpec: {schedulerName: '', ");
    let case = case(&text, in_racks(&[(8, 8)]), Knowledge::Complete).unwrap().case;
    assert!(runs_on(case, &[Target::VOLCANO, Target::KUBE_POD_GANG]).is_ok());
}

#[test]
fn a_scheduler_that_no_run_tests_is_refused_without_an_option() {
    let text = workload(1, 1).replace("podSpec: {", "podSpec: {schedulerName: my-scheduler, ");
    let case = case(&text, in_racks(&[(8, 8)]), Knowledge::Complete).unwrap().case;
    let message = runs_on(case, &[Target::VOLCANO]).unwrap_err().to_string();
    assert!(
        message.ends_with("names my-scheduler, and the run tests volcano: remove the field"),
        "{message}"
    );
}

#[rstest::rstest]
#[case(workload(9, 8), "9 pods request 72 nvidia.com/gpu, and 8 nodes")]
#[case(workload(1, 16), "each pod of PodClique w-0-a requests 16 nvidia.com/gpu, and the largest node has 8")]
#[case(
    workload(1, 8).replace("spec: {replicas: 1, template", "spec: {replicas: 0, template"),
    "document 1: PodCliqueSet w has no replicas"
)]
#[case(
    format!(
        "{}---\n{}",
        workload(1, 1).replace("name: a,", "name: 0-x,"),
        workload(1, 1).replace("{name: w}", "{name: w-0}").replace("name: a,", "name: x,")
    ),
    "document 2: PodCliqueSets w and w-0 would both have PodClique w-0-0-x: rename one of them"
)]
#[case(
    workload(1, 8).replace("replicas: 1, podSpec", "replicas: 2147483647, podSpec"),
    "document 1: PodCliqueSet w has more than 100000 pods: lower the replicas"
)]
#[case(
    workload(1, 8).replace("spec: {replicas: 1, template", "spec: {replicas: 18446744073709551615, template"),
    "document 1: PodCliqueSet w has more than 100000 pods: lower the replicas"
)]
#[case(
    workload(1, 8).replace("podSpec: {", "podSpec: {schedulingGroup: {podGroupName: mine}, "),
    "document 1: spec.template.cliques[0].spec.podSpec.schedulingGroup: Grove creates no gang resources"
)]
#[case("apiVersion: grove.io/v1alpha1\nkind: Pod".into(), "document 1: Pod of grove.io/v1alpha1 is not supported")]
#[case("a: [".into(), "line 2")]
#[case(String::new(), "the manifest has no PodCliqueSet")]
fn an_unusable_file_is_refused_with_its_reason(#[case] text: String, #[case] message: &str) {
    let error = case(&text, in_racks(&[(8, 8)]), Knowledge::Complete).unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
}

const PRIORITY_CLASS: &str =
    "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n";

#[test]
fn a_workload_with_cluster_scoped_companions_has_its_own_control_plane() {
    let text = workload(2, 8).replace("podSpec: {", "podSpec: {priorityClassName: high, ");
    let message = case(&text, in_racks(&[(8, 8)]), Knowledge::Complete).unwrap_err().to_string();
    assert!(message.contains("PriorityClass high"), "without the companion: {message}");
    let text = format!("{text}{PRIORITY_CLASS}");
    let accepted = case(&text, in_racks(&[(8, 8)]), Knowledge::Complete).unwrap();
    assert_eq!(accepted.case.isolation, Isolation::Dedicated);
    let message = case(&text, in_racks(&[(8, 8)]), Knowledge::OfHarness).unwrap_err().to_string();
    assert_eq!(
        message,
        "the manifest has cluster-scoped PriorityClass high (document 2): pass --provider local, or remove \
         them"
    );
}

#[test]
fn namespaced_companions_share_a_control_plane() {
    let text =
        format!("{}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\n", workload(2, 8));
    for knowledge in [Knowledge::Complete, Knowledge::OfHarness] {
        assert_eq!(case(&text, in_racks(&[(8, 8)]), knowledge).unwrap().case.isolation, Isolation::Shared);
    }
}

#[test]
fn several_pod_clique_sets_together_lack_room_for_one_pod() {
    let second = workload(3, 8).replace("name: w", "name: x");
    let accepted =
        case(&format!("{}---\n{second}", workload(4, 8)), in_racks(&[(7, 8)]), Knowledge::Complete).unwrap();
    assert_eq!(accepted.case.nodes.iter().map(|node| node.pods).sum::<u32>(), 6);
    let second = second.replace("podSpec: {", "podSpec: {schedulerName: volcano, ");
    let text = format!("{}---\n{second}", workload(4, 8));
    let case = case(&text, in_racks(&[(7, 8)]), Knowledge::Complete).unwrap().case;
    let message = runs_on(case, &[Target::KUBE_POD_GANG]).unwrap_err().to_string();
    assert!(message.starts_with("document 2: spec.template.cliques[0]"), "{message}");
}
