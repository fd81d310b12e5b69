use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::response::Response as HttpResponse;
use axum::routing::post;
use grove_api::{ClusterTopologyBinding, PodCliqueSet};
use serde::Deserialize;
use webhook_server::{Operation, REVIEW_LIMIT, Request, Response, answer};

use super::{
    AdmissionState, default_pod_clique_set, scale, validate_cluster_topology_binding, validate_create,
    validate_update,
};
use crate::backend::Validation;

pub const DEFAULT_POD_CLIQUE_SET_PATH: &str = "/webhooks/default-podcliqueset";
pub const VALIDATE_POD_CLIQUE_SET_PATH: &str = "/webhooks/validate-podcliqueset";
pub const VALIDATE_CLUSTER_TOPOLOGY_PATH: &str = "/webhooks/validate-clustertopology";

pub const VALIDATE_SCALE_PATH: &str = "/webhooks/validate-scale";

const GROUP: &str = "grove.io";

pub fn router(state: AdmissionState) -> Router {
    Router::new()
        .route(DEFAULT_POD_CLIQUE_SET_PATH, post(default_pcs))
        .route(VALIDATE_POD_CLIQUE_SET_PATH, post(validate_pcs))
        .route(VALIDATE_CLUSTER_TOPOLOGY_PATH, post(validate_binding))
        .route(VALIDATE_SCALE_PATH, post(validate_scale))
        .layer(DefaultBodyLimit::max(REVIEW_LIMIT))
        .with_state(state)
}

async fn default_pcs(body: Bytes) -> HttpResponse {
    answer(body, async |mut request| Ok(Response::patched(&default_pod_clique_set(&mut request.object))))
        .await
}

async fn validate_pcs(State(state): State<AdmissionState>, body: Bytes) -> HttpResponse {
    answer(body, async move |request| check_pcs(request, &state).await).await
}

async fn validate_binding(State(state): State<AdmissionState>, body: Bytes) -> HttpResponse {
    answer(body, async move |request| check_binding(&request, &state)).await
}

async fn validate_scale(State(state): State<AdmissionState>, body: Bytes) -> HttpResponse {
    answer(body, async move |request| {
        Ok(scale::check(&request, &*state.scaled_objects, &state.registry).await)
    })
    .await
}

async fn check_pcs(mut request: Request, state: &AdmissionState) -> serde_json::Result<Response> {
    let findings = match request.operation {
        Operation::Create => validate_create(&PodCliqueSet::deserialize(&request.object)?, state).await,
        Operation::Update => {
            // A default that was added later must not count as the user's change.
            default_pod_clique_set(&mut request.old_object);
            let old = PodCliqueSet::deserialize(&request.old_object)?;
            validate_update(&old, &PodCliqueSet::deserialize(&request.object)?, state).await
        }
        Operation::Delete | Operation::Connect => Ok(Validation::default()),
    };
    Ok(match findings {
        Ok(findings) => Response::from_findings(GROUP, "PodCliqueSet", &request.name, findings),
        Err(error) => Response::failed(error.to_string()),
    })
}

