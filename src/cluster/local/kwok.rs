//! KWOK plays the kubelets: it keeps node leases, runs bound pods and completes the deletion of deleted ones. Nodes
//! are created Ready (see [`crate::nodes`]), so no stage has to make them so.

use std::path::Path;

use serde_json::Value;

/// The stages, written for this suite: a bound pod runs and is ready at once, a deleted one is gone at once.
const STAGES: &str = include_str!("kwok-stages.yaml");

/// Those, and further ones.
pub(super) fn stages(further: &[Value]) -> String {
    // YAML holds JSON.
    let further = further.iter().map(|stage| format!("---\n{stage}\n"));
    std::iter::once(STAGES.to_owned()).chain(further).collect()
}

/// Arguments of `kwok`.
pub(super) fn args(kubeconfig: &Path, stages: &Path, port: u16) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--config={}", stages.display()),
        "--manage-all-nodes=true".into(),
        format!("--server-address=127.0.0.1:{port}"),
        "--node-lease-duration-seconds=0".into(),
    ]
}
