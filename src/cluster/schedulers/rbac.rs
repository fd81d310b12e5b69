//! The rights of a scheduler's users: it reads everything, binds and evicts pods, and writes only its own API groups
//! beside. Narrow enough that one scheduler cannot touch another's resources, and the same for all of them.

use serde_json::{Value, json};

/// A ClusterRole for `users`, who own `api_groups`, and its binding.
pub fn objects(name: &str, users: &[&str], api_groups: &[&str]) -> Vec<Value> {
    let subjects: Vec<_> = users
        .iter()
        .map(|user| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}))
        .collect();
    objects_for(name, &subjects, api_groups)
}

/// The same for these subjects of a ClusterRoleBinding.
pub fn objects_for(name: &str, subjects: &[Value], api_groups: &[&str]) -> Vec<Value> {
    const READ: [&str; 3] = ["get", "list", "watch"];
    const WRITE: [&str; 4] = ["create", "update", "patch", "delete"];
    let name = format!("grove-conformance:{name}");
    let rule = |groups: &[&str], of: &[&str], verbs: &[&str]| json!({"apiGroups": groups, "resources": of, "verbs": verbs});
    let claims = ["resourceclaims", "resourceclaims/status", "resourceclaims/binding"];
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [
            rule(&["*"], &["*"], &READ),
            rule(api_groups, &["*"], &WRITE),
            rule(&[""], &["pods", "pods/status", "pods/binding", "pods/finalizers", "configmaps"], &WRITE),
            rule(&[""], &["nodes", "persistentvolumes", "persistentvolumeclaims"], &["update", "patch"]),
            rule(&["", "events.k8s.io"], &["events"], &WRITE),
            rule(&["coordination.k8s.io"], &["leases"], &WRITE),
            rule(&["resource.k8s.io"], &claims, &WRITE),
        ],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": subjects,
    });
    vec![role, binding]
}
