use std::path::Path;

use conformance_install::cluster_spec::ControllerSpec;

use super::certs::KeyFiles;

#[derive(Debug, Clone, Copy)]
pub(super) struct ControllerPorts {
    pub webhook: u16,
    pub health: u16,
    pub metrics: u16,
}

pub(super) fn args(
    kubeconfig: &Path,
    configuration: &Path,
    ports: ControllerPorts,
    serving: &KeyFiles,
    spec: &ControllerSpec,
) -> Vec<String> {
    let mut args = vec![
        "run".into(),
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--config={}", configuration.display()),
        format!("--webhook-bind=127.0.0.1:{}", ports.webhook),
        format!("--health-bind=127.0.0.1:{}", ports.health),
        format!("--metrics-bind=127.0.0.1:{}", ports.metrics),
        format!("--tls-cert={}", serving.certificate.display()),
        format!("--tls-key={}", serving.key.display()),
    ];
    if spec.leader_election {
        args.push("--leader-elect".into());
    }
    args.extend(spec.faults.iter().map(|fault| format!("--fault={fault}")));
    args
}
