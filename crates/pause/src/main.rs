//! A container that does nothing until it is told to end: the pod sandbox and the workload of kind clusters whose images
//! come from no registry. As first process of a pod it would have to reap orphans only in a shared process namespace,
//! which nothing here asks for.

use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    // First processes get no default handlers: without these two they would sit through their grace period.
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
