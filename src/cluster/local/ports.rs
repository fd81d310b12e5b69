//! Loopback ports, each reserved by a kernel lock on a file for as long as the cluster lives.
//!
//! Asking the kernel for a free port and using it later leaves a window in which another cluster can get the same
//! one, and a client with the same trust would then write to the wrong cluster. The lock closes the window between
//! clusters of this program; each cluster's own CA closes it towards everything else.

use std::fs::File;
use std::net::TcpListener;
use std::path::PathBuf;

use crate::{ClusterError, home};

/// A reserved port.
#[derive(Debug)]
pub(super) struct Port {
    /// Its number.
    pub number: u16,
    _lock: File,
}

fn folder() -> PathBuf {
    home::state().join("ports")
}

/// Reserves one port.
///
/// # Errors
/// [`ClusterError::Ports`] after 50 tries.
pub(super) fn reserve() -> Result<Port, ClusterError> {
    home::make(&folder())?;
    let mut last = String::from("every port tried was reserved by another cluster");
    for _ in 0..50 {
        let number = match TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr()) {
            Ok(address) => address.port(),
            Err(error) => {
                last = error.to_string();
                continue;
            }
        };
        if let Some(lock) = home::try_lock(&folder().join(number.to_string()))? {
            return Ok(Port { number, _lock: lock });
        }
    }
    Err(ClusterError::Ports(last))
}

/// Whether a port can be reserved at all; it is given back at once.
///
/// # Errors
/// As [`reserve`].
pub(crate) fn reserve_any() -> Result<String, ClusterError> {
    reserve().map(|port| format!("127.0.0.1:{} is free", port.number))
}

#[cfg(test)]
mod tests {
    #[test]
    fn reserved_ports_differ() {
        let ports: Vec<_> = (0..20).map(|_| super::reserve().expect("ports are free")).collect();
        let numbers: std::collections::BTreeSet<_> = ports.iter().map(|port| port.number).collect();
        assert_eq!(numbers.len(), 20);
    }
}
