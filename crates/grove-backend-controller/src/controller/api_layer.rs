//! A layer around every request to the API server: counts writes, and carries the fault that ends the process
//! after the n-th (AON-13).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Method, Request, Response};
use tower::{Layer, Service};

use super::faults::ExitAfterWrite;
use super::metrics::Metrics;

/// Exit code after the last allowed write.
const EXIT_CODE: i32 = 70;

/// Makes [`ObservedApi`]s.
#[derive(Clone)]
pub(super) struct ApiLayer {
    metrics: Metrics,
    exit: Option<Arc<ExitAfterWrite>>,
    writes: Arc<AtomicUsize>,
}

impl ApiLayer {
    /// A layer that counts into `metrics`.
    pub(super) fn new(metrics: Metrics, exit: Option<ExitAfterWrite>) -> Self {
        Self { metrics, exit: exit.map(Arc::new), writes: Arc::default() }
    }
}

impl<S> Layer<S> for ApiLayer {
    type Service = ObservedApi<S>;

    fn layer(&self, inner: S) -> ObservedApi<S> {
        ObservedApi { inner, layer: self.clone() }
    }
}

/// The API server, observed.
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
        let target = Target::of(request.uri().path());
        let exits =
            self.layer.exit.as_ref().filter(|exit| target.namespace.as_deref() == Some(&exit.namespace));
        let place = exits.map(|exit| (exit.count, self.layer.writes.fetch_add(1, Ordering::SeqCst) + 1));
        if place.is_some_and(|(count, this)| this > count) {
            // The process is about to end; no later write may slip out before.
            return Box::pin(std::future::pending());
        }
        let (answer, metrics) = (self.inner.call(request), self.layer.metrics.clone());
        Box::pin(async move {
            let answer = answer.await;
            let code = answer.as_ref().map_or(0, |response| response.status().as_u16());
            metrics.wrote(method.as_str(), &target.resource, code);
            if place.is_some_and(|(count, this)| this == count) {
                tracing::error!(resource = target.resource, "fault: exiting after a write");
                std::process::exit(EXIT_CODE);
            }
            answer
        })
    }
}

/// What a request path is about.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    namespace: Option<String>,
    /// Plural, with its subresource if it has one: `pods`, `podgangs/status`.
    resource: String,
}

impl Target {
    /// `/api/v1/namespaces/NS/pods/NAME/status` and the like.
    fn of(path: &str) -> Self {
        let mut parts = path.trim_matches('/').split('/');
        let prefix = if parts.next() == Some("api") { 1 } else { 2 };
        let mut parts = parts.skip(prefix).peekable();
        let mut namespace = None;
        if parts.peek() == Some(&"namespaces") {
            parts.next();
            namespace = parts.next().map(str::to_owned);
        }
        let resource = parts.next().unwrap_or("namespaces").to_owned();
        let subresource = parts.nth(1).map(|subresource| format!("{resource}/{subresource}"));
        Self { namespace, resource: subresource.unwrap_or(resource) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("/api/v1/namespaces/ns/pods", Some("ns"), "pods")]
    #[case("/api/v1/namespaces/ns/pods/p/binding", Some("ns"), "pods/binding")]
    #[case("/apis/grove.io/v1alpha1/namespaces/ns/podcliques/c/status", Some("ns"), "podcliques/status")]
    #[case("/apis/grove.io/v1alpha1/clustertopologybindings/t", None, "clustertopologybindings")]
    fn request_paths(#[case] path: &str, #[case] namespace: Option<&str>, #[case] resource: &str) {
        let target = Target { namespace: namespace.map(str::to_owned), resource: resource.to_owned() };
        assert_eq!(Target::of(path), target);
    }

    #[tokio::test]
    async fn no_write_slips_out_after_the_last() {
        let exit = ExitAfterWrite { count: 1, namespace: "ns".into() };
        let layer = ApiLayer::new(Metrics::default(), Some(exit));
        let mut api = layer.layer(tower::service_fn(|_: Request<()>| async {
            std::future::pending::<()>().await;
            Ok::<_, std::convert::Infallible>(Response::new(()))
        }));
        let post = |path: &str| Request::post(path).body(()).unwrap();
        let _last = api.call(post("/api/v1/namespaces/ns/pods"));
        let later = api.call(post("/api/v1/namespaces/ns/pods"));
        assert!(futures::poll!(later).is_pending());
        let elsewhere = layer.layer(tower::service_fn(|_: Request<()>| async {
            Ok::<_, std::convert::Infallible>(Response::new(()))
        }));
        let mut elsewhere = elsewhere;
        assert!(elsewhere.call(post("/api/v1/namespaces/other/pods")).await.is_ok());
    }
}
