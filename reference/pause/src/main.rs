//! A container that waits until it is terminated. kind clusters whose images come from no registry use it as
//! pod sandbox and as workload. It does not reap orphans: the first process of a pod must do so only in a
//! shared process namespace, which these clusters do not use.

use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    // The first process of a container has no default signal handlers. Without these handlers it would run
    // until the end of its grace period.
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
