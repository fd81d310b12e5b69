//! Runs work in async code that blocks its thread for several milliseconds, such as hashing a program.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Moves the other tasks of this thread to another thread, unless the runtime of a test has only one.
pub fn in_place<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
