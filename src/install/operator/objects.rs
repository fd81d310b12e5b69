use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::description::{Webhook, WebhookKind};
use super::error::OperatorError;
use super::open::Operator;
use super::process::OperatorHome;
use super::roles;
use super::template::{Values, fill_value};
use crate::controller_spec::ControllerSpec;

impl Operator {
    pub fn objects(&self, home: &OperatorHome, spec: &ControllerSpec) -> Result<Vec<Value>, OperatorError> {
        let values = self.values(home, spec);
        let namespace = &self.description.namespace;
        let mut objects =
            vec![json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})];
        objects.extend(self.crds()?);
        objects.extend(self.role_objects(spec)?);
        for manifest in &self.description.manifests {
            objects.push(fill_value(manifest, &values).map_err(OperatorError::in_file("manifests"))?);
        }
        for kind in [WebhookKind::Mutating, WebhookKind::Validating] {
            objects.extend(self.webhooks(kind, &values));
        }
        Ok(objects)
    }

    pub fn crds(&self) -> Result<Vec<Value>, OperatorError> {
        let mut crds = Vec::new();
        for pattern in &self.description.crds {
            crds.extend(self.crds_in(pattern)?);
        }
        Ok(crds)
    }

    fn crds_in(&self, pattern: &str) -> Result<Vec<Value>, OperatorError> {
        let files = matching(&self.dir, pattern);
        if files.is_empty() {
            let path = self.dir.join(pattern);
            return Err(OperatorError::in_file(path)("no such file, but `crds` lists it"));
        }
        let mut crds = Vec::new();
        for file in files {
            let text = std::fs::read_to_string(&file).map_err(OperatorError::in_file(&file))?;
            let documents = grove_yaml::documents(&text).map_err(OperatorError::in_file(&file))?;
            if let Some(other) = documents.iter().find(|crd| crd["kind"] != "CustomResourceDefinition") {
                let reason = format!("found a {}, expected a CRD", other["kind"]);
                return Err(OperatorError::in_file(file)(reason));
            }
            crds.extend(documents);
        }
        Ok(crds)
    }

    /// Empty if the description has no roles.
    fn role_objects(&self, spec: &ControllerSpec) -> Result<Vec<Value>, OperatorError> {
        const RBAC: &str = "rbac.authorization.k8s.io";
        let Some(identity) = &self.description.identity else { return Ok(Vec::new()) };
        let name = &self.description.name;
        let rules = roles::rules(&self.description.roles, &self.dir, &self.enabled(spec))?;
        let role = match (self.description.cluster_admin, rules.is_empty()) {
            (true, _) => "cluster-admin",
            (false, false) => name,
            (false, true) => return Ok(Vec::new()),
        };
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": format!("{name}-conformance")},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": RBAC, "kind": "User", "name": identity.user}],
        });
        if self.description.cluster_admin {
            return Ok(vec![binding]);
        }
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": rules,
        });
        Ok(vec![role, binding])
    }

    fn webhooks(&self, kind: WebhookKind, values: &Values) -> Option<Value> {
        let webhooks = self.description.webhooks.iter().filter(|webhook| webhook.kind == kind);
        let webhooks: Vec<_> = webhooks.map(|webhook| entry(webhook, values)).collect();
        if webhooks.is_empty() {
            return None;
        }
        Some(json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": format!("{kind:?}WebhookConfiguration"),
            "metadata": {"name": self.description.name},
            "webhooks": webhooks,
        }))
    }
}

fn entry(webhook: &Webhook, values: &Values) -> Value {
    json!({
        "name": webhook.name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": {
            "url": format!("{}{}", values["webhook-url"], webhook.path),
            "caBundle": values["ca-bundle"],
        },
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": 10,
        "rules": webhook.rules,
    })
}

/// Sorted; `*` matches any part of the last name.
fn matching(dir: &Path, pattern: &str) -> Vec<PathBuf> {
    let pattern = dir.join(pattern);
    let (Some(folder), Some(name)) = (pattern.parent(), pattern.file_name().and_then(|name| name.to_str()))
    else {
        return Vec::new();
    };
    let Some((start, end)) = name.split_once('*') else {
        return Some(pattern.clone()).filter(|file| file.is_file()).into_iter().collect();
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end) {
            files.push(entry.path());
        }
    }
    files.sort();
    files
}
