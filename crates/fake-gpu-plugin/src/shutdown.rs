//! How the process and its parts are told to shut down.
//!
//! The process gets a signal; its parts share a flag that turns true once and stays so.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Returns once `stop` says true, or its sender is gone.
pub(crate) async fn told(mut stop: watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Returns once the process has got SIGTERM or SIGINT.
pub(crate) async fn told_to_end() {
    match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
        (Ok(mut terminate), Ok(mut interrupt)) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }
        _ => std::future::pending().await,
    }
}
