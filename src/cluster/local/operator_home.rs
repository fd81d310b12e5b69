use std::path::Path;

use conformance_install::cluster_spec::ClusterSpec;
use conformance_install::operator::{Operator, OperatorHome};
use conformance_programs::home;

use super::certs::{Authority, CONTROLLER, Identity};
use super::controller::ControllerPorts;
use crate::ClusterError;

pub(super) fn create(
    operator: &Operator,
    file: &str,
    authority: &Authority,
    server: &str,
    folder: &Path,
    ports: ControllerPorts,
) -> Result<OperatorHome, ClusterError> {
    let group = match &operator.description.identity {
        Some(identity) => identity.group.as_deref(),
        None => Some("system:masters"),
    };
    let identity = Identity { file, user: user(operator), group };
    let serving = authority.serving(file, &[])?;
    let folder = folder.join(file);
    home::create_folder(&folder)?;
    Ok(OperatorHome {
        kubeconfig: authority.kubeconfig(identity, server)?,
        certificates: [serving.certificate, serving.key, authority.bundle_file()],
        ca_bundle: authority.bundle(),
        folder,
        webhook: ports.webhook,
        health: ports.health,
        metrics: ports.metrics,
    })
}

fn user(operator: &Operator) -> &str {
    let identity = operator.description.identity.as_ref();
    identity.map_or(&operator.description.name, |identity| &identity.user)
}

pub(super) fn users(spec: &ClusterSpec) -> Vec<String> {
    let upgrade = spec.upgrade.iter().flat_map(|upgrade| upgrade.from.iter().chain(&upgrade.to));
    let mut users: Vec<_> =
        spec.operator.iter().chain(upgrade).map(|operator| user(operator).to_owned()).collect();
    users.push(CONTROLLER.user.to_owned());
    users
}
