use super::*;
use grove_api::{
    PodGangPackConstraint, PodGangSpec, PodGangTopologyConstraint, PodGroup, TopologyConstraintGroupConfig,
};

const V1: Version = Version::V1Alpha2;

fn required(key: &str) -> Option<PodGangTopologyConstraint> {
    pack(Some(key), None)
}

fn pack(required: Option<&str>, preferred: Option<&str>) -> Option<PodGangTopologyConstraint> {
    let pack = PodGangPackConstraint {
        required: required.map(str::to_owned),
        preferred: preferred.map(str::to_owned),
    };
    Some(PodGangTopologyConstraint { pack_constraint: Some(pack) })
}

fn pod_gang(podgroups: &[(&str, i32)]) -> PodGang {
    let podgroups = podgroups
        .iter()
        .map(|(name, min_replicas)| PodGroup {
            name: (*name).to_owned(),
            min_replicas: *min_replicas,
            ..PodGroup::default()
        })
        .collect();
    let mut pod_gang = PodGang::new("wl-0", PodGangSpec { podgroups, ..PodGangSpec::default() });
    pod_gang.metadata.namespace = Some("team".into());
    pod_gang.metadata.uid = Some("uid-of-wl-0".into());
    pod_gang.labels_mut().insert(LABEL_PART_OF.into(), "wl".into());
    pod_gang
}

fn yaml(plan: &GangResources) -> String {
    let all: Vec<_> =
        std::iter::once(&plan.workload).chain(&plan.composites).chain(&plan.pod_groups).collect();
    grove_yaml::write(&all).unwrap()
}

#[test]
fn pod_group_scope_creates_a_template_and_a_pod_group_per_podgroup() {
    let mut gang = pod_gang(&[("wl-0-a", 2), ("wl-0-b", 3)]);
    gang.spec.priority_class_name = Some("high".into());
    gang.spec.podgroups[1].topology_constraint = required("example.com/rack");
    insta::assert_snapshot!(yaml(&plan(&gang, GangScope::PodGroup, V1).unwrap()));
}

#[test]
fn pod_gang_scope_creates_one_pod_group_for_the_hard_gang() {
    let mut gang = pod_gang(&[("wl-0-a", 2), ("wl-0-b", 3)]);
    gang.spec.topology_constraint = pack(Some("example.com/rack"), Some("example.com/host"));
    insta::assert_snapshot!(yaml(&plan(&gang, GangScope::PodGang, V1).unwrap()));
}

#[test]
fn the_gangs_key_applies_to_its_only_podgroup() {
    let mut gang = pod_gang(&[("wl-0-a", 2)]);
    gang.spec.topology_constraint = required("example.com/rack");
    let plan = plan(&gang, GangScope::PodGroup, V1).unwrap();
    let topology = plan.pod_groups[0].data.pointer("/spec/schedulingConstraints/topology/0/key");
    assert_eq!(topology, Some(&serde_json::json!("example.com/rack")));
}

/// Required levels: block for the PodGang, rack for each replica of the scaling group, host for the workers.
fn nested() -> PodGang {
    let podgroups_of_replica = |j: usize| ["leader", "worker"].map(|clique| format!("wl-0-sg-{j}-{clique}"));
    let names: Vec<String> =
        std::iter::once("wl-0-router".to_owned()).chain((0..2).flat_map(podgroups_of_replica)).collect();
    let mut gang = pod_gang(&names.iter().map(|name| (name.as_str(), 2)).collect::<Vec<_>>());
    gang.spec.topology_constraint = required("example.com/block");
    for podgroup in gang.spec.podgroups.iter_mut().filter(|podgroup| podgroup.name.ends_with("worker")) {
        podgroup.topology_constraint = required("example.com/host");
    }
    let config = |j: usize| TopologyConstraintGroupConfig {
        name: format!("wl-0-sg-{j}"),
        pod_group_names: podgroups_of_replica(j).into(),
        topology_constraint: required("example.com/rack"),
    };
    gang.spec.topology_constraint_group_configs = vec![config(0), config(1)];
    gang.spec.priority_class_name = Some("high".into());
    gang
}

#[test]
fn a_tree_nests_groups_and_keys() {
    insta::assert_snapshot!(yaml(&plan(&nested(), GangScope::Tree, Version::V1Beta1).unwrap()));
}

