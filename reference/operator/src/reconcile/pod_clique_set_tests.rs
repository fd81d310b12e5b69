use grove_api::PodClique;
use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::*;
use crate::context::test_api::{World, owned_by};

fn pod_clique_set(replicas: i32) -> PodCliqueSet {
    let clique =
        |name: &str| json!({"name": name, "spec": {"podSpec": {}, "replicas": 2, "minAvailable": 1}});
    serde_json::from_value(json!({
        "metadata": {"name": "wl", "namespace": "ns", "uid": "uid-of-wl", "labels": {"team": "a"}},
        "spec": {"replicas": replicas, "template": {
            "cliques": [clique("a"), clique("b")],
            "podCliqueScalingGroups": [{"name": "sg", "cliqueNames": ["b"], "replicas": 2, "minAvailable": 1}],
        }},
    }))
    .unwrap()
}

async fn reconciled(world: &mut World, pcs: &PodCliqueSet) -> Vec<(String, Value)> {
    world.feeds.pod_clique_sets.take(Event::Apply(pcs.clone()));
    reconcile(Arc::new(pcs.clone()), Arc::clone(&world.context)).await.unwrap();
    let mut written = world.written();
    written.sort_by(|(a, _), (b, _)| a.cmp(b));
    written
}

async fn world_of(pcs: &PodCliqueSet) -> World {
    let mut world = World::new();
    let written = reconciled(&mut world, pcs).await;
    world.deliver(&written);
    world
}

