//! A failure never admits an object. The API server refuses it (failurePolicy `Fail`) if a body is no
//! AdmissionReview and gets a 400. If a lookup fails or a rule panics, the response has code 500.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response as HttpResponse};
use futures::FutureExt;

use crate::{Request, Response};

/// An update contains the object twice, and etcd accepts 1.5 MiB of each.
pub const REVIEW_LIMIT: usize = 8 << 20;

pub async fn answer<R, F>(body: impl AsRef<[u8]>, respond: R) -> HttpResponse
where
    R: FnOnce(Request) -> F,
    F: Future<Output = serde_json::Result<Response>>,
{
    let request = match Request::from_body(body.as_ref()) {
        Ok(request) => request,
        Err(error) => return (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    };
    let uid = request.uid.clone();
    let (operation, namespace, name) = (request.operation, request.namespace.clone(), request.name.clone());
    let result = AssertUnwindSafe(async { respond(request).await }).catch_unwind().await;
    let response = match result {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => Response::unreadable(&error),
        Err(_) => {
            Response::failed("the webhook failed on this object: read the log of the webhook".to_owned())
        }
    };
    if let Some(reason) = response.refusal() {
        tracing::info!(?operation, namespace, name, reason, "the webhook refused the request");
    }
    Json(response.into_review(&uid)).into_response()
}
