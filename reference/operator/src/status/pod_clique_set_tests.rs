use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::*;
use crate::context::test_api::{World, owned_by};
use crate::plan::pod_clique_object::template_hash;

async fn first_progress(pcs: &PodCliqueSet, hash: &str, generation: u64) -> Value {
    let mut world = World::new();
    let owned = |name: &str, kind: &str, owner: &str| {
        json!({
            "metadata": {
                "name": name, "namespace": "ns", "uid": format!("uid-of-{name}"), "labels": {
                    names::LABEL_PART_OF: "wl", names::LABEL_POD_CLIQUE: "wl-0-a", names::LABEL_POD_GANG: "wl-0",
                    LABEL_PCS_REPLICA_INDEX: "0", names::LABEL_POD_TEMPLATE_HASH: hash,
                },
                "ownerReferences": owned_by(kind, owner),
            },
            "spec": {"podSpec": {}, "replicas": 1, "containers": []},
        })
    };
    world.feeds.pod_cliques.apply(owned("wl-0-a", "PodCliqueSet", "wl"));
    world.feeds.pods.apply(owned("p", "PodClique", "wl-0-a"));
    let mut gang = owned("wl-0", "PodCliqueSet", "wl");
    gang["spec"] = json!({"podgroups": []});
    gang["metadata"]["annotations"] = json!({names::ANNOTATION_GENERATION: generation.to_string()});
    world.feeds.pod_gangs.apply(gang);
    reconcile(Arc::new(pcs.clone()), Arc::clone(&world.context)).await.unwrap();
    let written = world.written();
    let (_, patch) = written.iter().find(|(request, _)| request.ends_with("/wl/status")).unwrap();
    patch["status"]["updateProgress"].clone()
}

#[tokio::test]
async fn a_template_change_before_the_first_status_starts_an_update() {
    let pcs = json!({
        "metadata": {"name": "wl", "namespace": "ns", "uid": "uid-of-wl", "generation": 2},
        "spec": {"replicas": 1, "template": {"cliques": [{"name": "a", "spec": {"podSpec": {}, "replicas": 1}}]}},
    });
    let mut pcs: PodCliqueSet = serde_json::from_value(pcs).unwrap();
    let hash = template_hash(&pcs, &pcs.spec.template.cliques[0]);
    assert_eq!(first_progress(&pcs, &hash, 0).await, Value::Null, "no pod is old");
    assert_eq!(first_progress(&pcs, &hash, 1).await, Value::Null, "a recycle is no update");
    let progress = first_progress(&pcs, "of-the-first-template", 0).await;
    assert!(progress["updateStartedAt"].is_string(), "{progress}");
    assert_eq!(progress["currentlyUpdating"][0]["replicaIndex"], 0, "{progress}");
    pcs.spec.update_strategy = serde_json::from_value(json!({"type": "OnDelete"})).unwrap();
    let left_alone = first_progress(&pcs, "of-the-first-template", 0).await;
    assert_eq!(left_alone, Value::Null, "users delete old pods");
}

async fn failure_condition(world: &World, before: &Value) -> Option<(String, String)> {
    let pcs = json!({
        "metadata": {"name": "wl", "namespace": "ns", "uid": "uid-of-wl", "generation": 1},
        "spec": {"replicas": 1, "template": {"cliques": []}},
        "status": {"conditions": before},
    });
    let pcs: PodCliqueSet = serde_json::from_value(pcs).unwrap();
    reconcile(Arc::new(pcs), Arc::clone(&world.context)).await.unwrap();
    let written = world.written();
    let (_, patch) = written.iter().find(|(request, _)| request.ends_with("/wl/status")).unwrap();
    let conditions = patch["status"]["conditions"].as_array().unwrap();
    let found = conditions.iter().find(|found| found["type"] == CONDITION_REPLICA_FAILURE)?;
    assert_eq!(found["status"], "True");
    Some(["reason", "message"].map(|field| found[field].as_str().unwrap().to_owned()).into())
}

#[tokio::test]
async fn objects_that_cannot_be_created_are_reported_until_they_can() {
    let mut world = World::new();
    assert_eq!(failure_condition(&world, &json!([])).await, None);
    let owner = owned_by("PodCliqueSet", "wl");
    let labels = json!({names::LABEL_PART_OF: "wl"});
    let gang = json!({
        "metadata": {"name": "wl-0", "namespace": "ns", "uid": "g", "labels": labels, "ownerReferences": owner},
        "spec": {"podgroups": []},
        "status": {"phase": "Pending", "conditions": [{
            "type": names::CONDITION_POD_GANG_SCHEDULED, "status": "False", "reason": "PodCreationFailed",
            "message": "refused", "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]},
    });
    world.feeds.pod_gangs.apply(gang);
    let of_gang = failure_condition(&world, &json!([])).await;
    assert_eq!(of_gang, Some(("PodCreationFailed".into(), "PodGang wl-0: refused".into())));
    let group = json!({
        "metadata": {"name": "wl-0-sg", "namespace": "ns", "uid": "s", "labels": labels, "ownerReferences": owner},
        "spec": {"replicas": 1, "minAvailable": 1, "cliqueNames": []},
    });
    let group: grove_api::PodCliqueScalingGroup = serde_json::from_value(group).unwrap();
    world.feeds.scaling_groups.take(Event::Apply(group.clone()));
    world.context.events.warn(&group, NAME_TAKEN, "PodClique wl-0-sg-0-a is theirs").await;
    let of_group = failure_condition(&world, &json!([])).await;
    assert_eq!(of_group, Some(("NameTaken".into(), "PodClique wl-0-sg-0-a is theirs".into())));
    world.context.events.reset_warning(&group, NAME_TAKEN);
    world
        .feeds
        .pod_gangs
        .take(Event::Delete((*world.context.caches.pod_gangs.get(Some("ns"), "wl-0").unwrap()).clone()));
    let before = json!([{"type": CONDITION_REPLICA_FAILURE, "status": "True", "reason": "NameTaken",
                         "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    assert_eq!(failure_condition(&world, &before).await, None, "removed");
}

fn template(topology_name: Option<&str>, domain: Option<&str>) -> PodCliqueSetTemplateSpec {
    let constraint =
        domain.map(|domain| json!({"topologyName": topology_name, "pack": {"required": domain}}));
    serde_json::from_value(json!({"cliques": [], "topologyConstraint": constraint})).unwrap()
}

#[rstest::rstest]
#[case::none(None, None, true, "False/AllClusterTopologyLevelsAvailable")]
#[case::known(Some("t"), Some("rack"), true, "False/AllClusterTopologyLevelsAvailable")]
#[case::unknown(Some("t"), Some("zone"), true, "True/ClusterTopologyLevelsUnavailable")]
#[case::deleted(Some("t"), Some("rack"), false, "Unknown/ClusterTopologyNotFound")]
#[case::nameless(None, Some("rack"), true, "Unknown/TopologyNameMissing")]
fn the_topology_condition_reports_missing_levels(
    #[case] name: Option<&str>,
    #[case] domain: Option<&str>,
    #[case] exists: bool,
    #[case] expected: &str,
) {
    let levels = [TopologyLevel { domain: "rack".into(), key: "key/rack".into() }];
    let levels = exists.then_some(levels.as_slice());
    let update = topology_condition(&template(name, domain), name, levels);
    let condition = &conditions::with(Vec::new(), update, None)[0];
    assert_eq!(format!("{}/{}", condition.status, condition.reason), expected);
}
