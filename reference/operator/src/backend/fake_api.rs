//! A fake API server without schemas and resourceVersions. A patch changes no object.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower_test::mock;

/// The writes in order, each as `VERB path` and body.
type Writes = Arc<Mutex<Vec<(String, Value)>>>;

pub(super) struct FakeApi {
    pub client: Client,
    writes: Writes,
}

impl FakeApi {
    /// Objects by path, such as `/apis/g/v1/namespaces/ns/things/name`. Requires a tokio runtime.
    pub(super) fn with_objects<'a>(objects: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let (service, mut handle) = mock::pair::<Request<Body>, Response<Body>>();
        let objects = objects.into_iter().map(|(path, object)| (path.to_owned(), object));
        let objects: BTreeMap<_, _> = objects.collect();
        let writes = Writes::default();
        let written = Arc::clone(&writes);
        tokio::spawn(async move {
            while let Some((request, send)) = handle.next_request().await {
                let (method, path) = (request.method().clone(), request.uri().path().to_owned());
                let body = request.into_body().collect_bytes().await.unwrap();
                let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
                let named = match method {
                    Method::POST => format!("{path}/{}", body["metadata"]["name"].as_str().unwrap()),
                    _ => path.clone(),
                };
                let (code, answer) = match (&method, objects.get(&named)) {
                    (&Method::POST, None) => (201, body.clone()),
                    (&Method::POST, Some(_)) => failure(409, "AlreadyExists"),
                    (_, Some(object)) => (200, object.clone()),
                    (_, None) => failure(404, "NotFound"),
                };
                if method != Method::GET {
                    written.lock().unwrap().push((format!("{method} {path}"), body));
                }
                let answer = Body::from(serde_json::to_vec(&answer).unwrap());
                send.send_response(Response::builder().status(code).body(answer).unwrap());
            }
        });
        Self { client: Client::new(service, "default"), writes }
    }

    pub(super) fn written(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut *self.writes.lock().unwrap())
    }
}

fn failure(code: u16, reason: &str) -> (u16, Value) {
    (code, json!({"kind": "Status", "status": "Failure", "reason": reason, "code": code}))
}
