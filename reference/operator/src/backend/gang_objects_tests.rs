use grove_api::PodGangSpec;

use super::super::fake_api::FakeApi;
use super::*;

const THINGS: &str = "/apis/example.com/v1/namespaces/ns/things";
const THING: &str = "/apis/example.com/v1/namespaces/ns/things/g";

fn things() -> ApiResource {
    ApiResource {
        group: "example.com".to_owned(),
        version: "v1".to_owned(),
        api_version: "example.com/v1".to_owned(),
        kind: "Thing".to_owned(),
        plural: "things".to_owned(),
    }
}

fn pod_gang() -> PodGang {
    let mut pod_gang = PodGang::new("g", PodGangSpec::default());
    pod_gang.metadata.namespace = Some("ns".to_owned());
    pod_gang.metadata.uid = Some("mine".to_owned());
    pod_gang.labels_mut().insert(LABEL_PART_OF.to_owned(), "wl".to_owned());
    pod_gang
}

fn pairs(pairs: &[(&str, &str)]) -> Pairs {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn wanted() -> DynamicObject {
    let annotations = pairs(&[("queue", "q"), ("unwanted", ABSENT)]);
    let mut wanted = DynamicObject::new("g", &things())
        .data(json!({"spec": {"min": 2, "topology": null, "members": [{"name": "a", "level": null}]}}));
    wanted.metadata = metadata(&pod_gang(), "g", pairs(&[("team", "x")]), annotations);
    wanted
}

fn owned_by(kind: &str, name: &str, uid: &str) -> Value {
    json!([{"apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "controller": true}])
}

fn found(edits: &[(&str, Value)]) -> Value {
    let mut found = json!({
        "apiVersion": "example.com/v1", "kind": "Thing",
        "metadata": {
            "name": "g", "namespace": "ns", "uid": "u", "resourceVersion": "7",
            "labels": {
                "app.kubernetes.io/managed-by": "grove-operator", "app.kubernetes.io/part-of": "wl",
                "grove.io/podgang": "g", "team": "x", "foreign": "l",
            },
            "annotations": {"queue": "q", "foreign": "a"},
            "finalizers": ["foreign/f"],
            "ownerReferences": owned_by("PodGang", "g", "mine"),
        },
        "spec": {"min": 2, "foreign": true, "members": [{"name": "a", "defaulted": 1}]},
        "status": {"phase": "Running"},
    });
    for (pointer, value) in edits {
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        found.pointer_mut(parent).unwrap()[field] = value.clone();
    }
    found
}

fn object(value: Value) -> Arc<DynamicObject> {
    Arc::new(serde_json::from_value(value).unwrap())
}

async fn repaired(edits: &[(&str, Value)]) -> Option<Value> {
    let api = FakeApi::with_objects([(THING, json!({"metadata": {"name": "g"}}))]);
    let existing = [object(found(edits))];
    ensure(&api.client, &pod_gang(), &things(), &wanted(), &existing).await.unwrap();
    let mut written = api.written();
    let (request, patch) = written.pop()?;
    assert_eq!((request, written), (format!("PATCH {THING}"), vec![]));
    Some(patch)
}

async fn ensured_uncached(edits: &[(&str, Value)]) -> (Result<(), BackendError>, Vec<(String, Value)>) {
    let api = FakeApi::with_objects([(THING, found(edits))]);
    let outcome = ensure(&api.client, &pod_gang(), &things(), &wanted(), &[]).await;
    let mut written = api.written();
    assert_eq!(written.remove(0).0, format!("POST {THINGS}"));
    (outcome, written)
}

#[tokio::test]
async fn a_missing_object_is_created_without_absent_fields() {
    let api = FakeApi::with_objects([]);
    ensure(&api.client, &pod_gang(), &things(), &wanted(), &[]).await.unwrap();
    let mut owner = owned_by("PodGang", "g", "mine");
    owner[0]["apiVersion"] = json!("scheduler.grove.io/v1alpha1");
    let created = json!({
        "apiVersion": "example.com/v1", "kind": "Thing",
        "metadata": {
            "name": "g", "namespace": "ns", "annotations": {"queue": "q"}, "ownerReferences": owner,
            "labels": {
                "app.kubernetes.io/managed-by": "grove-operator", "app.kubernetes.io/part-of": "wl",
                "grove.io/podgang": "g", "team": "x",
            },
        },
        "spec": {"min": 2, "members": [{"name": "a"}]},
    });
    assert_eq!(api.written(), [(format!("POST {THINGS}"), created)]);
}

#[rstest::rstest]
#[case::as_planned(&[], None)]
#[case::field(&[("/spec/min", json!(3))], Some(json!({"spec": {"min": 2}})))]
#[case::unwanted_field(
    &[("/spec/topology", json!({"level": "rack"}))],
    Some(json!({"spec": {"topology": null}}))
)]
#[case::entry(
    &[("/spec/members", json!([{"name": "b"}]))],
    Some(json!({"spec": {"members": [{"name": "a"}]}}))
)]
#[case::unwanted_field_of_an_entry(
    &[("/spec/members", json!([{"name": "a", "level": "rack"}]))],
    Some(json!({"spec": {"members": [{"name": "a"}]}}))
)]
#[case::entry_added(
    &[("/spec/members", json!([{"name": "a"}, {"name": "b"}]))],
    Some(json!({"spec": {"members": [{"name": "a"}]}}))
)]
#[case::label_changed(
    &[("/metadata/labels/team", json!("y"))],
    Some(json!({"metadata": {"labels": {"team": "x"}}}))
)]
#[case::unwanted_annotation(
    &[("/metadata/annotations/unwanted", json!("set"))],
    Some(json!({"metadata": {"annotations": {"unwanted": null}}}))
)]
#[tokio::test]
async fn only_differences_are_written(#[case] edits: &[(&str, Value)], #[case] patch: Option<Value>) {
    assert_eq!(repaired(edits).await, patch);
}

