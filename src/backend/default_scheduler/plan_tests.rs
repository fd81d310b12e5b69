//! Plans as an API server gets them.

use super::*;
use crate::api::{PodGangPackConstraint, PodGangSpec, PodGroup, TopologyConstraintGroupConfig};

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

fn yaml(plan: &Plan) -> String {
    let all: Vec<_> = std::iter::once(&plan.workload).chain(&plan.pod_groups).collect();
    crate::yaml::write(&all).unwrap()
}

#[test]
fn flat_makes_a_template_and_a_pod_group_per_podgroup() {
    let mut gang = pod_gang(&[("wl-0-a", 2), ("wl-0-b", 3)]);
    gang.spec.priority_class_name = Some("high".into());
    gang.spec.podgroups[1].topology_constraint = required("example.com/rack");
    insta::assert_snapshot!(yaml(&plan(&gang, GangScope::PodGroup).unwrap()));
}

#[test]
fn pod_gang_scope_makes_one_pod_group_of_the_hard_gang() {
    let mut gang = pod_gang(&[("wl-0-a", 2), ("wl-0-b", 3)]);
    gang.spec.topology_constraint = pack(Some("example.com/rack"), Some("example.com/host"));
    insta::assert_snapshot!(yaml(&plan(&gang, GangScope::PodGang).unwrap()));
}

#[test]
fn flat_gives_the_gangs_key_to_an_only_podgroup() {
    let mut gang = pod_gang(&[("wl-0-a", 2)]);
    gang.spec.topology_constraint = required("example.com/rack");
    let plan = plan(&gang, GangScope::PodGroup).unwrap();
    let topology = plan.pod_groups[0].data.pointer("/spec/schedulingConstraints/topology/0/key");
    assert_eq!(topology, Some(&serde_json::json!("example.com/rack")));
}

type Change = fn(&mut PodGang);

#[rstest::rstest]
#[case::gang_key_for_two(GangScope::PodGroup, |g: &mut PodGang| g.spec.topology_constraint = required("k"))]
#[case::preferred_alone(GangScope::PodGroup, |g: &mut PodGang| g.spec.podgroups[0].topology_constraint = pack(None, Some("k")))]
#[case::clique_key_in_gang_scope(GangScope::PodGang, |g: &mut PodGang| g.spec.podgroups[0].topology_constraint = required("k"))]
#[case::group_key(GangScope::PodGang, |g: &mut PodGang| g.spec.topology_constraint_group_configs = vec![
    TopologyConstraintGroupConfig { topology_constraint: required("k"), ..Default::default() }
])]
#[case::no_minimum(GangScope::PodGroup, |g: &mut PodGang| g.spec.podgroups[0].min_replicas = 0)]
#[case::nine(GangScope::PodGroup, |g: &mut PodGang| g.spec.podgroups = (0..9).map(|i| PodGroup {
    name: format!("wl-0-{i}"), min_replicas: 1, ..Default::default()
}).collect())]
fn what_the_api_cannot_express_fails_closed(#[case] scope: GangScope, #[case] change: Change) {
    let mut gang = pod_gang(&[("wl-0-a", 2), ("wl-0-b", 3)]);
    assert!(plan(&gang, scope).is_ok(), "the unchanged PodGang is fine");
    change(&mut gang);
    assert!(matches!(plan(&gang, scope), Err(BackendError::Refused(_))));
}

#[test]
fn pod_gang_scope_has_no_limit_of_eight() {
    let names: Vec<String> = (0..9).map(|i| format!("wl-0-{i}")).collect();
    let podgroups: Vec<_> = names.iter().map(|name| (name.as_str(), 1)).collect();
    let plan = plan(&pod_gang(&podgroups), GangScope::PodGang).unwrap();
    assert_eq!(plan.pod_groups[0].data.pointer("/spec/schedulingPolicy/gang/minCount"), Some(&9.into()));
}
