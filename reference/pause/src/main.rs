//! A container that waits until it is terminated. kind clusters without a registry use it as pod sandbox and
//! as workload. It does not reap orphaned processes, which is needed only in a shared process namespace.

use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    // The kernel ignores SIGTERM for PID 1 without a handler.
    match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
        (Ok(mut terminate), Ok(mut interrupt)) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            ExitCode::SUCCESS
        }
        _ => ExitCode::FAILURE,
    }
}
