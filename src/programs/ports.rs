//! Reserves loopback ports, below the ephemeral range of outgoing connections. A file lock reserves each
//! until the cluster is deleted: a server of another cluster could receive the writes of this one's clients.

use std::fs::File;
use std::net::TcpListener;
use std::ops::Range;
use std::path::PathBuf;

use crate::{ProgramError, home};

#[derive(Debug)]
pub struct Port {
    pub number: u16,
    _lock: File,
}

fn folder() -> PathBuf {
    home::state().join("ports")
}

const OUTGOING: &str = "/proc/sys/net/ipv4/ip_local_port_range";
/// The kernel's default start of the ephemeral range.
const DEFAULT_BEGIN: u16 = 32_768;
/// How many ports below the ephemeral range are candidates. Ports below 1024 need privileges.
const WIDTH: u16 = 12_000;

/// The candidate ports, or only 0 (the kernel chooses) if outgoing connections may use every port.
fn range() -> Range<u16> {
    let text = std::fs::read_to_string(OUTGOING).unwrap_or_default();
    let begin = text.split_whitespace().next().and_then(|begin| begin.parse().ok()).unwrap_or(DEFAULT_BEGIN);
    below(begin)
}

fn below(begin: u16) -> Range<u16> {
    let first = begin.saturating_sub(WIDTH).max(1024);
    if first < begin { first..begin } else { 0..1 }
}

pub fn reserve() -> Result<Port, ProgramError> {
    home::create_folder(&folder())?;
    let mut last = String::from("every port tried was reserved by another cluster");
    for _ in 0..50 {
        let wanted = fastrand::u16(range());
        let number = match TcpListener::bind(("127.0.0.1", wanted)).and_then(|socket| socket.local_addr()) {
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
    Err(ProgramError::Ports(last))
}

pub(crate) fn check() -> Result<String, ProgramError> {
    reserve().map(|port| format!("127.0.0.1:{} is free", port.number))
}

#[cfg(test)]
mod tests {
    #[test]
    fn reserved_ports_differ() {
        let ports: Vec<_> = (0..20).map(|_| super::reserve().expect("ports are free")).collect();
        let numbers: std::collections::BTreeSet<_> = ports.iter().map(|port| port.number).collect();
        assert_eq!(numbers.len(), 20);
        let range = super::range();
        assert!(range.end == 1 || numbers.iter().all(|number| range.contains(number)), "{numbers:?}");
    }

    #[rstest::rstest]
    #[case::usual(32_768, 20_768..32_768)]
    #[case::wide(2_000, 1_024..2_000)]
    #[case::everything(1_024, 0..1)]
    fn ports_are_below_those_of_outgoing_connections(
        #[case] begin: u16,
        #[case] ports: std::ops::Range<u16>,
    ) {
        assert_eq!(super::below(begin), ports);
    }
}
