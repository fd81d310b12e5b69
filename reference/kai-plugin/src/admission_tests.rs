use axum::body::{Body, to_bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{self, StatusCode};
use k8s_openapi::ByteString;
use serde_json::json;
use tower::ServiceExt;

use super::*;

struct OneRuntime(Value);

#[async_trait::async_trait]
impl Runtimes for OneRuntime {
    async fn get(&self, reference: Reference<'_>) -> Result<Option<Value>, kube::Error> {
        assert_eq!(reference.namespace, "ns");
        Ok((reference.name == "r").then(|| self.0.clone()))
    }
}

struct Unreachable;

#[async_trait::async_trait]
impl Runtimes for Unreachable {
    async fn get(&self, _: Reference<'_>) -> Result<Option<Value>, kube::Error> {
        Err(kube::Error::LinesCodecMaxLineLengthExceeded)
    }
}

fn runtime(policy: Value) -> Value {
    let pod = json!({"spec": {"template": {"spec": {"schedulerName": "kai-scheduler"}}}});
    let jobs = json!([{"name": "node", "template": pod}]);
    json!({"spec": {"podGroupPolicy": policy, "template": {"spec": {"replicatedJobs": jobs}}}})
}

fn team_a() -> Value {
    runtime(json!({"kaiScheduler": {"queue": "team-a"}}))
}

fn train_job(runtime: &str, patches: Value) -> Value {
    let reference = json!({"name": runtime, "kind": "TrainingRuntime", "apiGroup": GROUP});
    json!({"spec": {"runtimeRef": reference, "runtimePatches": patches}})
}

fn in_one_rack() -> Value {
    let annotated =
        json!({"metadata": {"annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}}});
    train_job("r", json!([{"manager": "m", "trainingRuntimeSpec": {"template": annotated}}]))
}

async fn ask(runtimes: impl Runtimes + 'static, path: &str, mut request: Value) -> Value {
    for (field, value) in [("uid", "u1"), ("namespace", "ns"), ("name", "demo")] {
        request[field] = json!(value);
    }
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let request = http::Request::post(path).header(CONTENT_TYPE, "application/json");
    let request = request.body(Body::from(review.to_string())).unwrap();
    let response = router(Arc::new(runtimes)).oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    serde_json::from_slice::<Value>(&body).unwrap()["response"].take()
}

async fn entries(runtimes: impl Runtimes + 'static, request: Value) -> Option<Value> {
    let response = ask(runtimes, PATCH_TRAIN_JOB_PATH, request).await;
    assert_eq!(response["allowed"], true, "{response}");
    let ByteString(patch) = serde_json::from_value(response.get("patch")?.clone()).unwrap();
    let patch: Value = serde_json::from_slice(&patch).unwrap();
    Some(patch[0]["value"].clone())
}

fn create(object: Value) -> Value {
    json!({"operation": "CREATE", "object": object, "oldObject": null})
}

fn update(old: Value, new: Value) -> Value {
    json!({"operation": "UPDATE", "object": new, "oldObject": old})
}

#[tokio::test]
async fn a_train_job_gets_the_queue_of_its_runtime() {
    let entries =
        entries(OneRuntime(team_a()), create(train_job("r", json!([{"manager": "user"}])))).await.unwrap();
    assert_eq!(entries[0], json!({"manager": "user"}));
    assert_eq!(entries[1], patch::entry(Policy::of(&team_a()).unwrap()).unwrap());
}

#[rstest::rstest]
#[case::no_policy(runtime(json!(null)), "r")]
#[case::of_another(runtime(json!({"volcano": {}})), "r")]
#[case::no_queue(runtime(json!({"kaiScheduler": {}})), "r")]
#[case::empty_queue(runtime(json!({"kaiScheduler": {"queue": ""}})), "r")]
#[case::no_runtime(team_a(), "missing")]
#[tokio::test]
async fn train_jobs_without_a_kai_queue_pass_unchanged(#[case] runtime: Value, #[case] name: &str) {
    let object = train_job(name, json!([{"manager": "user"}]));
    assert_eq!(entries(OneRuntime(runtime.clone()), create(object.clone())).await, None);
    let response = ask(OneRuntime(runtime), VALIDATE_TRAIN_JOB_PATH, create(object)).await;
    assert_eq!(response, json!({"uid": "u1", "allowed": true}));
}

/// A changed runtime must not move a running TrainJob to another queue.
#[tokio::test]
async fn an_update_keeps_the_entry() {
    let mut ours = patch::entry(Policy::of(&team_a()).unwrap()).unwrap();
    ours["time"] = json!("2026-01-01T00:00:00Z");
    let old = train_job("r", json!([ours]));
    let later = || OneRuntime(runtime(json!({"kaiScheduler": {"queue": "team-b"}})));
    assert_eq!(entries(later(), update(old.clone(), old.clone())).await, None);
    let restored = entries(later(), update(old.clone(), train_job("r", json!(null)))).await;
    assert_eq!(restored, Some(json!([ours])));
    assert_eq!(entries(later(), update(train_job("r", json!(null)), old)).await, Some(json!([])));
}

#[tokio::test]
async fn an_unreachable_api_server_refuses_the_train_job() {
    for (path, object) in
        [(PATCH_TRAIN_JOB_PATH, train_job("r", json!(null))), (VALIDATE_TRAIN_JOB_PATH, in_one_rack())]
    {
        let response = ask(Unreachable, path, create(object)).await;
        assert_eq!(
            (&response["allowed"], &response["status"]["code"]),
            (&json!(false), &json!(500)),
            "{path}"
        );
    }
    for request in [
        create(train_job("r", json!(null))),
        update(train_job("r", json!(null)), train_job("r", json!(null))),
    ] {
        let response = ask(Unreachable, VALIDATE_TRAIN_JOB_PATH, request).await;
        assert_eq!(response["allowed"], true, "an object without errors does not need the runtime");
    }
}

#[tokio::test]
async fn the_seventeenth_entry_is_refused() {
    let all: Vec<_> = (0..16).map(|index| json!({"manager": format!("m{index}")})).collect();
    let response = ask(OneRuntime(team_a()), PATCH_TRAIN_JOB_PATH, create(train_job("r", all.into()))).await;
    insta::assert_snapshot!(response["status"]["message"].as_str().unwrap(), @"spec.runtimePatches: Forbidden: the list has 16 entries, and the queue of the training runtime needs one: remove an entry");
}

#[tokio::test]
async fn exclusive_topology_in_a_patch_is_refused_with_a_policy_only() {
    let object = in_one_rack();
    let refused = ask(OneRuntime(team_a()), VALIDATE_TRAIN_JOB_PATH, create(object.clone())).await;
    assert_eq!((&refused["allowed"], &refused["status"]["code"]), (&json!(false), &json!(422)));
    let passed = ask(OneRuntime(runtime(json!(null))), VALIDATE_TRAIN_JOB_PATH, create(object.clone())).await;
    assert_eq!(passed["allowed"], true);
    let stored = ask(OneRuntime(team_a()), VALIDATE_TRAIN_JOB_PATH, update(object.clone(), object)).await;
    assert_eq!(stored["allowed"], true);
}

#[tokio::test]
async fn runtimes_are_validated_on_create_and_for_new_errors_on_update() {
    let bad = || runtime(json!({"kaiScheduler": {"queue": "team/a"}}));
    let response =
        async |request| ask(OneRuntime(json!(null)), VALIDATE_RUNTIME_PATH, request).await["allowed"].clone();
    assert_eq!(response(create(team_a())).await, true);
    assert_eq!(response(create(bad())).await, false);
    assert_eq!(response(create(runtime(json!({"coscheduling": {}})))).await, true);
    assert_eq!(response(update(team_a(), bad())).await, false);
    assert_eq!(response(update(bad(), bad())).await, true);
    assert_eq!(response(json!({"operation": "DELETE", "object": null, "oldObject": bad()})).await, true);
}

#[tokio::test]
async fn warnings_come_with_the_admission() {
    let mut elsewhere = team_a();
    elsewhere["spec"]["template"]["spec"]["replicatedJobs"][0]["template"] = json!({});
    let response = ask(OneRuntime(json!(null)), VALIDATE_RUNTIME_PATH, create(elsewhere.clone())).await;
    assert_eq!(
        (&response["allowed"], response["warnings"].as_array().map(Vec::len)),
        (&json!(true), Some(1))
    );
    let response =
        ask(OneRuntime(elsewhere), PATCH_TRAIN_JOB_PATH, create(train_job("r", json!(null)))).await;
    assert_eq!(response["warnings"].as_array().map(Vec::len), Some(1));
}
