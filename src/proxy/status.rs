use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Value, json};

use crate::body::{Body, full};
use crate::target::Target;

pub(crate) fn status(code: u16, retry_after: Option<u32>, message: &str, target: &Target) -> Value {
    let reason = match code {
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    };
    let mut status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": {"group": target.group, "kind": target.resource.split('/').next()},
        "code": code,
    });
    if let Some(name) = &target.name {
        status["details"]["name"] = name.as_str().into();
    }
    if let Some(seconds) = retry_after {
        status["details"]["retryAfterSeconds"] = seconds.into();
    }
    status
}

pub(crate) fn refusal(code: u16, retry_after: Option<u32>, message: &str, target: &Target) -> Response<Body> {
    let body = status(code, retry_after, message, target).to_string();
    let mut response = Response::new(full(body));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}