#[tokio::test]
async fn an_object_that_the_cache_lacks_is_read_and_repaired() {
    let (outcome, written) = ensured_uncached(&[("/spec/min", json!(3))]).await;
    outcome.unwrap();
    assert_eq!(written, [(format!("PATCH {THING}"), json!({"spec": {"min": 2}}))]);
}

#[tokio::test]
async fn a_lost_owner_reference_is_restored_if_the_spec_matches() {
    let user = json!({"apiVersion": "v1", "kind": "Note", "name": "n", "uid": "n"});
    let (outcome, written) = ensured_uncached(&[("/metadata/ownerReferences", json!([user]))]).await;
    outcome.unwrap();
    let mut owner = owned_by("PodGang", "g", "mine");
    owner[0]["apiVersion"] = json!("scheduler.grove.io/v1alpha1");
    let patch = json!({"metadata": {"ownerReferences": [user, owner[0]], "resourceVersion": "7"}});
    assert_eq!(written, [(format!("PATCH {THING}"), patch)]);
}

#[rstest::rstest]
#[case::unowned_and_different(
    &[("/metadata/ownerReferences", json!([])), ("/spec/min", json!(3))],
    "Thing ns/g exists and is not controlled by this PodGang: delete it, or rename the PodCliqueSet"
)]
#[case::of_a_job(
    &[("/metadata/ownerReferences", owned_by("Job", "g", "job"))],
    "Thing ns/g exists and is not controlled by this PodGang: delete it, or rename the PodCliqueSet"
)]
#[case::of_a_predecessor(
    &[("/metadata/ownerReferences", owned_by("PodGang", "g", "before"))],
    "waiting: Thing ns/g of a deleted PodGang with the same name must be deleted first"
)]
#[case::being_deleted(
    &[("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")), ("/metadata/finalizers", json!([]))],
    "waiting: Thing ns/g is being deleted"
)]
#[case::kept_by_a_finalizer(
    &[("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")), ("/spec/min", json!(3))],
    "Thing ns/g is being deleted, but the finalizer foreign/f keeps it: remove the finalizer"
)]
#[tokio::test]
async fn an_object_of_another_owner_is_not_written(#[case] edits: &[(&str, Value)], #[case] message: &str) {
    let (outcome, written) = ensured_uncached(edits).await;
    assert_eq!(outcome.unwrap_err().to_string(), message);
    assert!(written.is_empty(), "{written:?}");
}

#[tokio::test]
async fn only_leftovers_of_this_pod_gang_and_kind_are_pruned() {
    let named = |name: &str, edits: &[(&str, Value)]| {
        let mut found = found(edits);
        found["metadata"]["name"] = json!(name);
        object(found)
    };
    let path = format!("{THINGS}/left");
    let api = FakeApi::with_objects([(path.as_str(), json!({"metadata": {"name": "left"}}))]);
    let existing = [
        named("kept", &[]),
        named("left", &[]),
        named("deleting", &[("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"))]),
        named("other", &[("/metadata/ownerReferences", owned_by("PodGang", "g", "before"))]),
        named("kind", &[("/kind", json!("Other"))]),
        named("group", &[("/apiVersion", json!("other.com/v1"))]),
    ];
    let keep = BTreeSet::from(["kept".to_owned()]);
    prune(&api.client, &pod_gang(), &things(), &keep, &existing).await.unwrap();
    let written = api.written();
    assert_eq!(written.len(), 1, "{written:?}");
    assert_eq!(written[0].0, format!("DELETE {path}"));
    assert_eq!(written[0].1["preconditions"], json!({"uid": "u"}));
    prune(&FakeApi::with_objects([]).client, &pod_gang(), &things(), &keep, &existing).await.unwrap();
}

#[test]
fn a_name_too_long_for_a_label_is_omitted() {
    let mut pod_gang = pod_gang();
    pod_gang.metadata.name = Some("g".repeat(64));
    let labels = metadata(&pod_gang, "g", Pairs::new(), Pairs::new()).labels.unwrap();
    assert_eq!(labels.into_keys().collect::<Vec<_>>(), [LABEL_MANAGED_BY, LABEL_PART_OF]);
}
