use super::*;
use grove_api::{
    PodGangPackConstraint, PodGangSpec, PodGangTopologyConstraint, PodGroup, TopologyConstraintGroupConfig,
};

const RACK: &str = "topology.kubernetes.io/rack";
const HOST: &str = "kubernetes.io/hostname";
const BLOCK: &str = "topology.kubernetes.io/block";

fn pack(required: &str, preferred: &str) -> Option<PodGangTopologyConstraint> {
    let key = |key: &str| Some(key.to_owned()).filter(|key| !key.is_empty());
    let pack = PodGangPackConstraint { required: key(required), preferred: key(preferred) };
    Some(PodGangTopologyConstraint { pack_constraint: Some(pack) })
}

fn pod_gang(
    constraint: Option<PodGangTopologyConstraint>,
    podgroups: Vec<Option<PodGangTopologyConstraint>>,
) -> PodGang {
    let podgroup = |(i, topology_constraint)| PodGroup {
        name: format!("wl-0-{i}"),
        min_replicas: 1,
        topology_constraint,
        ..PodGroup::default()
    };
    let podgroups = podgroups.into_iter().enumerate().map(podgroup).collect();
    let spec = PodGangSpec { podgroups, topology_constraint: constraint, ..PodGangSpec::default() };
    PodGang::new("wl-0", spec)
}

fn gathered(pod_gang: &PodGang) -> Result<Gather, BackendError> {
    gather(pod_gang, &LayerMappings::default())
}

#[rstest::rstest]
#[case::none(None, None, None)]
#[case::rack(
    pack(RACK, ""),
    None,
    Some(r#"{"gatherStrategy":[{"layer":"rackLayer","strategy":"MustGather"}]}"#)
)]
#[case::block(
    pack(BLOCK, ""),
    None,
    Some(r#"{"gatherStrategy":[{"layer":"blockLayer","strategy":"MustGather"}]}"#)
)]
#[case::clique(
    None,
    pack(HOST, ""),
    Some(r#"{"gatherStrategy":[{"layer":"hostLayer","strategy":"MustGather"}]}"#)
)]
#[case::narrower(
    pack(RACK, ""),
    pack(HOST, ""),
    Some(r#"{"gatherStrategy":[{"layer":"hostLayer","strategy":"MustGather"}]}"#)
)]
#[case::required_and_preferred(
    pack(RACK, HOST), None,
    Some(
        r#"{"gatherStrategy":[{"layer":"rackLayer","strategy":"MustGather"},{"layer":"hostLayer","strategy":"PreferGather"}]}"#
    )
)]
#[case::the_same_level_twice(
    pack(RACK, RACK),
    None,
    Some(r#"{"gatherStrategy":[{"layer":"rackLayer","strategy":"MustGather"}]}"#)
)]
fn the_network_topology_annotation_names_the_layers(
    #[case] gang: Option<PodGangTopologyConstraint>,
    #[case] podgroup: Option<PodGangTopologyConstraint>,
    #[case] expected: Option<&str>,
) {
    let gather = gathered(&pod_gang(gang, vec![podgroup])).unwrap();
    assert_eq!(gather.network_topology_spec().as_deref(), expected);
    assert_eq!(gather.warnings, Vec::<String>::new());
}

#[test]
fn an_unknown_preferred_level_is_left_out_with_a_warning() {
    let gather = gathered(&pod_gang(pack(RACK, "example.com/row"), vec![None, None])).unwrap();
    assert_eq!((gather.required, gather.preferred), (Some(Layer::Rack), None));
    insta::assert_snapshot!(gather.warnings.join("\n"), @"Koordinator has no layer for the preferred level example.com/row: the operator ignores it");
}

#[test]
fn a_mapped_level_is_known() {
    let mappings = std::collections::BTreeMap::from([("example.com/row".to_owned(), Layer::Block)]);
    let mappings = LayerMappings::try_from(mappings).unwrap();
    let gather = gather(&pod_gang(pack("example.com/row", ""), vec![None]), &mappings).unwrap();
    assert_eq!(gather.required, Some(Layer::Block));
}

#[rstest::rstest]
#[case::unknown(
    pod_gang(pack("topology.kubernetes.io/zone", ""), vec![None]),
    "PodGang wl-0: Koordinator has no layer for the required level topology.kubernetes.io/zone"
)]
#[case::one_of_two(
    pod_gang(None, vec![pack(RACK, ""), None]),
    "PodGang wl-0: Koordinator honours one topology for all podgroups of a gang, not one for each"
)]
#[case::preferred_by_one_of_two(
    pod_gang(pack(RACK, ""), vec![None, pack("", HOST)]),
    "PodGang wl-0: Koordinator honours one topology for all podgroups of a gang, not one for each"
)]
fn a_constraint_that_koordinator_would_ignore_is_refused(#[case] pod_gang: PodGang, #[case] message: &str) {
    let error = gathered(&pod_gang).unwrap_err();
    assert!(matches!(error, BackendError::Refused(_)), "{error:?}");
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_topology_group_config_is_always_refused() {
    let mut pod_gang = pod_gang(None, vec![None, None]);
    let config = TopologyConstraintGroupConfig { name: "wl-0-sg-0".into(), ..Default::default() };
    pod_gang.spec.topology_constraint_group_configs = vec![config];
    let error = gathered(&pod_gang).unwrap_err();
    assert!(matches!(error, BackendError::Refused(_)), "{error:?}");
    insta::assert_snapshot!(error, @"PodGang wl-0: Koordinator cannot keep a part of a gang, topology group wl-0-sg-0, in one domain");
}

#[test]
fn an_undeclared_layer_is_left_out_or_refused() {
    let gather = gathered(&pod_gang(pack(RACK, HOST), vec![None])).unwrap();
    let declared = |layers: &[&str]| layers.iter().map(|layer| (*layer).to_owned()).collect();
    let both = gather.clone().within(&declared(&["rackLayer", "hostLayer"])).unwrap();
    assert_eq!(both, gather);
    let rack = gather.clone().within(&declared(&["rackLayer", "NodeTopologyLayer"])).unwrap();
    assert_eq!((rack.required, rack.preferred), (Some(Layer::Rack), None));
    insta::assert_snapshot!(rack.warnings.join("\n"), @"ClusterNetworkTopology default declares no layer hostLayer: the operator ignores the preferred level");
    let none = gather.within(&declared(&["hostLayer"])).unwrap_err();
    insta::assert_snapshot!(none, @"ClusterNetworkTopology default declares no layer rackLayer");
}
