//! The HTTP sides: webhooks over TLS, health and metrics in the clear.
//!
//! `/healthz` says that the process lives. `/readyz` says that the caches are complete and webhooks can
//! answer, and tells in its text what each backend misses; a backend without its scheduler's API does not
//! make the controller unready, the others go on (ADM-10).

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

/// What `/readyz` tells.
#[derive(Clone)]
pub struct Readiness {
    /// The backends.
    pub registry: Registry,
    /// Whether the caches are complete.
    pub ready: watch::Receiver<bool>,
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
pub async fn told(mut stop: watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// `/healthz` and `/readyz`.
pub fn health(readiness: Readiness) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .with_state(readiness)
}

/// `/metrics`.
pub fn metrics(metrics: Metrics) -> Router {
    let text = |State(metrics): State<Metrics>| async move {
        metrics.text().map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
    };
    Router::new().route("/metrics", get(text)).with_state(metrics)
}

async fn readyz(State(readiness): State<Readiness>) -> (StatusCode, String) {
    let ready = *readiness.ready.borrow();
    let mut text = String::new();
    let mut line = |good: bool, what: &str, detail: &str| {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "[{}]{what} {detail}", if good { '+' } else { '-' });
    };
    line(ready, "caches", if ready { "complete" } else { "not complete yet" });
    for backend in readiness.registry.iter() {
        let found = backend.readiness().await;
        line(
            found.is_ok(),
            &format!("backend {}", backend.name()),
            found.as_ref().err().map_or("ready", |reason| reason),
        );
    }
    (if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, text)
}

/// Serves `router` at `address` until `stop` says true.
///
/// # Errors
/// The address is taken, or the server failed.
pub async fn serve(
    what: &'static str,
    address: SocketAddr,
    router: Router,
    stop: watch::Receiver<bool>,
) -> Result<(), ServerError> {
    let failed = |source| ServerError { what, address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    axum::serve(listener, router).with_graceful_shutdown(told(stop)).await.map_err(failed)
}

/// Serves `router` over TLS at `address` until `stop` says true.
///
/// # Errors
/// The certificate or key is no good, the address is taken, or the server failed.
pub async fn serve_tls(
    address: SocketAddr,
    certificate: &Path,
    key: &Path,
    router: Router,
    stop: watch::Receiver<bool>,
) -> Result<(), ServerError> {
    let failed = |source| ServerError { what: "webhooks", address, source };
    let tls = RustlsConfig::from_pem_file(certificate, key).await.map_err(failed)?;
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
