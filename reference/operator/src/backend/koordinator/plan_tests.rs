use super::*;
use grove_api::names::LABEL_PART_OF;
use grove_api::{NamespacedName, PodGangSpec};

use crate::backend::koordinator::layers::Layer;

fn podgroup(name: &str, min_replicas: i32, pods: usize) -> PodGroup {
    let pod = |i| NamespacedName { namespace: "team".into(), name: format!("{name}-{i}") };
    PodGroup {
        name: name.into(),
        min_replicas,
        pod_references: (0..pods).map(pod).collect(),
        topology_constraint: None,
    }
}

fn pod_gang(podgroups: Vec<PodGroup>) -> PodGang {
    let mut pod_gang = PodGang::new("wl-0", PodGangSpec { podgroups, ..PodGangSpec::default() });
    pod_gang.metadata.namespace = Some("team".into());
    pod_gang.metadata.uid = Some("uid-of-wl-0".into());
    pod_gang.labels_mut().insert(LABEL_PART_OF.into(), "wl".into());
    pod_gang
}

fn plan(
    config: &KoordinatorConfig,
    pod_gang: &PodGang,
    gather: &Gather,
    existing: &[Arc<DynamicObject>],
) -> Result<Vec<DynamicObject>, BackendError> {
    let pods = excess_pods::released_pods(pod_gang);
    let state = GangState { pods: &pods, ..GangState::without_pods(pod_gang) };
    super::plan(config, &state, gather, existing)
}

fn planned(pod_gang: &PodGang) -> Vec<DynamicObject> {
    plan(&KoordinatorConfig::default(), pod_gang, &Gather::default(), &[]).unwrap()
}

fn annotation<'a>(object: &'a DynamicObject, key: &str) -> Option<&'a str> {
    object.annotations().get(key).map(String::as_str)
}

#[test]
fn there_is_one_pod_group_per_podgroup() {
    let mut pod_gang = pod_gang(vec![podgroup("wl-0-a", 2, 3), podgroup("wl-0-b", 1, 0)]);
    pod_gang.spec.priority_class_name = Some("high".into());
    let gather = Gather { required: Some(Layer::Rack), ..Gather::default() };
    let plan = plan(&KoordinatorConfig::default(), &pod_gang, &gather, &[]).unwrap();
    let owner = json!({
        "apiVersion": "scheduler.grove.io/v1alpha1", "kind": "PodGang", "name": "wl-0",
        "uid": "uid-of-wl-0", "controller": true,
    });
    let pod_group = |podgroup: &str, total: &str, minimum: u32| {
        let annotations = json!({
            "gang.scheduling.koordinator.sh/groups": r#"["team/wl-0-wl-0-a","team/wl-0-wl-0-b"]"#,
            "gang.scheduling.koordinator.sh/match-policy": "once-satisfied",
            "gang.scheduling.koordinator.sh/mode": "Strict",
            "gang.scheduling.koordinator.sh/network-topology-spec":
                r#"{"gatherStrategy":[{"layer":"rackLayer","strategy":"MustGather"}]}"#,
            "gang.scheduling.koordinator.sh/total-number": total,
        });
        let labels = json!({
            "app.kubernetes.io/managed-by": "grove-operator", "app.kubernetes.io/part-of": "wl",
            "grove.io/podclique": podgroup, "grove.io/podgang": "wl-0",
        });
        json!({
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup",
            "metadata": {
                "name": format!("wl-0-{podgroup}"), "namespace": "team", "annotations": annotations,
                "labels": labels, "ownerReferences": [owner],
            },
            "spec": {"minMember": minimum, "priorityClassName": "high", "scheduleTimeoutSeconds": 30},
        })
    };
    let wanted = json!([pod_group("wl-0-a", "3", 2), pod_group("wl-0-b", "grove.io/absent", 1)]);
    assert_eq!(json!(plan), wanted);
}

