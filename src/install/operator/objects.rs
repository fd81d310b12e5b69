//! The API objects that an operator needs before it starts: its namespace, the CRDs from its source, other
//! objects of its description, and webhook configurations by URL.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::description::{Webhook, WebhookKind};
use super::template::{Values, fill_value};
use super::{Operator, OperatorError, OperatorHome, roles};
use crate::cluster_spec::ControllerSpec;

impl Operator {
    pub fn objects(&self, place: &OperatorHome, spec: &ControllerSpec) -> Result<Vec<Value>, OperatorError> {
        let values = self.values(place, spec);
        let namespace = &self.description.namespace;
        let mut objects =
            vec![json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})];
        objects.extend(self.crds()?);
        objects.extend(roles::objects(&self.description, &self.dir, &self.enabled(spec))?);
        for manifest in &self.description.manifests {
            let wrong = |reason| OperatorError::File { path: "manifests".into(), reason };
            objects.push(fill_value(manifest, &values).map_err(wrong)?);
        }
        for kind in [WebhookKind::Mutating, WebhookKind::Validating] {
            objects.extend(self.webhooks(kind, &values));
        }
        Ok(objects)
    }

    pub fn crds(&self) -> Result<Vec<Value>, OperatorError> {
        let of_pattern = |pattern: &String| self.crds_in(pattern);
        Ok(self.description.crds.iter().map(of_pattern).collect::<Result<Vec<_>, _>>()?.concat())
    }

    fn crds_in(&self, pattern: &str) -> Result<Vec<Value>, OperatorError> {
        let wrong = |path: &Path, reason: String| OperatorError::File { path: path.into(), reason };
        let files = matching(&self.dir, pattern);
        if files.is_empty() {
            return Err(wrong(&self.dir.join(pattern), "no such file, but `crds` lists it".into()));
        }
        let mut crds = Vec::new();
        for file in files {
            let text = std::fs::read_to_string(&file).map_err(|error| wrong(&file, error.to_string()))?;
            let documents = grove_yaml::documents(&text).map_err(|error| wrong(&file, error.to_string()))?;
            if let Some(other) = documents.iter().find(|crd| crd["kind"] != "CustomResourceDefinition") {
                return Err(wrong(&file, format!("found a {}, expected a CRD", other["kind"])));
            }
            crds.extend(documents);
        }
        Ok(crds)
    }

    fn webhooks(&self, kind: WebhookKind, values: &Values) -> Option<Value> {
        let of_kind = self.description.webhooks.iter().filter(|webhook| webhook.kind == kind);
        let webhooks: Vec<_> = of_kind.map(|webhook| entry(webhook, values)).collect();
        (!webhooks.is_empty()).then(|| {
            json!({
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": format!("{kind:?}WebhookConfiguration"),
                "metadata": {"name": self.description.name},
                "webhooks": webhooks,
            })
        })
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

/// The files of a folder that match a pattern, sorted; `*` matches any part of the last name.
fn matching(dir: &Path, pattern: &str) -> Vec<PathBuf> {
    let pattern = dir.join(pattern);
    let (Some(folder), Some(name)) = (pattern.parent(), pattern.file_name().and_then(|name| name.to_str()))
    else {
        return Vec::new();
    };
    let Some((start, end)) = name.split_once('*') else {
        return Some(pattern.clone()).filter(|file| file.is_file()).into_iter().collect();
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        })
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files
}
