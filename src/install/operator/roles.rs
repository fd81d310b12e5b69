//! The rules of an operator's own ClusterRoles, from its chart: a template that is almost plain YAML, read
//! without Helm.
//!
//! Only the text after `rules:` is read. It may have blocks from `{{ if … }}` to `{{ end }}`; the description
//! says when they apply. Any other template text is rejected, because its value is unknown.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Description, OperatorError};

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoleFile {
    /// A ClusterRole, or a chart's template of one. Relative to the source.
    pub file: String,
    /// When its `{{ if … }}` blocks apply.
    #[serde(default)]
    pub blocks: Vec<RoleBlock>,
}

/// A block of a template. It applies if a backend is enabled, or always, or never.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoleBlock {
    /// Text in its condition.
    pub condition: String,
    /// The backend that must be enabled.
    pub backend: Option<String>,
    /// Whether the block applies, if it depends on no backend.
    #[serde(default)]
    pub taken: bool,
}

/// The ClusterRole with its rules, and the binding to the operator's identity. Empty if the description has
/// no roles.
pub(super) fn objects(
    description: &Description,
    dir: &Path,
    enabled: &[String],
) -> Result<Vec<Value>, OperatorError> {
    let Some(identity) = &description.identity else { return Ok(Vec::new()) };
    let name = &description.name;
    let mut rules = Vec::new();
    for file in &description.roles {
        rules.extend(read(file, dir, enabled)?);
    }
    let role = match (description.cluster_admin, rules.is_empty()) {
        (true, _) => "cluster-admin",
        (false, false) => name,
        (false, true) => return Ok(Vec::new()),
    };
    let group = "rbac.authorization.k8s.io";
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": format!("{name}-conformance")},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": identity.user}],
    });
    let own = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules,
    });
    Ok(if description.cluster_admin { vec![binding] } else { vec![own, binding] })
}

fn read(role: &RoleFile, dir: &Path, enabled: &[String]) -> Result<Vec<Value>, OperatorError> {
    let path = dir.join(&role.file);
    let wrong = |reason: String| OperatorError::File {
        reason: format!(
            "{reason}; or describe the operator with `clusterAdmin: true`, which the report mentions"
        ),
        path: path.clone(),
    };
    let text = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
    rules(&text, &role.blocks, enabled).map_err(wrong)
}

/// The rules of a ClusterRole, or of a template of one.
fn rules(text: &str, blocks: &[RoleBlock], enabled: &[String]) -> Result<Vec<Value>, String> {
    let mut plain = String::new();
    // Whether each enclosing block applies.
    let mut around: Vec<bool> = Vec::new();
    for (number, line) in text.lines().enumerate().skip_while(|(_, line)| line.trim_end() != "rules:") {
        let refused = |what: &str| format!("line {}: {what}: {}", number + 1, line.trim());
        let action = line.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        let words = action.map(|action| action.trim_matches('-').trim());
        match words {
            Some("end") => drop(around.pop().ok_or_else(|| refused("`end` without a block"))?),
            Some(words) if words.starts_with("if ") => {
                let block = blocks.iter().find(|block| words.contains(&block.condition));
                let block = block.ok_or_else(|| refused("`blocks` has no entry for this condition"))?;
                let is_enabled = |backend: &String| enabled.contains(backend);
                around.push(block.backend.as_ref().map_or(block.taken, is_enabled));
            }
            _ if line.contains("{{") => {
                return Err(refused("only `if` and `end` are supported without Helm"));
            }
            _ if around.iter().all(|taken| *taken) => {
                plain.push_str(line);
                plain.push('\n');
            }
            _ => {}
        }
    }
    if !around.is_empty() {
        return Err("a block has no `end`".into());
    }
    let documents = grove_yaml::documents(&plain).map_err(|error| error.to_string())?;
    match documents.first().map(|document| &document["rules"]) {
        Some(Value::Array(rules)) if !rules.is_empty() => Ok(rules.clone()),
        _ => Err("it has no rules".into()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const TEMPLATE: &str = r#"apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .Values.name }}
rules:
- apiGroups: [""]
  resources: [pods]
  verbs: [get]
{{- if include "hasProfile" (list . "volcano") }}
- apiGroups: [scheduling.volcano.sh]
  resources: [podgroups]
  verbs: [create]
{{- end }}
{{- if .Values.more }}
- apiGroups: ["*"]
  resources: ["*"]
  verbs: ["*"]
{{- end }}
"#;

    fn blocks() -> Vec<RoleBlock> {
        let block = |condition: &str, backend: Option<&str>| RoleBlock {
            condition: condition.into(),
            backend: backend.map(str::to_owned),
            taken: false,
        };
        vec![block("\"volcano\"", Some("volcano")), block(".Values.more", None)]
    }

    fn groups(text: &str, enabled: &[&str]) -> Result<Vec<String>, String> {
        let enabled: Vec<_> = enabled.iter().map(|name| (*name).to_owned()).collect();
        let rules = rules(text, &blocks(), &enabled)?;
        Ok(rules.iter().map(|rule| rule["apiGroups"][0].as_str().unwrap().to_owned()).collect())
    }

    #[test]
    fn blocks_are_taken_with_their_backend() {
        assert_eq!(groups(TEMPLATE, &["default-scheduler"]), Ok(vec![String::new()]));
        assert_eq!(groups(TEMPLATE, &["volcano"]), Ok(vec![String::new(), "scheduling.volcano.sh".into()]));
        let (head, _) = TEMPLATE.split_once("{{- if").unwrap();
        assert_eq!(groups(head, &["volcano"]), Ok(vec![String::new()]), "a plain ClusterRole");
    }

    #[rstest]
    #[case::unknown_block(&TEMPLATE.replace("more }}", "other }}"), "line 14: `blocks` has no entry for this condition")]
    #[case::value(&TEMPLATE.replace("[pods]", "{{ .Values.kinds }}"), "line 7: only `if` and `end` are supported")]
    #[case::otherwise(&TEMPLATE.replacen("{{- end }}", "{{- else }}", 1), "line 13: only `if` and `end` are supported")]
    #[case::open(&TEMPLATE.replacen("{{- end }}", "", 1), "a block has no `end`")]
    #[case::closed("rules:\n{{- end }}\n", "line 2: `end` without a block")]
    #[case::none("kind: ClusterRole\n", "it has no rules")]
    fn what_is_not_nearly_plain_is_refused(#[case] text: &str, #[case] says: &str) {
        let error = groups(text, &["volcano"]).unwrap_err();
        assert!(error.contains(says), "{error}");
    }
}
