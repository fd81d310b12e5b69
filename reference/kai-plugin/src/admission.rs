//! The webhooks admit objects without `kaiScheduler` unchanged, because the trainer validates all other
//! fields. They never refuse a deletion, nor an update for an error that the stored object already has.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::response::Response as HttpResponse;
use axum::routing::post;
use serde_json::Value;
use webhook_server::{Operation, REVIEW_LIMIT, Request, Response, Validation, answer};

use crate::patch;
use crate::policy::{Policy, check_patches};
use crate::runtimes::{GROUP, Reference, Runtimes};

pub const PATCH_TRAIN_JOB_PATH: &str = "/webhooks/patch-trainjob";
pub const VALIDATE_TRAIN_JOB_PATH: &str = "/webhooks/validate-trainjob";
pub const VALIDATE_RUNTIME_PATH: &str = "/webhooks/validate-runtime";

type Shared = State<Arc<dyn Runtimes>>;

pub fn router(runtimes: Arc<dyn Runtimes>) -> Router {
    Router::new()
        .route(PATCH_TRAIN_JOB_PATH, post(patch_train_job))
        .route(VALIDATE_TRAIN_JOB_PATH, post(validate_train_job))
        .route(VALIDATE_RUNTIME_PATH, post(validate_runtime))
        .layer(DefaultBodyLimit::max(REVIEW_LIMIT))
        .with_state(runtimes)
}

async fn patch_train_job(State(runtimes): Shared, body: Bytes) -> HttpResponse {
    answer(body, async move |request| Ok(patched(&request, &*runtimes).await)).await
}

async fn validate_train_job(State(runtimes): Shared, body: Bytes) -> HttpResponse {
    answer(body, async move |request| Ok(validated(&request, &*runtimes).await)).await
}

async fn validate_runtime(body: Bytes) -> HttpResponse {
    answer(body, async |request| {
        Ok(Response::from_findings(GROUP, "TrainingRuntime", &request.name, check_runtime(&request)))
    })
    .await
}

async fn patched(request: &Request, runtimes: &dyn Runtimes) -> Response {
    let (wanted, warnings) = match request.operation {
        Operation::Create => match runtime(request, runtimes).await {
            Ok(runtime) => {
                let policy = runtime.as_ref().and_then(Policy::of);
                (policy.and_then(patch::entry), policy.map(Policy::warnings).unwrap_or_default())
            }
            Err(refused) => return refused,
        },
        Operation::Update => (patch::own_entry(&request.old_object).cloned(), Vec::new()),
        Operation::Delete | Operation::Connect => return Response::allowed(),
    };
    match patch::set_entry(&request.object, wanted) {
        Ok(operations) => Response::patched(&operations).warning(warnings),
        Err(error) => {
            let findings = Validation { errors: vec![error], warnings: Vec::new() };
            Response::from_findings(GROUP, "TrainJob", &request.name, findings)
        }
    }
}

async fn validated(request: &Request, runtimes: &dyn Runtimes) -> Response {
    if !matches!(request.operation, Operation::Create | Operation::Update) {
        return Response::allowed();
    }
    let mut errors = check_patches(&request.object);
    let known = check_patches(&request.old_object);
    errors.retain(|error| !known.contains(error));
    // Read the runtime only if there are errors, because it may have been deleted.
    if errors.is_empty() {
        return Response::allowed();
    }
    let runtime = match runtime(request, runtimes).await {
        Ok(runtime) => runtime,
        Err(refused) => return refused,
    };
    let findings = match runtime.as_ref().and_then(Policy::of) {
        Some(_) => Validation { errors, warnings: Vec::new() },
        None => Validation::default(),
    };
    Response::from_findings(GROUP, "TrainJob", &request.name, findings)
}

fn check_runtime(request: &Request) -> Validation {
    let check = |runtime: &Value| Policy::of(runtime).map(Policy::check).unwrap_or_default();
    match request.operation {
        Operation::Create | Operation::Update => {
            let mut findings = check(&request.object);
            let known = check(&request.old_object).errors;
            findings.errors.retain(|error| !known.contains(error));
            findings
        }
        Operation::Delete | Operation::Connect => Validation::default(),
    }
}

async fn runtime(request: &Request, runtimes: &dyn Runtimes) -> Result<Option<Value>, Response> {
    let Some(reference) = Reference::of(&request.object, &request.namespace) else { return Ok(None) };
    runtimes.get(reference).await.map_err(|error| {
        Response::failed(format!("trainer-kai-plugin cannot read the runtime {:?}: {error}", reference.name))
    })
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
