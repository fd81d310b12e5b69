use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use serde_json::Value;

use super::ClusterError;

/// Label of the roles and bindings that the API server creates when it starts.
const BOOTSTRAP: &str = "kubernetes.io/bootstrapping=rbac-defaults";
const GROUPS: [&str; 2] = ["system:authenticated", "system:serviceaccounts"];

/// Reads the rules that every service account has, before an operator is installed, which may change them.
pub async fn read(client: &Client) -> Result<Vec<Value>, ClusterError> {
    let bootstrap = ListParams::default().labels(BOOTSTRAP);
    let bindings = Api::<ClusterRoleBinding>::all(client.clone()).list(&bootstrap).await;
    let bindings = bindings.map_err(ClusterError::during("list ClusterRoleBindings"))?;
    let mut bound = BTreeSet::new();
    for binding in bindings {
        let mut subjects = binding.subjects.iter().flatten();
        if subjects.any(|subject| subject.kind == "Group" && GROUPS.contains(&subject.name.as_str())) {
            bound.insert(binding.role_ref.name);
        }
    }
    let roles = Api::<ClusterRole>::all(client.clone()).list(&bootstrap).await;
    let roles = roles.map_err(ClusterError::during("list ClusterRoles"))?;
    let mut rules = Vec::new();
    for role in roles.into_iter().filter(|role| bound.contains(&role.name_any())) {
        rules.extend(role.rules.into_iter().flatten().map(|rule| serde_json::json!(rule)));
    }
    Ok(rules)
}
