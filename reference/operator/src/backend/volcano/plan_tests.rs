use super::*;
use grove_api::{PodGangPackConstraint, PodGangSpec, TopologyConstraintGroupConfig};

use crate::backend::volcano::api::ANNOTATION_PINNED_QUEUE;

fn packed(required: Option<&str>, preferred: Option<&str>) -> Option<PodGangTopologyConstraint> {
    let [required, preferred] = [required, preferred].map(|key| key.map(str::to_owned));
    Some(PodGangTopologyConstraint { pack_constraint: Some(PodGangPackConstraint { required, preferred }) })
}

fn podgroup(name: &str, min_replicas: i32) -> PodGroup {
    PodGroup { name: name.to_owned(), min_replicas, ..PodGroup::default() }
}

fn pod_gang(edit: impl FnOnce(&mut PodGangSpec)) -> PodGang {
    let mut spec = PodGangSpec {
        podgroups: vec![podgroup("wl-0-a", 2), podgroup("wl-0-b", 1)],
        ..PodGangSpec::default()
    };
    edit(&mut spec);
    let mut pod_gang = PodGang::new("wl-0", spec);
    pod_gang.metadata.namespace = Some("team".to_owned());
    pod_gang.metadata.uid = Some("uid".to_owned());
    pod_gang.annotations_mut().insert(ANNOTATION_PINNED_QUEUE.to_owned(), "q".to_owned());
    pod_gang
}

fn tiers() -> GangTiers {
    [("zone", 3), ("block", 2), ("rack", 1)]
        .map(|(domain, tier)| (format!("example.com/{domain}"), tier))
        .into()
}

#[test]
fn there_is_one_policy_per_podgroup() {
    let pod_group = plan(&pod_gang(|_| {}), &GangTiers::default()).unwrap();
    let policy = |pod_clique: &str, size: u32| {
        json!({
            "name": pod_clique, "minSubGroups": 1, "subGroupSize": size, "networkTopology": null,
            "labelSelector": {"matchLabels": {"grove.io/podclique": pod_clique}},
            "matchLabelKeys": ["grove.io/podclique"],
        })
    };
    let owner = json!({
        "apiVersion": "scheduler.grove.io/v1alpha1", "kind": "PodGang", "name": "wl-0", "uid": "uid",
        "controller": true,
    });
    let labels = json!({"app.kubernetes.io/managed-by": "grove-operator", "grove.io/podgang": "wl-0"});
    let wanted = json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"name": "wl-0", "namespace": "team", "labels": labels, "ownerReferences": [owner]},
        "spec": {
            "minMember": 3, "queue": "q", "networkTopology": null, "priorityClassName": null,
            "subGroupPolicy": [policy("wl-0-a", 2), policy("wl-0-b", 1)],
        },
    });
    assert_eq!(json!(pod_group), wanted);
}

#[test]
fn constraints_of_gang_and_podgroup_become_tiers() {
    let pod_gang = pod_gang(|spec| {
        spec.priority_class_name = Some("high".to_owned());
        spec.topology_constraint = packed(Some("example.com/zone"), Some("example.com/block"));
        spec.podgroups[1].topology_constraint = packed(Some("example.com/rack"), None);
    });
    let spec = plan(&pod_gang, &tiers()).unwrap().data["spec"].take();
    assert_eq!(spec["networkTopology"], json!({"mode": "hard", "highestTierAllowed": 3}));
    assert_eq!(spec["subGroupPolicy"][0]["networkTopology"], Value::Null);
    assert_eq!(
        spec["subGroupPolicy"][1]["networkTopology"],
        json!({"mode": "hard", "highestTierAllowed": 1})
    );
    assert_eq!(spec["priorityClassName"], "high");
}

#[test]
fn what_volcano_cannot_express_is_refused() {
    let refused = |edit: fn(&mut PodGangSpec)| plan(&pod_gang(edit), &tiers()).unwrap_err().to_string();
    let reasons = [
        refused(|spec| spec.podgroups[1].min_replicas = 0),
        refused(|spec| spec.topology_constraint = packed(None, Some("example.com/rack"))),
        refused(|spec| spec.podgroups[0].topology_constraint = packed(Some("example.com/room"), None)),
        refused(|spec| {
            spec.topology_constraint_group_configs = vec![TopologyConstraintGroupConfig {
                name: "wl-0-g-0".to_owned(),
                pod_group_names: vec!["wl-0-a".to_owned()],
                topology_constraint: packed(Some("example.com/rack"), None),
            }];
        }),
    ];
    insta::assert_snapshot!(reasons.join("\n"), @"
    PodGang wl-0: podgroup wl-0-b has minReplicas 0: a gang has at least one pod of each
    PodGang wl-0: the PodGang: Volcano has no preferred topology
    PodGang wl-0: wl-0-a: no Volcano tier has the node label example.com/room
    PodGang wl-0: Volcano cannot keep a part of a gang, topology group wl-0-g-0, in one domain
    ");
}

#[test]
fn a_group_config_without_a_constraint_is_accepted() {
    let pod_gang = pod_gang(|spec| {
        spec.topology_constraint_group_configs = vec![TopologyConstraintGroupConfig::default()];
    });
    assert!(plan(&pod_gang, &GangTiers::default()).is_ok());
}
