//! The HTTP servers: webhooks over TLS, health and metrics in plain text.
//!
//! `/healthz` reports that the process is alive. `/readyz` reports that the caches are complete and webhooks can
//! answer, including their certificate if the controller maintains it itself; its text lists what each backend
//! lacks. A backend without its scheduler's API does not make the controller unready, because the others continue
//! (ADM-10).

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::metrics::Metrics;
use crate::backend::Registry;

/// How long requests in flight may take when the process ends.
const GRACE: Duration = Duration::from_secs(2);
/// What the server with TLS serves.
const WEBHOOKS: &str = "webhooks";

/// What `/readyz` tells.
#[derive(Clone)]
pub(super) struct Readiness {
    /// The backends.
    pub registry: Registry,
    /// Whether the caches are complete.
    pub ready: watch::Receiver<bool>,
    /// Whether the webhooks' certificate is served and known; if not, why. None where it comes from files.
    pub certificates: Option<watch::Receiver<Result<(), String>>>,
}

/// A server that could not start or has failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot serve {what} at {address}: {source}")]
pub struct ServerError {
    what: &'static str,
    address: SocketAddr,
    source: std::io::Error,
}

/// Returns once `stop` says true, or its sender is gone.
pub(super) async fn told(mut stop: watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// `/healthz` and `/readyz`.
pub(super) fn health(readiness: Readiness) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .with_state(readiness)
}

/// `/metrics`.
pub(super) fn metrics(metrics: Metrics) -> Router {
    let text = |State(metrics): State<Metrics>| async move {
        metrics.text().map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
    };
    Router::new().route("/metrics", get(text)).with_state(metrics)
}

async fn readyz(State(readiness): State<Readiness>) -> (StatusCode, String) {
    let ready = *readiness.ready.borrow();
    let certificates = readiness.certificates.as_ref().map(|state| state.borrow().clone());
    let mut text = String::new();
    let mut line = |good: bool, what: &str, detail: &str| {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "[{}]{what} {detail}", if good { '+' } else { '-' });
    };
    line(ready, "caches", if ready { "complete" } else { "not complete yet" });
    if let Some(state) = &certificates {
        let detail = state.as_ref().err().map_or("served, and their authority known", |reason| reason);
        line(state.is_ok(), "certificates", detail);
    }
    // Together, so that the probe takes no longer than the slowest of them.
    let backends =
        readiness.registry.iter().map(|backend| async { (backend.name(), backend.readiness().await) });
    for (name, found) in futures::future::join_all(backends).await {
        line(
            found.is_ok(),
            &format!("backend {name}"),
            found.as_ref().err().map_or("ready", |reason| reason),
        );
    }
    let ready = ready && certificates.is_none_or(|state| state.is_ok());
    (if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, text)
}

/// Serves `router` at `address` until `stop` says true.
///
/// # Errors
/// The address is taken, or the server failed.
pub(super) async fn serve(
    what: &'static str,
    address: SocketAddr,
    router: Router,
    stop: watch::Receiver<bool>,
) -> Result<(), ServerError> {
    let failed = |source| ServerError { what, address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    axum::serve(listener, router).with_graceful_shutdown(told(stop)).await.map_err(failed)
}

/// The certificate and key in files, for the webhooks at `address`.
///
/// # Errors
/// The certificate or key is no good.
pub(super) async fn tls_of_files(
    address: SocketAddr,
    certificate: &Path,
    key: &Path,
) -> Result<RustlsConfig, ServerError> {
    let failed = |source| ServerError { what: WEBHOOKS, address, source };
    RustlsConfig::from_pem_file(certificate, key).await.map_err(failed)
}

/// Serves the webhooks `router` over TLS at `address` until `stop` says true.
///
/// # Errors
/// The address is taken, or the server failed.
pub(super) async fn serve_tls(
    address: SocketAddr,
    tls: RustlsConfig,
    router: Router,
    stop: watch::Receiver<bool>,
) -> Result<(), ServerError> {
    let failed = |source| ServerError { what: WEBHOOKS, address, source };
    let handle = Handle::new();
    let stopping = Arc::new(handle.clone());
    tokio::spawn(async move {
        told(stop).await;
        stopping.graceful_shutdown(Some(GRACE));
    });
    axum_server::bind_rustls(address, tls)
        .handle(handle)
        .serve(router.into_make_service())
        .await
        .map_err(failed)
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use rstest::rstest;
    use tower::ServiceExt;

    use super::*;
    use crate::controller::admission::fixture::{FakeBackend, cluster};

    async fn asked(caches: bool, certificates: Option<Result<(), String>>) -> (StatusCode, String) {
        let (_ready, ready) = watch::channel(caches);
        // A state that is not sent any more stays.
        let certificates = certificates.map(|state| watch::channel(state).1);
        let registry = cluster(vec![FakeBackend::ready("fake")]).registry;
        let request = Request::get("/readyz").body(Body::empty()).unwrap();
        let router = health(Readiness { registry, ready, certificates });
        let response = router.oneshot(request).await.unwrap();
        let status = response.status();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[rstest]
    #[case::of_files(true, None, StatusCode::OK, None)]
    #[case::kept(true, Some(Ok(())), StatusCode::OK, Some("[+]certificates served"))]
    #[case::not_yet(
        true,
        Some(Err("no certificate yet")),
        StatusCode::SERVICE_UNAVAILABLE,
        Some("[-]certificates no certificate yet")
    )]
    #[case::no_caches(false, Some(Ok(())), StatusCode::SERVICE_UNAVAILABLE, Some("[+]certificates served"))]
    #[tokio::test]
    async fn readiness(
        #[case] caches: bool,
        #[case] certificates: Option<Result<(), &str>>,
        #[case] status: StatusCode,
        #[case] line: Option<&str>,
    ) {
        let certificates = certificates.map(|state| state.map_err(str::to_owned));
        let (answered, text) = asked(caches, certificates).await;
        assert_eq!(answered, status, "{text}");
        let told = text.lines().find(|line| line.contains("certificates"));
        assert_eq!(told.is_some(), line.is_some(), "{text}");
        assert!(line.is_none_or(|line| text.contains(line)), "{text}");
    }
}