fn check_binding(request: &Request, state: &AdmissionState) -> serde_json::Result<Response> {
    let errors = match request.operation {
        Operation::Create | Operation::Update => {
            let old = Option::<ClusterTopologyBinding>::deserialize(&request.old_object)?;
            let binding = ClusterTopologyBinding::deserialize(&request.object)?;
            validate_cluster_topology_binding(&binding, old.as_ref(), &state.registry)
        }
        Operation::Delete | Operation::Connect => Vec::new(),
    };
    let findings = Validation { errors, warnings: Vec::new() };
    Ok(Response::from_findings(GROUP, "ClusterTopologyBinding", &request.name, findings))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::body::{Body, to_bytes};
    use axum::http;
    use axum::http::StatusCode;
    use axum::http::header::CONTENT_TYPE;
    use k8s_openapi::ByteString;
    use serde_json::{Value, json};
    use tower::ServiceExt;

    use super::*;
    use crate::admission::fixture::{self, Edits, cluster};
    use crate::admission::{LookupError, TopologyBindings};
    use crate::backend::fake_backend::FakeBackend;

    async fn post_to(state: AdmissionState, path: &str, body: String) -> (StatusCode, String) {
        let request =
            http::Request::post(path).header(CONTENT_TYPE, "application/json").body(Body::from(body));
        let response = router(state).oneshot(request.unwrap()).await.unwrap();
        let status = response.status();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn review(state: AdmissionState, path: &str, mut request: Value) -> Value {
        request["uid"] = json!("u1");
        let review =
            json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request });
        let (status, body) = post_to(state, path, review.to_string()).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        let mut review: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(review["kind"], "AdmissionReview");
        assert_eq!(review["response"]["uid"], "u1");
        review["response"].take()
    }

    fn ready() -> AdmissionState {
        cluster(vec![FakeBackend::ready("default-scheduler")])
    }

    fn defaulted(edits: Edits<'_>) -> Value {
        let mut pcs = fixture::json(edits);
        default_pod_clique_set(&mut pcs);
        pcs
    }

    async fn create(state: AdmissionState, pcs: Value) -> Value {
        review(
            state,
            VALIDATE_POD_CLIQUE_SET_PATH,
            json!({ "operation": "CREATE", "name": "demo", "object": pcs }),
        )
        .await
    }

    async fn update(old: Value, new: Value) -> Value {
        let request = json!({ "operation": "UPDATE", "name": "demo", "object": new, "oldObject": old });
        review(ready(), VALIDATE_POD_CLIQUE_SET_PATH, request).await
    }

    #[tokio::test]
    async fn a_valid_pod_clique_set_is_admitted_without_warnings() {
        assert_eq!(create(ready(), defaulted(&[])).await, json!({ "uid": "u1", "allowed": true }));
    }

    #[tokio::test]
    async fn a_refusal_contains_the_warnings() {
        let pcs = defaulted(&[
            ("/spec/replicas", json!(-1)),
            ("/spec/template/cliques/0/spec/podSpec/hostname", json!("mine")),
        ]);
        let response = create(ready(), pcs).await;
        assert_eq!(response["allowed"], false);
        assert_eq!(response["status"]["code"], 422);
        insta::assert_snapshot!(response["status"]["message"].as_str().unwrap(), @"spec.replicas: Invalid value: -1: must be greater than or equal to 0");
        insta::assert_snapshot!(response["warnings"], @r#"["spec.template.cliques[0].spec.podSpec.hostname has no effect: Grove overwrites it"]"#);
    }

    #[tokio::test]
    async fn an_update_is_compared_with_the_stored_object() {
        let (old, scaled) = (defaulted(&[]), defaulted(&[("/spec/replicas", json!(2))]));
        let reshaped = defaulted(&[("/spec/template/cliques/0/spec/minAvailable", json!(2))]);
        assert_eq!(update(old.clone(), scaled).await["allowed"], true);
        assert_eq!(update(old, reshaped).await["allowed"], false);
    }

    #[tokio::test]
    async fn a_default_that_the_stored_object_lacks_is_no_change() {
        let labelled = defaulted(&[("/metadata/labels", json!({ "team": "x" }))]);
        assert_eq!(update(fixture::json(&[]), labelled).await["allowed"], true);
    }

    #[tokio::test]
    async fn a_deletion_is_admitted_without_reading_the_object() {
        for path in [VALIDATE_POD_CLIQUE_SET_PATH, VALIDATE_CLUSTER_TOPOLOGY_PATH] {
            let request =
                json!({ "operation": "DELETE", "name": "demo", "object": null, "oldObject": { "odd": 1 } });
            assert_eq!(review(ready(), path, request).await["allowed"], true);
        }
    }

    #[tokio::test]
    async fn defaults_are_returned_as_a_patch() {
        let request = json!({ "operation": "CREATE", "object": fixture::json(&[]) });
        let response = review(ready(), DEFAULT_POD_CLIQUE_SET_PATH, request).await;
        assert_eq!((&response["allowed"], &response["patchType"]), (&json!(true), &json!("JSONPatch")));
        let ByteString(patch) = serde_json::from_value(response["patch"].clone()).unwrap();
        let expected = serde_json::to_vec(&default_pod_clique_set(&mut fixture::json(&[]))).unwrap();
        assert_eq!(patch, expected);
    }

    #[tokio::test]
    async fn cluster_topology_bindings_are_validated() {
        let binding = |domain: &str| {
            let levels = json!([{ "domain": "rack", "key": "r" }, { "domain": domain, "key": "h" }]);
            json!({ "metadata": { "name": "topo" }, "spec": { "levels": levels } })
        };
        for (domain, allowed) in [("host", true), ("rack", false)] {
            let request = json!({ "operation": "CREATE", "object": binding(domain), "oldObject": null });
            assert_eq!(review(ready(), VALIDATE_CLUSTER_TOPOLOGY_PATH, request).await["allowed"], allowed);
        }
    }

    #[rstest::rstest]
    #[tokio::test]
    async fn a_malformed_review_is_a_bad_request(
        #[values(DEFAULT_POD_CLIQUE_SET_PATH, VALIDATE_POD_CLIQUE_SET_PATH, VALIDATE_CLUSTER_TOPOLOGY_PATH)]
        path: &str,
        #[values("", "{", "{}")] body: &str,
    ) {
        assert_eq!(post_to(ready(), path, body.to_owned()).await.0, StatusCode::BAD_REQUEST);
    }

    #[tokio::test]
    async fn an_object_of_another_shape_is_refused() {
        let response = create(ready(), json!({ "spec": 1 })).await;
        assert_eq!((&response["allowed"], &response["status"]["code"]), (&json!(false), &json!(400)));
    }

    #[tokio::test]
    async fn a_panicking_rule_refuses_the_object() {
        let panicking = FakeBackend {
            rules: |_, _| panic!("a rule is wrong"),
            ..FakeBackend::ready("default-scheduler")
        };
        let response = create(cluster(vec![panicking]), defaulted(&[])).await;
        assert_eq!((&response["allowed"], &response["status"]["code"]), (&json!(false), &json!(500)));
    }

    struct Unreachable;

    #[async_trait::async_trait]
    impl TopologyBindings for Unreachable {
        async fn binding(&self, name: &str) -> Result<Option<ClusterTopologyBinding>, LookupError> {
            Err(LookupError { name: name.to_owned(), source: kube::Error::LinesCodecMaxLineLengthExceeded })
        }
    }

    #[tokio::test]
    async fn a_failed_lookup_refuses_the_object() {
        let constraint = json!({ "topologyName": "topo", "pack": { "required": "rack" } });
        let pcs = defaulted(&[("/spec/template/topologyConstraint", constraint)]);
        assert_eq!(create(ready(), pcs.clone()).await["allowed"], true);
        let state = AdmissionState { bindings: Arc::new(Unreachable), ..ready() };
        let response = create(state, pcs).await;
        assert_eq!((&response["allowed"], &response["status"]["code"]), (&json!(false), &json!(500)));
        insta::assert_snapshot!(response["status"]["message"].as_str().unwrap(), @r#"failed to fetch ClusterTopologyBinding "topo": Error finding newline character"#);
    }
}
