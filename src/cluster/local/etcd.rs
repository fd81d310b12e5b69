//! A single etcd member without TLS or fsync: a power failure may destroy a test cluster's data.

use std::path::Path;

/// The recommended maximum, 8 GiB. The default of 2 GiB is too little for control planes without compaction.
const QUOTA: u64 = 8 << 30;

pub(super) fn args(data: &Path, client_port: u16, peer_port: u16) -> Vec<String> {
    let client = format!("http://127.0.0.1:{client_port}");
    let peer = format!("http://127.0.0.1:{peer_port}");
    vec![
        format!("--data-dir={}", data.display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        "--unsafe-no-fsync".into(),
        format!("--quota-backend-bytes={QUOTA}"),
        // As kubeadm sets it. With the default of 10 min, the API server's watches of quiet kinds cannot resume
        // after a compaction, and every watch of these kinds is then lost.
        "--watch-progress-notify-interval=5s".into(),
        "--log-level=warn".into(),
    ]
}
