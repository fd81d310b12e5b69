//! How fast this machine is, so that figures of two machines compare.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What `sha256sum` is given.
const BYTES: usize = 2_000_000_000;
const BLOCK: usize = 1 << 20;

/// How long `sha256sum` takes for 2 GB of zeros.
///
/// # Errors
/// It cannot be started, or fails.
pub(super) fn calibrate() -> io::Result<Duration> {
    let begin = Instant::now();
    let mut child = Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    let block = vec![0; BLOCK];
    // The pipe is closed, and with it the input ends, before the wait.
    if let Some(mut input) = child.stdin.take() {
        let mut left = BYTES;
        while left > 0 {
            let length = left.min(BLOCK);
            input.write_all(&block[..length])?;
            left -= length;
        }
    }
    match child.wait()? {
        status if status.success() => Ok(begin.elapsed()),
        status => Err(io::Error::other(format!("sha256sum ended with {status}"))),
    }
}
