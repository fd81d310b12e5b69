//! From the body of a request to the answer.
//!
//! No failure admits anything: a body that is not a review is a 400, which with failurePolicy `Fail` refuses the
//! object, and a lookup that fails or a rule that panics becomes a refusal with code 500.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response as HttpResponse};
use futures::FutureExt;

use crate::{Request, Response};

/// The largest body: an update carries the object twice, and etcd takes 1.5 MiB of each.
pub const REVIEW_LIMIT: usize = 8 << 20;

/// Answers the review in `body` with what `judge` makes of its request.
pub async fn answer<J, F>(body: impl AsRef<[u8]>, judge: J) -> HttpResponse
where
    J: FnOnce(Request) -> F,
    F: Future<Output = serde_json::Result<Response>>,
{
    let request = match Request::from_body(body.as_ref()) {
        Ok(request) => request,
        Err(error) => return (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    };
    let uid = request.uid.clone();
    let (operation, namespace, name) = (request.operation, request.namespace.clone(), request.name.clone());
    let judged = AssertUnwindSafe(async { judge(request).await }).catch_unwind().await;
    let response = match judged {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => Response::unreadable(&error),
        Err(_) => Response::failed("admission failed on this object; see the log of the webhook".to_owned()),
    };
    if let Some(reason) = response.refusal() {
        tracing::info!(?operation, namespace, name, reason, "refused");
    }
    Json(response.into_review(&uid)).into_response()
}
