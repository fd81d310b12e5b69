use std::sync::Arc;

use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST,
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;

use crate::body::{Body, full};
use crate::error::Lost;
use crate::patch::{NO_PATCH, Patch};
use crate::rule::Action;
use crate::rules::{Phase, Rules, Step};
use crate::status::refusal;
use crate::target::{Target, Verb};
use crate::upstream::Upstream;
use crate::watching;

/// Headers that apply to a single connection.
const OF_THE_CONNECTION: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

const JSON: &str = "application/json";
/// Reported for a changed request that is rejected as invalid: it tests the API server, not the program.
const INVALID: &str = "the API server calls the changed request invalid";

#[derive(Debug)]
pub(crate) struct Forward {
    pub rules: Arc<Rules>,
    pub upstream: Upstream,
}

impl Forward {
    pub(crate) async fn serve(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Body>, Lost> {
        let (mut parts, body) = request.into_parts();
        let mut target = Target::of(&parts.method, &parts.uri);
        if parts.headers.contains_key(UPGRADE) || parts.method == Method::CONNECT {
            return Ok(refusal(501, None, "the fault proxy passes no upgrade", &target));
        }
        let mut body = collected(body).await?;
        if target.verb == Verb::Create && target.name.is_none() && is_json(&parts.headers) {
            target.name = serde_json::from_slice::<Named>(&body).ok().and_then(|named| named.metadata.name);
        }
        if target.verb.is_write() && self.rules.halted().await {
            return Err(Lost::by_rule());
        }
        let steps = self.rules.on_request(&target, &body);
        let mut rewriting = Vec::new();
        for step in &steps {
            match &step.action {
                Action::Notify => self.rules.apply(step, &target, None),
                Action::Delay { milliseconds } => {
                    self.rules.apply(step, &target, None);
                    tokio::time::sleep(std::time::Duration::from_millis(*milliseconds)).await;
                }
                Action::Hold => {
                    self.rules.apply(step, &target, None);
                    if self.rules.ended(step.id).await == Phase::Abandoned {
                        return Err(Lost::by_rule());
                    }
                }
                Action::Drop => {
                    self.rules.apply(step, &target, None);
                    return Err(Lost::by_rule());
                }
                Action::Refuse { code, retry_after_seconds } => {
                    self.rules.apply(step, &target, None);
                    return Ok(refusal(*code, *retry_after_seconds, "refused by a fault rule", &target));
                }
                Action::RewriteRequest(patch) => match patched(&body, patch) {
                    Ok(changed) => {
                        body = changed;
                        rewriting.push(step);
                    }
                    Err(why) => self.rules.skip(step, &target, why),
                },
                // The other actions apply to the response.
                _ => {}
            }
        }
        let looks_inside = self.rules.looks_into(&target);
        prepare(&mut parts.headers, looks_inside);
        let answer = self.upstream.send(&parts, parts.headers.clone(), body.clone()).await;
        let mut answer = answer.inspect_err(|lost| tracing::debug!(%lost, "no response"))?;
        for step in rewriting {
            match answer.status() {
                StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
                    self.rules.skip(step, &target, INVALID)
                }
                _ => self.rules.apply(step, &target, None),
            }
        }
        for header in OF_THE_CONNECTION {
            answer.headers_mut().remove(header);
        }
        let answer = self.after(&steps, &target, &parts, &body, answer).await?;
        if target.verb == Verb::Watch && answer.status().is_success() {
            let is_encoded = answer.headers().contains_key(CONTENT_ENCODING);
            let is_json = is_json(answer.headers()) && !is_encoded;
            return Ok(answer.map(|body| watching::body(body, is_json, target, self.rules.clone())));
        }
        if looks_inside && answer.status().is_success() && is_json(answer.headers()) {
            return self.rewritten(&target, answer).await;
        }
        Ok(answer)
    }