#[test]
fn since_v1beta1_a_pod_group_refers_to_its_template_by_workload_ref() {
    let plan = plan(&pod_gang(&[("wl-0-a", 2)]), GangScope::PodGroup, Version::V1Beta1).unwrap();
    assert!(plan.composites.is_empty());
    let spec = &plan.pod_groups[0].data["spec"];
    let reference = serde_json::json!({"workloadName": "wl-0", "templateName": "wl-0-a"});
    assert_eq!(spec["workloadRef"], reference);
    assert!(spec["podGroupTemplateRef"].is_null() && spec["parentCompositePodGroupName"].is_null());
}

/// Kubernetes 1.36 has another field for the disruption mode, behind a feature gate that is off.
#[rstest::rstest]
#[case(Version::V1Alpha2, serde_json::Value::Null)]
#[case(Version::V1Beta1, serde_json::json!({"all": {}}))]
fn a_gang_is_evicted_whole(#[case] version: Version, #[case] mode: serde_json::Value) {
    let plan = plan(&pod_gang(&[("wl-0-a", 2)]), GangScope::PodGroup, version).unwrap();
    assert_eq!(plan.pod_groups[0].data["spec"]["disruptionMode"], mode);
    assert_eq!(plan.workload.data["spec"]["podGroupTemplates"][0]["disruptionMode"], mode);
}

fn wide(count: usize, grouped: bool) -> PodGang {
    let names: Vec<String> = (0..count).map(|i| format!("wl-0-{i}")).collect();
    let mut gang = pod_gang(&names.iter().map(|name| (name.as_str(), 1)).collect::<Vec<_>>());
    if grouped {
        let config = TopologyConstraintGroupConfig {
            name: "wl-0-g".into(),
            pod_group_names: names,
            topology_constraint: None,
        };
        gang.spec.topology_constraint_group_configs = vec![config];
    }
    gang
}

#[rstest::rstest]
#[case::below_the_root(wide(8, false), wide(9, false))]
#[case::below_a_group(wide(8, true), wide(9, true))]
fn a_template_list_of_a_tree_holds_at_most_eight(#[case] full: PodGang, #[case] over: PodGang) {
    assert!(plan(&full, GangScope::Tree, Version::V1Beta1).is_ok());
    let refused = plan(&over, GangScope::Tree, Version::V1Beta1).unwrap_err().to_string();
    assert!(refused.contains("9 podgroups, but a CompositePodGroup"), "{refused}");
}

type Change = fn(&mut PodGang);

#[rstest::rstest]
#[case::gang_key_for_two(GangScope::PodGroup, |g: &mut PodGang| g.spec.topology_constraint = required("k"))]
#[case::preferred_alone(GangScope::PodGroup, |g: &mut PodGang| g.spec.podgroups[0].topology_constraint = pack(None, Some("k")))]
#[case::clique_key_in_gang_scope(GangScope::PodGang, |g: &mut PodGang| g.spec.podgroups[0].topology_constraint = required("k"))]
#[case::group_key(GangScope::PodGang, |g: &mut PodGang| g.spec.topology_constraint_group_configs = vec![
    TopologyConstraintGroupConfig { topology_constraint: required("k"), ..Default::default() }
])]
#[case::preferred_in_a_tree(GangScope::Tree, |g: &mut PodGang| g.spec.topology_constraint = pack(None, Some("k")))]
#[case::no_minimum_in_a_tree(GangScope::Tree, |g: &mut PodGang| g.spec.podgroups[1].min_replicas = 0)]
#[case::no_minimum(GangScope::PodGroup, |g: &mut PodGang| g.spec.podgroups[0].min_replicas = 0)]
#[case::nine(GangScope::PodGroup, |g: &mut PodGang| g.spec.podgroups = (0..9).map(|i| PodGroup {
    name: format!("wl-0-{i}"), min_replicas: 1, ..Default::default()
}).collect())]
fn what_the_api_cannot_express_fails_closed(#[case] scope: GangScope, #[case] change: Change) {
    let mut gang = pod_gang(&[("wl-0-a", 2), ("wl-0-b", 3)]);
    assert!(plan(&gang, scope, V1).is_ok(), "the unchanged PodGang is fine");
    change(&mut gang);
    assert!(matches!(plan(&gang, scope, V1), Err(BackendError::Refused(_))));
}

#[test]
fn pod_gang_scope_has_no_limit_of_eight() {
    let names: Vec<String> = (0..9).map(|i| format!("wl-0-{i}")).collect();
    let podgroups: Vec<_> = names.iter().map(|name| (name.as_str(), 1)).collect();
    let plan = plan(&pod_gang(&podgroups), GangScope::PodGang, V1).unwrap();
    assert_eq!(plan.pod_groups[0].data.pointer("/spec/schedulingPolicy/gang/minCount"), Some(&9.into()));
}
