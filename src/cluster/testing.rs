use http::{Method, Request, Response, Uri};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tower_test::mock;

/// An API server that `answer` implements: status code and body. The third argument is the request body.
pub(crate) fn api_server(
    mut answer: impl FnMut(&Method, &Uri, Value) -> (u16, Value) + Send + 'static,
) -> Client {
    let (service, mut handle) = mock::pair::<Request<Body>, Response<Body>>();
    tokio::spawn(async move {
        while let Some((request, send)) = handle.next_request().await {
            let (head, body) = request.into_parts();
            let raw = body.collect_bytes().await.unwrap();
            let body = serde_json::from_slice(&raw).unwrap_or_default();
            let (code, body) = answer(&head.method, &head.uri, body);
            let body = Body::from(body.to_string().into_bytes());
            send.send_response(Response::builder().status(code).body(body).unwrap());
        }
    });
    Client::new(service, "default")
}
