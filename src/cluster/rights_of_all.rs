//! The rights that Kubernetes itself grants to every service account.

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use serde_json::Value;

use super::ClusterError;

/// Label of the roles and bindings that the API server creates when it starts.
const BOOTSTRAP: &str = "kubernetes.io/bootstrapping=rbac-defaults";
/// The groups of every service account.
const GROUPS: [&str; 2] = ["system:authenticated", "system:serviceaccounts"];

/// The rules of the bootstrap roles that are bound to groups of every service account. Read before an
/// operator is installed, because an operator may change such a role.
pub async fn read(client: &Client) -> Result<Vec<Value>, ClusterError> {
    let bootstrap = ListParams::default().labels(BOOTSTRAP);
    let bindings = Api::<ClusterRoleBinding>::all(client.clone()).list(&bootstrap).await;
    let bindings = bindings.map_err(|source| ClusterError::api("list ClusterRoleBindings", source))?;
    let of_all: BTreeSet<String> = bindings
        .into_iter()
        .filter(|binding| {
            let mut subjects = binding.subjects.iter().flatten();
            subjects.any(|subject| subject.kind == "Group" && GROUPS.contains(&subject.name.as_str()))
        })
        .map(|binding| binding.role_ref.name)
        .collect();
    let roles = Api::<ClusterRole>::all(client.clone()).list(&bootstrap).await;
    let roles = roles.map_err(|source| ClusterError::api("list ClusterRoles", source))?;
    let granted = roles.into_iter().filter(|role| of_all.contains(&role.name_any()));
    Ok(granted.flat_map(|role| role.rules.unwrap_or_default()).map(|rule| serde_json::json!(rule)).collect())
}