    /// Applies the steps that need the response: sends the request again, or loses the response.
    async fn after(
        &self,
        steps: &[Step],
        target: &Target,
        parts: &http::request::Parts,
        body: &Bytes,
        answer: Response<Incoming>,
    ) -> Result<Response<Body>, Lost> {
        let is_due =
            |step: &&Step| matches!(step.action, Action::Duplicate | Action::LoseAnswer | Action::Halt);
        let mut due = steps.iter().filter(is_due).peekable();
        if due.peek().is_none() {
            return Ok(answer.map(|body| body.map_err(|error| Lost(error.to_string())).boxed_unsync()));
        }
        // The body of a watch never ends, so only its head is held or lost.
        let (head, rest) = answer.into_parts();
        let whole = if target.verb == Verb::Watch { Bytes::new() } else { collected(rest).await? };
        for step in due {
            if step.action == Action::Duplicate {
                // The program gets the first response, regardless of the second one.
                if let Ok(second) = self.upstream.send(parts, parts.headers.clone(), body.clone()).await {
                    let _ = collected(second.into_body()).await;
                }
                self.rules.apply(step, target, None);
                continue;
            }
            self.rules.apply(step, target, None);
            if step.action == Action::Halt {
                self.rules.ended(step.id).await;
            }
            return Err(Lost::by_rule());
        }
        Ok(Response::from_parts(head, full(whole)))
    }

    async fn rewritten(&self, target: &Target, answer: Response<Body>) -> Result<Response<Body>, Lost> {
        let (mut head, body) = answer.into_parts();
        let bytes = body.collect().await?.to_bytes();
        let Ok(mut document) = serde_json::from_slice::<Value>(&bytes) else {
            return Ok(Response::from_parts(head, full(bytes)));
        };
        let mut is_changed = false;
        let objects = match document.get_mut("items") {
            Some(Value::Array(items)) => items.iter_mut().collect(),
            _ => vec![&mut document],
        };
        for object in objects {
            for step in self.rules.on_object(target, object) {
                is_changed |= self.rules.rewrite(&step, target, object);
            }
        }
        if !is_changed {
            return Ok(Response::from_parts(head, full(bytes)));
        }
        head.headers.remove(CONTENT_LENGTH);
        Ok(Response::from_parts(head, full(document.to_string())))
    }
}

fn patched(body: &Bytes, patch: &Patch) -> Result<Bytes, &'static str> {
    let mut object: Value = serde_json::from_slice(body).map_err(|_| "the body is not JSON")?;
    if patch.apply(&mut object) { Ok(object.to_string().into()) } else { Err(NO_PATCH) }
}

async fn collected(body: Incoming) -> Result<Bytes, Lost> {
    body.collect().await.map(|whole| whole.to_bytes()).map_err(|error| Lost(error.to_string()))
}

fn is_json(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(JSON.as_bytes()))
}

/// Prepares the headers for the API server. With `looks_inside`, they request JSON without compression.
fn prepare(headers: &mut HeaderMap, looks_inside: bool) {
    for header in OF_THE_CONNECTION.iter().chain(&[HOST, CONTENT_LENGTH]) {
        headers.remove(header);
    }
    if !looks_inside {
        return;
    }
    headers.remove(ACCEPT_ENCODING);
    let accepts = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or(JSON);
    if let Ok(json) = HeaderValue::from_str(&as_json(accepts)) {
        headers.insert(ACCEPT, json);
    }
}

/// Replaces each accepted media type with JSON, and keeps parameters such as `;as=Table`.
fn as_json(accepts: &str) -> String {
    let mut kinds: Vec<String> = Vec::new();
    for accepted in accepts.split(',') {
        let mut kind = JSON.to_owned();
        for parameter in accepted.split(';').skip(1) {
            let name = parameter.trim();
            // `type=` names a protobuf message, and JSON watches need no `stream=`.
            if !name.is_empty() && !name.starts_with("type=") && !name.starts_with("stream=") {
                kind.push(';');
                kind.push_str(parameter);
            }
        }
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.join(",")
}

#[derive(serde::Deserialize)]
struct Named {
    metadata: Metadata,
}

#[derive(serde::Deserialize)]
struct Metadata {
    name: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("application/vnd.kubernetes.protobuf,application/json", "application/json")]
    #[case("application/vnd.kubernetes.protobuf;stream=watch", "application/json")]
    #[case(
        "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
    )]
    #[case("application/json", "application/json")]
    fn every_accepted_type_is_replaced_by_json(#[case] accepts: &str, #[case] wanted: &str) {
        assert_eq!(as_json(accepts), wanted);
    }
}
