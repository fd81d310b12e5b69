//! The rules of an operator's own ClusterRoles. Its chart has them as almost plain YAML, read without Helm.
//!
//! Only the text after `rules:` is read. It may have blocks from `{{ if … }}` to `{{ end }}`, and the
//! description states when each applies. Any other template text is rejected, because its value is unknown.

use std::path::Path;

use grove_yaml::YamlError;
use serde::Deserialize;
use serde_json::Value;

use super::error::OperatorError;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoleFile {
    /// A ClusterRole, or a chart's template of one. Relative to the source.
    pub file: String,
    #[serde(default)]
    pub blocks: Vec<RoleBlock>,
}

/// A block of a template, which applies if a backend is enabled, or always, or never.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoleBlock {
    pub condition: String,
    pub backend: Option<String>,
    #[serde(default)]
    pub taken: bool,
}

#[derive(Debug, thiserror::Error)]
enum RoleError {
    #[error("line {number}: {problem}: {line}")]
    Line { number: usize, problem: &'static str, line: String },
    #[error("a block has no `end`")]
    NoEnd,
    #[error(transparent)]
    Yaml(#[from] YamlError),
    #[error("the file has no rules")]
    NoRules,
}

pub(super) fn rules(files: &[RoleFile], dir: &Path, enabled: &[String]) -> Result<Vec<Value>, OperatorError> {
    let mut rules = Vec::new();
    for role in files {
        let path = dir.join(&role.file);
        let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
        rules.extend(rules_in(&text, &role.blocks, enabled).map_err(|error| unreadable(&path, &error))?);
    }
    Ok(rules)
}

fn unreadable(path: &Path, error: &dyn std::error::Error) -> OperatorError {
    let advice =
        "correct the file, or describe the operator with `clusterAdmin: true`, which the report mentions";
    OperatorError::in_file(path)(format!("{error}; {advice}"))
}

fn rules_in(text: &str, blocks: &[RoleBlock], enabled: &[String]) -> Result<Vec<Value>, RoleError> {
    let mut plain = String::new();
    let mut enclosing: Vec<bool> = Vec::new();
    for (index, line) in text.lines().enumerate().skip_while(|(_, line)| line.trim_end() != "rules:") {
        let wrong = |problem| RoleError::Line { number: index + 1, problem, line: line.trim().to_owned() };
        let action = line.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        let words = action.map(|action| action.trim_matches('-').trim());
        match words {
            Some("end") => drop(enclosing.pop().ok_or_else(|| wrong("`end` without a block"))?),
            Some(words) if words.starts_with("if ") => {
                let block = blocks.iter().find(|block| words.contains(&block.condition));
                let block = block.ok_or_else(|| wrong("`blocks` has no entry for this condition"))?;
                let is_enabled = |backend: &String| enabled.contains(backend);
                enclosing.push(block.backend.as_ref().map_or(block.taken, is_enabled));
            }
            _ if line.contains("{{") => {
                return Err(wrong("only `if` and `end` are supported without Helm"));
            }
            _ if enclosing.iter().all(|taken| *taken) => {
                plain.push_str(line);
                plain.push('\n');
            }
            _ => {}
        }
    }
    if !enclosing.is_empty() {
        return Err(RoleError::NoEnd);
    }
    let documents = grove_yaml::documents(&plain)?;
    match documents.first().map(|document| &document["rules"]) {
        Some(Value::Array(rules)) if !rules.is_empty() => Ok(rules.clone()),
        _ => Err(RoleError::NoRules),
    }
}

#[cfg(test)]
mod tests {
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

    fn groups(text: &str, enabled: &[&str]) -> Result<Vec<String>, RoleError> {
        let enabled: Vec<_> = enabled.iter().map(|name| (*name).to_owned()).collect();
        let rules = rules_in(text, &blocks(), &enabled)?;
        Ok(rules.iter().map(|rule| rule["apiGroups"][0].as_str().unwrap().to_owned()).collect())
    }

    #[test]
    fn a_block_of_a_backend_applies_only_if_the_backend_is_enabled() {
        assert_eq!(groups(TEMPLATE, &["default-scheduler"]).unwrap(), [""]);
        assert_eq!(groups(TEMPLATE, &["volcano"]).unwrap(), ["", "scheduling.volcano.sh"]);
        let (head, _) = TEMPLATE.split_once("{{- if").unwrap();
        assert_eq!(groups(head, &["volcano"]).unwrap(), [""], "a plain ClusterRole");
    }

    #[rstest::rstest]
    #[case::unknown_block(&TEMPLATE.replace("more }}", "other }}"), "line 14: `blocks` has no entry for this condition")]
    #[case::value(&TEMPLATE.replace("[pods]", "{{ .Values.kinds }}"), "line 7: only `if` and `end` are supported")]
    #[case::otherwise(&TEMPLATE.replacen("{{- end }}", "{{- else }}", 1), "line 13: only `if` and `end` are supported")]
    #[case::open(&TEMPLATE.replacen("{{- end }}", "", 1), "a block has no `end`")]
    #[case::closed("rules:\n{{- end }}\n", "line 2: `end` without a block")]
    #[case::none("kind: ClusterRole\n", "the file has no rules")]
    fn a_template_that_is_not_almost_plain_is_rejected(#[case] text: &str, #[case] message: &str) {
        let error = groups(text, &["volcano"]).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
