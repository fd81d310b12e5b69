use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum_server::Handle;
use axum_server::accept::NoDelayAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const GRACE: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
#[error("cannot serve {what} at {address}: {source}")]
pub struct ServerError {
    what: &'static str,
    address: SocketAddr,
    source: std::io::Error,
}

impl ServerError {
    pub(crate) fn webhooks(address: SocketAddr) -> impl Fn(std::io::Error) -> Self + Copy {
        move |source| Self { what: "webhooks", address, source }
    }
}

/// Completes on SIGTERM or SIGINT. The handlers are installed by the call, even before the future is awaited.
pub fn shutdown_signal() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        match signals {
            (Ok(mut terminate), Ok(mut interrupt)) => {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            }
            _ => std::future::pending().await,
        }
    }
}

pub async fn serve(
    what: &'static str,
    address: SocketAddr,
    router: Router,
    stop: CancellationToken,
) -> Result<(), ServerError> {
    let failed = |source| ServerError { what, address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await.map_err(failed)
}

pub(crate) async fn tls_of_files(
    address: SocketAddr,
    certificate: &Path,
    key: &Path,
) -> Result<RustlsConfig, ServerError> {
    RustlsConfig::from_pem_file(certificate, key).await.map_err(ServerError::webhooks(address))
}

pub async fn serve_tls(
    address: SocketAddr,
    tls: RustlsConfig,
    router: Router,
    stop: CancellationToken,
) -> Result<(), ServerError> {
    let handle = Handle::new();
    let stopping = Arc::new(handle.clone());
    tokio::spawn(async move {
        stop.cancelled().await;
        stopping.graceful_shutdown(Some(GRACE));
    });
    let acceptor = RustlsAcceptor::new(tls).acceptor(NoDelayAcceptor::new());
    axum_server::bind(address)
        .acceptor(acceptor)
        .handle(handle)
        .serve(router.into_make_service())
        .await
        .map_err(ServerError::webhooks(address))
}
