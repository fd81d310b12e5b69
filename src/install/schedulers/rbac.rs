//! A scheduler watches and writes exactly the resources in its tables of [`Right`]s, so it cannot change
//! those of another scheduler. With a missing right it schedules nothing, because its informer never syncs.
//! To enable leader election, preemption or another plugin, add the right to the table.

use serde_json::{Value, json};

const READ: &[&str] = &["get", "list", "watch"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Right {
    /// Empty for the core group.
    pub group: &'static str,
    /// Plural; a subresource is `pods/status`.
    pub resources: &'static [&'static str],
    pub verbs: &'static [&'static str],
}

impl Right {
    pub(super) const fn new(
        group: &'static str,
        resources: &'static [&'static str],
        verbs: &'static [&'static str],
    ) -> Self {
        Self { group, resources, verbs }
    }

    pub(super) const fn read(group: &'static str, resources: &'static [&'static str]) -> Self {
        Self::new(group, resources, READ)
    }

    #[cfg(test)]
    pub(super) fn reads(&self, group: &str, resource: &str) -> bool {
        self.group == group && self.resources.contains(&resource) && self.verbs == READ
    }

    fn rule(&self) -> Value {
        json!({"apiGroups": [self.group], "resources": self.resources, "verbs": self.verbs})
    }
}

/// For schedulers that embed kube-scheduler's framework: Kubernetes 1.34.1 in Volcano, 1.35.2 in Koordinator.
/// From `pkg/scheduler` (`scheduler.go`, `eventhandlers.go`, `framework/plugins`) and the roles
/// `system:kube-scheduler` and `system:volume-scheduler` (`bootstrappolicy/policy.go`), without leader
/// election, secure port, preemption, and feature gates that are off by default.
pub(super) const FRAMEWORK: &[Right] = &[
    Right::read(
        "",
        &[
            "namespaces",
            "nodes",
            "persistentvolumeclaims",
            "persistentvolumes",
            "pods",
            "replicationcontrollers",
            "services",
        ],
    ),
    Right::read("apps", &["replicasets", "statefulsets"]),
    // The informer of the preemption plugin starts although the plugin is off.
    Right::read("policy", &["poddisruptionbudgets"]),
    // The informers of DynamicResourceAllocation start even if no pod has a claim.
    Right::read("resource.k8s.io", &["deviceclasses", "resourceclaims", "resourceslices"]),
    // Volcano watches drivers and capacities only with --csi-storage.
    Right::read(
        "storage.k8s.io",
        &["csidrivers", "csinodes", "csistoragecapacities", "storageclasses", "volumeattachments"],
    ),
    Right::new("", &["pods/binding"], &["create"]),
    // For the plugin VolumeBinding, which binds volumes with `WaitForFirstConsumer`.
    Right::new("", &["persistentvolumeclaims", "persistentvolumes"], &["update"]),
];

pub(super) fn user(name: &str) -> Value {
    json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name})
}

pub(super) fn objects(name: &str, subject: &Value, tables: &[&[Right]]) -> Vec<Value> {
    let name = format!("grove-conformance:{name}");
    let rules: Vec<_> = tables.iter().copied().flatten().map(Right::rule).collect();
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules,
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [subject],
    });
    vec![role, binding]
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn roles() -> Vec<Value> {
        let mut folders = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../manifests"))];
        let mut roles = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|is| is == "yaml") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    roles.extend(grove_yaml::documents(&text).unwrap());
                }
            }
        }
        roles.retain(|object| object["kind"] == "ClusterRole" || object["kind"] == "Role");
        roles
    }

    #[test]
    fn no_role_of_the_manifests_has_a_wildcard() {
        let roles = roles();
        for name in [
            "grove-backend-controller",
            "grove-conformance:volcano",
            "grove-conformance:koord-scheduler",
            "grove-conformance:kai-scheduler",
            "grove-conformance:kai-binder",
            "grove-conformance:kai-podgrouper",
        ] {
            assert!(roles.iter().any(|role| role["metadata"]["name"] == name), "{name} is missing");
        }
        let lists = json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["list"]});
        for role in &roles {
            let is_suite = role["metadata"]["name"] == conformance_programs::own_program::SUITE;
            let rules = role["rules"].as_array().unwrap().iter();
            for rule in rules.filter(|rule| !is_suite || **rule != lists) {
                for field in ["apiGroups", "resources", "verbs", "nonResourceURLs"] {
                    for value in rule[field].as_array().into_iter().flatten() {
                        let value = value.as_str().unwrap();
                        assert!(!value.contains('*'), "{}: {rule}", role["metadata"]["name"]);
                    }
                }
            }
        }
    }
}
