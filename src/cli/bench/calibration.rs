//! Measures the machine's speed, so that figures of two machines can be compared.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const BYTES: usize = 2_000_000_000;
const BLOCK: usize = 1 << 20;

/// Returns how long `sha256sum` takes for 2 GB of zeros.
pub(super) fn calibrate() -> io::Result<Duration> {
    let begin = Instant::now();
    let mut child = Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    let block = vec![0; BLOCK];
    // Close the pipe before the wait, because sha256sum reads until the input ends.
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
