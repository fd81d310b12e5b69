//! Reads YAML documents like kubectl: plain scalars follow YAML 1.1 (`yes` is a boolean, `1_000` a number),
//! and merge keys (`<<`) work. Unlike kubectl, it refuses a duplicate key in a mapping.

mod plain;
mod scan;

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, thiserror::Error)]
pub enum YamlError {
    #[error("{0}")]
    Malformed(#[from] serde_yaml::Error),
    #[error("line {line} column {column}: the key {key:?} is in this mapping twice, first in line {first}")]
    DuplicateKey {
        key: String,
        /// Line of the second occurrence, from 1.
        line: usize,
        column: usize,
        first: usize,
    },
    #[error(
        "the value of the key \"{MERGE}\" is not a mapping or a list of mappings: use an alias of a mapping"
    )]
    Merge,
}

/// The YAML 1.1 key whose mappings are added to the mapping that contains it.
const MERGE: &str = "<<";

pub fn documents(text: &str) -> Result<Vec<Value>, YamlError> {
    let mut all = Vec::new();
    for document in serde_yaml::Deserializer::from_str(&scan::as_kubectl_reads(text)?) {
        let mut value = Value::deserialize(document)?;
        resolve_merge_keys(&mut value)?;
        if !value.is_null() {
            all.push(value);
        }
    }
    Ok(all)
}

/// The mapping's own keys win, then the first mapping of a list.
fn resolve_merge_keys(value: &mut Value) -> Result<(), YamlError> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(resolve_merge_keys),
        Value::Object(fields) => {
            fields.values_mut().try_for_each(resolve_merge_keys)?;
            let merged = match fields.remove(MERGE) {
                None => return Ok(()),
                Some(Value::Array(mappings)) => mappings,
                Some(mapping) => vec![mapping],
            };
            for mapping in merged {
                let Value::Object(mapping) = mapping else { return Err(YamlError::Merge) };
                for (key, value) in mapping {
                    fields.entry(key).or_insert(value);
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Writes a document that kubectl reads back unchanged: strings such as `yes` are quoted.
pub fn write(value: &impl serde::Serialize) -> Result<String, YamlError> {
    scan::quoted_for_kubectl(&serde_yaml::to_string(value)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_scalars_are_read_like_kubectl() {
        let text = "a: yes\nb: 'yes'\nc: [Off, 1_000, \"1_000\", 010, 8]\nd: {e: n, f: no way}\n---\n# nothing\n---\ng: |\n  yes\n";
        let wanted = [
            json!({"a": true, "b": "yes", "c": [false, 1000, "1_000", 8, 8], "d": {"e": false, "f": "no way"}}),
            json!({"g": "yes\n"}),
        ];
        assert_eq!(documents(text).unwrap(), wanted);
    }

    #[test]
    fn a_written_value_is_read_back_unchanged() {
        let value = json!({"y": "y", "n": 1, "on": ["off", "1_000", "010", "0x1f", true, 8, "8", "no way"], "text": "yes\nno\n"});
        let text = write(&value).unwrap();
        assert_eq!(documents(&text).unwrap(), [value]);
        assert!(text.contains("'y': 'y'") && text.contains("- 'off'"), "{text}");
    }

    #[rstest::rstest]
    #[case::in_a_block("labels:\n  app: a\n  tier: b\n  app: c\n", "line 4 column 3", "line 2")]
    #[case::in_a_flow("limits: {cpu: 1, nvidia.com/gpu: 8, cpu: 2}\n", "line 1 column 37", "line 1")]
    #[case::in_a_list("- a: 1\n- b: 1\n  b: 2\n", "line 3 column 3", "line 2")]
    #[case::in_the_second_document("a: 1\n---\na: 1\na: 2\n", "line 4 column 1", "line 3")]
    fn a_duplicate_key_is_an_error(#[case] text: &str, #[case] place: &str, #[case] first: &str) {
        let error = documents(text).unwrap_err().to_string();
        assert!(error.starts_with(place) && error.ends_with(first), "{error}");
    }

    #[rstest::rstest]
    #[case::of_two_mappings("a: {x: 1}\nb: {x: 1}\n")]
    #[case::of_an_alias("a: &one {x: 1}\nb: *one\nc: {<<: *one, x: 2}\n")]
    #[case::as_a_value("a: a\nb: b\n")]
    #[case::nested("a: {a: {a: 1}}\n")]
    fn the_same_key_elsewhere_is_no_duplicate(#[case] text: &str) {
        documents(text).unwrap();
    }

    #[rstest::rstest]
    #[case::own_keys_win("b: {x: 2, <<: *a}", json!({"x": 2, "y": 1}))]
    #[case::the_first_mapping_wins("b: {<<: [{x: 3}, *a]}", json!({"x": 3, "y": 1}))]
    #[case::of_a_merged_mapping("c: &c {<<: *a, z: 1}\nb:\n  <<: *c", json!({"x": 1, "y": 1, "z": 1}))]
    #[case::in_a_list("b: [{<<: *a, y: 2}]", json!([{"x": 1, "y": 2}]))]
    fn merge_keys_are_resolved(#[case] text: &str, #[case] wanted: Value) {
        let read = documents(&format!("a: &a {{x: 1, y: 1}}\n{text}\n")).unwrap();
        assert_eq!(read[0]["b"], wanted);
    }

    #[rstest::rstest]
    #[case::a_scalar("a: {<<: x}\n")]
    #[case::a_list_with_a_scalar("a: {<<: [{x: 1}, x]}\n")]
    fn a_merge_key_needs_mappings(#[case] text: &str) {
        let error = documents(text).unwrap_err();
        assert!(matches!(error, YamlError::Merge), "{error}");
    }

    #[test]
    fn malformed_yaml_is_reported_with_its_position() {
        let error = documents("a: [1\nb: 2\n").unwrap_err().to_string();
        assert!(error.contains("line 2 column 2"), "{error}");
    }
}
