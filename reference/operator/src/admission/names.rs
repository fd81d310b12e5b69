use std::collections::BTreeMap;

use super::findings::invalid;
use crate::backend::FieldError;
use crate::backend::names::{is_label_key, is_label_value};

/// Limit in bytes for the names of PodCliqueSet, scaling group and clique together. The rest of a hostname
/// label (63) holds two indexes, five random characters and hyphens.
const COMBINED_NAME_LIMIT: usize = 45;

pub(super) fn combined_length_error(pcs: &str, scaling_group: Option<&str>, clique: &str) -> Option<String> {
    let length = pcs.len() + scaling_group.map_or(0, str::len) + clique.len();
    if length <= COMBINED_NAME_LIMIT {
        return None;
    }
    let parts = match scaling_group {
        Some(group) => {
            format!("PodCliqueSet '{pcs}', PodCliqueScalingGroup '{group}', or PodClique '{clique}'")
        }
        None => format!("PodCliqueSet '{pcs}' or PodClique '{clique}'"),
    };
    let limit = format!("{COMBINED_NAME_LIMIT}-character limit required for pod naming");
    Some(format!("combined resource name length {length} exceeds {limit}. Consider shortening: {parts}"))
}

pub(super) fn check_labels(labels: &BTreeMap<String, String>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in labels {
        if !is_label_key(key) {
            errors.push(invalid(path, key.as_str(), "not a valid label key"));
        }
        if !value.is_empty() && !is_label_value(value) {
            errors.push(invalid(format!("{path}[{key}]"), value.as_str(), "not a valid label value"));
        }
    }
    errors
}

/// Kubernetes accepts any annotation value, so only the keys are checked.
pub(super) fn check_annotations(annotations: &BTreeMap<String, String>, path: &str) -> Vec<FieldError> {
    let invalid_keys = annotations.keys().filter(|key| !is_label_key(&key.to_ascii_lowercase()));
    invalid_keys.map(|key| invalid(path, key.as_str(), "not a valid annotation key")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_45_characters_fit() {
        assert_eq!(combined_length_error(&"p".repeat(20), None, &"c".repeat(25)), None);
        assert_eq!(combined_length_error(&"p".repeat(20), Some("g"), &"c".repeat(24)), None);
    }

    #[test]
    fn the_message_names_all_parts() {
        let clique = "c".repeat(44);
        let errors =
            [combined_length_error("pcs", None, &clique), combined_length_error("pcs", Some("sg"), &clique)];
        insta::assert_snapshot!(errors.map(Option::unwrap).join("\n"), @"
        combined resource name length 47 exceeds 45-character limit required for pod naming. Consider shortening: PodCliqueSet 'pcs' or PodClique 'cccccccccccccccccccccccccccccccccccccccccccc'
        combined resource name length 49 exceeds 45-character limit required for pod naming. Consider shortening: PodCliqueSet 'pcs', PodCliqueScalingGroup 'sg', or PodClique 'cccccccccccccccccccccccccccccccccccccccccccc'
        ");
    }

    #[test]
    fn invalid_labels_and_annotations_are_reported() {
        let labels = BTreeMap::from([("ok".into(), "".into()), ("bad key".into(), "bad value".into())]);
        let errors = check_labels(&labels, "labels");
        assert_eq!(
            errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                r#"labels: Invalid value: "bad key": not a valid label key"#,
                r#"labels[bad key]: Invalid value: "bad value": not a valid label value"#,
            ]
        );
        let annotations = BTreeMap::from([("Example.com/x".into(), "any thing".into())]);
        assert_eq!(check_annotations(&annotations, "annotations"), []);
        let annotations = BTreeMap::from([("a b".into(), String::new())]);
        assert_eq!(check_annotations(&annotations, "annotations").len(), 1);
    }
}
