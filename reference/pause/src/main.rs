//! A container that waits until it is terminated. kind clusters whose images come from no registry use it as
//! pod sandbox and as workload. It does not reap orphans, which is needed only in a shared process namespace.

use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    // Without these handlers the first process of a container would run until the end of its grace period.
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
