use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Method, Request, Response};
use tower::{Layer, Service};

use crate::context::metrics::Metrics;

#[derive(Clone)]
pub(super) struct ApiLayer {
    metrics: Metrics,
}

impl ApiLayer {
    pub(super) fn new(metrics: Metrics) -> Self {
        Self { metrics }
    }
}

impl<S> Layer<S> for ApiLayer {
    type Service = ObservedApi<S>;

    fn layer(&self, inner: S) -> ObservedApi<S> {
        ObservedApi { inner, layer: self.clone() }
    }
}

#[derive(Clone)]
pub(super) struct ObservedApi<S> {
    inner: S,
    layer: ApiLayer,
}

impl<S, B, R> Service<Request<B>> for ObservedApi<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    R: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let method = request.method().clone();
        if matches!(method, Method::GET | Method::HEAD) {
            return Box::pin(self.inner.call(request));
        }
        let resource = resource_of(request.uri().path());
        let (response, metrics) = (self.inner.call(request), self.layer.metrics.clone());
        Box::pin(async move {
            let response = response.await;
            let code = response.as_ref().map_or(0, |response| response.status().as_u16());
            metrics.record_write(method.as_str(), &resource, code);
            response
        })
    }
}

/// The plural of the resource, with a subresource: `pods` or `podgangs/status`.
fn resource_of(path: &str) -> String {
    let mut parts = path.trim_matches('/').split('/');
    let prefix = if parts.next() == Some("api") { 1 } else { 2 };
    let mut parts = parts.skip(prefix).peekable();
    if parts.next_if_eq(&"namespaces").is_some() {
        parts.next();
    }
    let resource = parts.next().unwrap_or("namespaces");
    match parts.nth(1) {
        Some(subresource) => format!("{resource}/{subresource}"),
        None => resource.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("/api/v1/namespaces/ns/pods", "pods")]
    #[case("/api/v1/namespaces/ns/pods/p/binding", "pods/binding")]
    #[case("/apis/grove.io/v1alpha1/namespaces/ns/podcliques/c/status", "podcliques/status")]
    #[case("/apis/grove.io/v1alpha1/clustertopologybindings/t", "clustertopologybindings")]
    #[case("/api/v1/namespaces/ns", "namespaces")]
    fn the_resource_of_a_request_path(#[case] path: &str, #[case] resource: &str) {
        assert_eq!(resource_of(path), resource);
    }
}
