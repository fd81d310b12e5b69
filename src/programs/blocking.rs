//! Work that blocks its thread for more than some milliseconds, such as hashing a program, in async code.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Other tasks of this thread move to another one, except in a test's runtime with one thread.
pub fn in_place<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
