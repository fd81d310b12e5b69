//! `/healthz` succeeds while the process runs, `/readyz` while the plugin is registered with the kubelet.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::shutdown::stop_requested;

#[derive(Debug, thiserror::Error)]
#[error("cannot serve health at {address}: {source}")]
pub struct HealthError {
    address: SocketAddr,
    source: std::io::Error,
}

pub(crate) async fn serve(
    address: SocketAddr,
    registered: watch::Receiver<bool>,
    stop: watch::Receiver<bool>,
) -> Result<(), HealthError> {
    let failed = |source| HealthError { address, source };
    let router = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .with_state(registered);
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    axum::serve(listener, router).with_graceful_shutdown(stop_requested(stop)).await.map_err(failed)
}

async fn readyz(State(registered): State<watch::Receiver<bool>>) -> (StatusCode, &'static str) {
    let registered = *registered.borrow();
    match registered {
        true => (StatusCode::OK, "registered with the kubelet\n"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "not registered with the kubelet\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn ready_only_while_registered() {
        let (register, registered) = watch::channel(false);
        assert_eq!(readyz(State(registered.clone())).await.0, StatusCode::SERVICE_UNAVAILABLE);
        register.send_replace(true);
        assert_eq!(readyz(State(registered.clone())).await.0, StatusCode::OK);
        register.send_replace(false);
        assert_eq!(readyz(State(registered)).await.0, StatusCode::SERVICE_UNAVAILABLE);
    }
}