#[test]
fn the_profile_reaches_every_pod_group() {
    let config = serde_json::from_value(json!({
        "gangMode": "NonStrict", "matchPolicy": "only-waiting", "scheduleTimeoutSeconds": 90,
    }));
    let pod_gang = pod_gang(vec![podgroup("wl-0-a", 1, 1), podgroup("wl-0-b", 1, 1)]);
    for found in plan(&config.unwrap(), &pod_gang, &Gather::default(), &[]).unwrap() {
        assert_eq!(annotation(&found, ANNOTATION_MODE), Some("NonStrict"));
        assert_eq!(annotation(&found, ANNOTATION_MATCH_POLICY), Some("only-waiting"));
        assert_eq!(found.data["spec"]["scheduleTimeoutSeconds"], 90);
    }
}

#[test]
fn every_pod_group_lists_all_by_their_final_names() {
    let long = format!("wl-0-{}", "x".repeat(60));
    let plan = planned(&pod_gang(vec![podgroup("wl-0-a", 1, 1), podgroup(&long, 1, 1)]));
    let names: Vec<_> = plan.iter().map(|found| format!("team/{}", found.name_any())).collect();
    assert!(names[1].len() == "team/".len() + 63, "{names:?}");
    for found in &plan {
        assert_eq!(annotation(found, ANNOTATION_GROUPS), Some(json!(names).to_string().as_str()));
    }
}

#[rstest::rstest]
#[case::not_known_yet(0, ABSENT)]
#[case::one_lost(1, ABSENT)]
#[case::the_minimum(2, "2")]
#[case::surplus(5, "5")]
fn the_total_is_set_if_it_reaches_the_minimum(#[case] pods: usize, #[case] total: &str) {
    let plan = planned(&pod_gang(vec![podgroup("wl-0-a", 2, pods)]));
    assert_eq!(annotation(&plan[0], ANNOTATION_TOTAL_NUMBER), Some(total));
}

#[test]
fn a_priority_class_that_the_api_server_dropped_is_not_written_again() {
    let mut pod_gang = pod_gang(vec![podgroup("wl-0-a", 1, 1)]);
    pod_gang.spec.priority_class_name = Some("high".into());
    let mut existing = planned(&pod_gang).remove(0);
    let again = |existing: &DynamicObject| {
        let existing = [Arc::new(existing.clone())];
        plan(&KoordinatorConfig::default(), &pod_gang, &Gather::default(), &existing).unwrap().remove(0)
    };
    assert_eq!(again(&existing).data["spec"]["priorityClassName"], "high");
    existing.data["spec"].as_object_mut().unwrap().remove("priorityClassName");
    assert_eq!(again(&existing).data, existing.data);
}

#[test]
fn a_podgroup_without_a_minimum_is_refused() {
    let pod_gang = pod_gang(vec![podgroup("wl-0-a", 0, 1)]);
    let plan = plan(&KoordinatorConfig::default(), &pod_gang, &Gather::default(), &[]);
    assert!(matches!(plan, Err(BackendError::Refused(_))), "{plan:?}");
}

#[test]
fn a_gang_is_held_until_it_is_released_and_never_again() {
    let pod_gang = pod_gang(vec![podgroup("wl-0-a", 2, 2)]);
    let min_member = |pods: &[Arc<crate::cache::observed_pod::Pod>], existing: &[Arc<DynamicObject>]| {
        let state = GangState { pods, ..GangState::without_pods(&pod_gang) };
        let plan = super::plan(&KoordinatorConfig::default(), &state, &Gather::default(), existing);
        plan.unwrap().remove(0)
    };
    let released = excess_pods::released_pods(&pod_gang);
    let held = min_member(&released[..1], &[]);
    assert_eq!(held.data["spec"]["minMember"], HELD);
    let mut orphan = held.clone();
    orphan.metadata.owner_references = None;
    let claimed = min_member(&released, &[Arc::new(orphan)]);
    assert_eq!(claimed.data["spec"]["minMember"], HELD, "claimed before it starts");
    let started = min_member(&released, &[Arc::new(held)]);
    assert_eq!(started.data["spec"]["minMember"], 2);
    let one_lost = min_member(&released[..1], &[Arc::new(started)]);
    assert_eq!(one_lost.data["spec"]["minMember"], 2);
}
