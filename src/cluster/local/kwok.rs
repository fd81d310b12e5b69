//! KWOK's stages. None makes nodes Ready, because the harness creates Ready nodes ([`crate::nodes`]).

use std::path::Path;

use serde_json::Value;

const STAGES: &str = include_str!("kwok-stages.yaml");

pub(super) fn stages(further: &[Value]) -> String {
    // JSON is valid YAML.
    let further = further.iter().map(|stage| format!("---\n{stage}\n"));
    std::iter::once(STAGES.to_owned()).chain(further).collect()
}

pub(super) fn args(kubeconfig: &Path, stages: &Path, port: u16) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--config={}", stages.display()),
        "--manage-all-nodes=true".into(),
        format!("--server-address=127.0.0.1:{port}"),
        "--node-lease-duration-seconds=0".into(),
    ]
}