fn created(written: &[(String, Value)]) -> Vec<String> {
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let mut lines: Vec<_> = written
        .iter()
        .map(|(request, object)| match request.starts_with("POST") {
            true => format!("create {} {}", object["kind"].as_str().unwrap_or_default(), name(object)),
            false => request.clone(),
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn the_pod_count_covers_all_replicas_and_groups() {
    assert_eq!(pod_count(&pod_clique_set(3)), 3 * (2 + 2 * 2));
    assert_eq!(pod_count(&pod_clique_set(i32::MAX)), 6 * usize::try_from(i32::MAX).unwrap());
}

#[tokio::test]
async fn existing_objects_are_not_written_again() {
    let mut world = World::new();
    let pcs = pod_clique_set(1);
    let written = reconciled(&mut world, &pcs).await;
    insta::assert_snapshot!(created(&written).join("\n"), @r"
    create PodClique wl-0-a
    create PodCliqueScalingGroup wl-0-sg
    create PodGang wl-0
    create PodGang wl-0-sg-0
    create Service wl-0
    ");
    for (_, object) in &written {
        assert_eq!(object["metadata"]["ownerReferences"][0]["uid"], "uid-of-wl", "{object}");
    }
    world.deliver(&written);
    assert_eq!(reconciled(&mut world, &pcs).await, [], "no write when nothing differs");
}

#[tokio::test]
async fn scale_in_deletes_the_highest_replica_and_nothing_else() {
    let mut world = world_of(&pod_clique_set(2)).await;
    let written = reconciled(&mut world, &pod_clique_set(1)).await;
    insta::assert_snapshot!(created(&written).join("\n"), @r"
    DELETE /api/v1/namespaces/ns/services/wl-1
    DELETE /apis/grove.io/v1alpha1/namespaces/ns/podcliques/wl-1-a
    DELETE /apis/grove.io/v1alpha1/namespaces/ns/podcliquescalinggroups/wl-1-sg
    DELETE /apis/scheduler.grove.io/v1alpha1/namespaces/ns/podgangs/wl-1
    DELETE /apis/scheduler.grove.io/v1alpha1/namespaces/ns/podgangs/wl-1-sg-0
    ");
    assert!(written.iter().all(|(_, body)| body["preconditions"]["uid"].is_string()), "deletes by uid");
}

fn sharing(replicas: i32, elsewhere: bool) -> PodCliqueSet {
    let mut pcs = pod_clique_set(replicas);
    let spec = json!({"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}});
    let metadata = json!({"labels": {"of": "template"}, "annotations": {"note": "x"}});
    let template = json!({"name": "nic", "templateSpec": {"metadata": metadata, "spec": spec}});
    let own = json!({"name": "own", "templateSpec": {"spec": spec}});
    pcs.spec.template.resource_claim_templates = serde_json::from_value(json!([template, own])).unwrap();
    let mut entries =
        vec![json!({"name": "nic", "scope": "AllReplicas"}), json!({"name": "own", "scope": "PerReplica"})];
    entries.extend(elsewhere.then(|| json!({"name": "ext", "namespace": "shared", "scope": "AllReplicas"})));
    pcs.spec.template.resource_sharing = serde_json::from_value(json!(entries)).unwrap();
    pcs
}

#[tokio::test]
async fn shared_claims_are_created_from_templates_and_deleted_with_their_replica() {
    let mut world = World::new();
    let written = reconciled(&mut world, &sharing(2, false)).await;
    let claims: Vec<_> = written.iter().filter(|(_, object)| object["kind"] == "ResourceClaim").collect();
    assert_eq!(claims.len(), 3, "{written:?}");
    let for_all = &claims.iter().find(|(_, claim)| claim["metadata"]["name"] == "wl-all-nic").unwrap().1;
    let labels = json!({
        names::LABEL_MANAGED_BY: names::MANAGED_BY_GROVE, names::LABEL_PART_OF: "wl", names::LABEL_NAME: "wl-all-nic",
        names::LABEL_COMPONENT: "resource-claim", "of": "template",
    });
    assert_eq!(for_all["metadata"]["labels"], labels);
    assert_eq!(for_all["metadata"]["annotations"], json!({"note": "x"}));
    assert_eq!(for_all["metadata"]["ownerReferences"][0]["uid"], "uid-of-wl");
    assert_eq!(for_all["spec"]["devices"]["requests"][0]["exactly"], json!({"deviceClassName": "c"}));
    let index = |claim: &Value| claim["metadata"]["labels"][names::LABEL_PCS_REPLICA_INDEX].clone();
    let replica_indexes: Vec<_> =
        claims.iter().map(|(_, claim)| index(claim)).filter(|index| !index.is_null()).collect();
    assert_eq!(replica_indexes, [json!("0"), json!("1")]);
    world.deliver(&written);
    assert_eq!(reconciled(&mut world, &sharing(2, false)).await, [], "no write when nothing differs");
    let written = reconciled(&mut world, &sharing(1, false)).await;
    let deleted = created(&written);
    let claims: Vec<_> = deleted.iter().filter(|line| line.contains("resourceclaims")).collect();
    assert_eq!(claims, ["DELETE /apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/wl-1-own"]);
}

#[tokio::test]
async fn a_missing_claim_template_is_reported_and_blocks_nothing_else() {
    let mut world = World::new();
    let pcs = sharing(1, true);
    world.feeds.pod_clique_sets.take(Event::Apply(pcs.clone()));
    let failed = reconcile(Arc::new(pcs), Arc::clone(&world.context)).await.unwrap_err();
    assert!(failed.to_string().contains("get ResourceClaimTemplate shared/ext"), "{failed}");
    let written = world.written();
    let kinds = |kind: &str| written.iter().filter(|(_, object)| object["kind"] == kind).count();
    assert_eq!((kinds("ResourceClaim"), kinds("PodClique"), kinds("PodGang")), (2, 1, 2));
    assert!(written.iter().any(|(_, event)| event["reason"] == "ResourceClaimFailed"), "{written:?}");
}

#[tokio::test]
async fn a_scaled_gang_is_deleted_after_its_members() {
    let pcs = pod_clique_set(1);
    let mut world = world_of(&pcs).await;
    let in_group = json!({names::LABEL_SCALING_GROUP: "wl-0-sg"});
    let member: PodClique = serde_json::from_value(json!({
        "metadata": {"name": "wl-0-sg-1-b", "namespace": "ns", "uid": "uid-of-member", "labels": in_group},
        "spec": {"podSpec": {}, "replicas": 2, "minAvailable": 1},
    }))
    .unwrap();
    world.feeds.pod_cliques.take(Event::Apply(member.clone()));
    let group = world.context.caches.scaling_groups.get(Some("ns"), "wl-0-sg").unwrap();
    let mut group = (*group).clone();
    group.spec.replicas = 1;
    world.feeds.scaling_groups.take(Event::Apply(group));
    assert_eq!(reconciled(&mut world, &pcs).await, [], "the scaling group may see 2 replicas");
    world.feeds.pod_cliques.take(Event::Delete(member));
    let written = reconciled(&mut world, &pcs).await;
    insta::assert_snapshot!(created(&written).join("\n"), @"DELETE /apis/scheduler.grove.io/v1alpha1/namespaces/ns/podgangs/wl-0-sg-0");
}

#[tokio::test]
async fn a_label_of_the_pod_clique_set_is_copied_to_its_pod_gangs() {
    let mut pcs = pod_clique_set(1);
    let mut world = world_of(&pcs).await;
    pcs.labels_mut().insert("team".into(), "b".into());
    let written = reconciled(&mut world, &pcs).await;
    assert_eq!(written.len(), 2, "base and scaled PodGang: {written:?}");
    for (request, patch) in written {
        assert!(
            request.starts_with("PATCH /apis/scheduler.grove.io/v1alpha1/namespaces/ns/podgangs/"),
            "{request}"
        );
        assert_eq!(patch, json!({"metadata": {"labels": {"team": "b"}, "resourceVersion": "1"}}));
    }
}

#[tokio::test]
async fn template_replicas_do_not_overwrite_scaled_objects() {
    let mut pcs = pod_clique_set(1);
    let mut world = world_of(&pcs).await;
    pcs.spec.template.cliques[0].spec.replicas = 5;
    pcs.spec.template.pod_clique_scaling_groups[0].replicas = Some(7);
    assert_eq!(reconciled(&mut world, &pcs).await, []);
}

#[tokio::test]
async fn objects_of_a_predecessor_block_creation() {
    let mut old = pod_clique_set(1);
    old.metadata.uid = Some("uid-of-predecessor".into());
    let world = world_of(&old).await;
    let result = reconcile(Arc::new(pod_clique_set(1)), Arc::clone(&world.context)).await;
    assert!(matches!(result, Err(ReconcileError::Waiting(_))), "{result:?}");
    assert_eq!(world.written(), [], "neither patched nor deleted: the garbage collector deletes them");
}

#[tokio::test]
async fn an_idle_scaling_group_does_not_remove_a_clique_of_the_same_name() {
    let mut pcs = pod_clique_set(1);
    pcs.spec.template.cliques[0].name = "sg".to_owned();
    let mut world = world_of(&pcs).await;
    let mut group = (*world.context.caches.scaling_groups.get(Some("ns"), "wl-0-sg").unwrap()).clone();
    group.spec.replicas = 0;
    world.feeds.scaling_groups.take(Event::Apply(group));
    let written = reconciled(&mut world, &pcs).await;
    let (_, patch) = written.iter().find(|(request, _)| request.ends_with("/podgangs/wl-0")).unwrap();
    let podgroups: Vec<_> =
        patch["spec"]["podgroups"].as_array().unwrap().iter().map(|podgroup| &podgroup["name"]).collect();
    assert_eq!(podgroups, ["wl-0-sg"]);
}

#[tokio::test]
async fn a_name_that_another_owner_has_is_reported() {
    let mut world = World::new();
    let pcs = pod_clique_set(1);
    let theirs: PodClique = serde_json::from_value(json!({
        "metadata": {"name": "wl-0-a", "namespace": "ns", "uid": "theirs",
                     "ownerReferences": owned_by("PodCliqueSet", "wl-0")},
        "spec": {"podSpec": {}, "replicas": 1},
    }))
    .unwrap();
    world.feeds.pod_cliques.take(Event::Apply(theirs.clone()));
    for attempt in 1..=2 {
        let result = reconcile(Arc::new(pcs.clone()), Arc::clone(&world.context)).await;
        assert!(matches!(result, Err(ReconcileError::NameTaken(_))), "{result:?}");
        let written = world.written();
        let is_event = |(_, object): &&(String, Value)| object["reason"] == "NameTaken";
        let events: Vec<_> = written.iter().filter(is_event).collect();
        assert_eq!(events.len(), usize::from(attempt == 1), "reported once: {written:?}");
        assert!(written.iter().any(|(_, object)| object["kind"] == "PodGang"), "{written:?}");
    }
    let note = world.context.events.last_warning(&pcs, "NameTaken").unwrap();
    insta::assert_snapshot!(note, @"PodClique wl-0-a, which PodCliqueSet wl needs, is controlled by PodCliqueSet wl-0: delete or rename one of them");
    world.feeds.pod_cliques.take(Event::Delete(theirs));
    reconciled(&mut world, &pcs).await;
    assert_eq!(world.context.events.last_warning(&pcs, "NameTaken"), None);
}

#[tokio::test]
async fn nothing_is_created_for_a_pod_clique_set_that_is_being_deleted() {
    let mut world = World::new();
    let mut pcs = pod_clique_set(1);
    pcs.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    assert_eq!(reconciled(&mut world, &pcs).await, []);
}
