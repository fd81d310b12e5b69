//! Changes objects in transit.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) const NO_PATCH: &str = "the patch does not apply";

/// A change to an object, in one of three formats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Patch {
    /// A JSON patch (RFC 6902).
    Json(json_patch::Patch),
    /// A JSON merge patch (RFC 7386).
    Merge(Value),
    /// Edits of the values that a pattern matches, because the other two formats have no patterns.
    Edit(Vec<Edit>),
}

/// An edit of every value that a pattern matches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Edit {
    /// A JSON pointer (RFC 6901). `*` selects every entry of a list or map, `-` the last entry of a list.
    pub at: String,
    /// The change to each value.
    pub to: Change,
}

/// The operations that an edit can apply to a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// Removes the value.
    Removed,
    /// Replaces the value, or adds it to its parent.
    Set(Value),
    /// Adds this to a number; the result is never negative.
    Plus(i64),
    /// Reverses a list. A list with one entry does not change.
    Reversed,
    /// Removes the last entry of a list. A list with one entry does not change.
    Shortened,
    /// Duplicates the last entry of a list.
    Doubled,
    /// Appends this to a string.
    Continued(String),
}

impl Patch {
    /// Changes `object`. Returns false if a JSON patch does not apply, or if edits match nothing.
    pub fn apply(&self, object: &mut Value) -> bool {
        match self {
            Self::Json(patch) => json_patch::patch(object, patch).is_ok(),
            Self::Merge(patch) => {
                json_patch::merge(object, patch);
                true
            }
            Self::Edit(edits) => {
                let before = object.clone();
                for edit in edits {
                    edit.apply(object);
                }
                *object != before
            }
        }
    }
}

impl Edit {
    fn apply(&self, object: &mut Value) {
        let keys = self.at.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~"));
        let keys: Vec<String> = keys.collect();
        if let Some((last, path)) = keys.split_last() {
            reach(object, path, &mut |parent| self.to.apply(parent, last));
        }
    }
}

fn reach(value: &mut Value, path: &[String], act: &mut dyn FnMut(&mut Value)) {
    let Some((key, rest)) = path.split_first() else { return act(value) };
    for next in found(value, key) {
        reach(next, rest, act);
    }
}

fn found<'a>(value: &'a mut Value, key: &str) -> Vec<&'a mut Value> {
    match (value, key) {
        (Value::Array(entries), "*") => entries.iter_mut().collect(),
        (Value::Array(entries), "-") => entries.last_mut().into_iter().collect(),
        (Value::Array(entries), _) => {
            key.parse::<usize>().ok().and_then(|index| entries.get_mut(index)).into_iter().collect()
        }
        (Value::Object(entries), "*") => entries.values_mut().collect(),
        (Value::Object(entries), _) => entries.get_mut(key).into_iter().collect(),
        _ => Vec::new(),
    }
}

impl Change {
    fn apply(&self, parent: &mut Value, key: &str) {
        match (self, &mut *parent) {
            (Self::Removed, Value::Object(entries)) => remove(entries, key),
            (Self::Removed, Value::Array(entries)) => match key {
                "*" => entries.clear(),
                "-" => drop(entries.pop()),
                _ => entries.retain({
                    let (removed, mut indexes) = (key.parse::<usize>().ok(), 0..);
                    move |_| indexes.next() != removed
                }),
            },
            (Self::Set(value), Value::Object(entries)) if key != "*" => {
                entries.insert(key.to_owned(), value.clone());
            }
            _ => found(parent, key).into_iter().for_each(|value| self.change(value)),
        }
    }

    fn change(&self, value: &mut Value) {
        match (self, value) {
            (Self::Set(wanted), value) => *value = wanted.clone(),
            (Self::Plus(more), value) if value.is_i64() => {
                *value = (value.as_i64().unwrap_or_default() + more).max(0).into();
            }
            (Self::Reversed, Value::Array(entries)) => entries.reverse(),
            (Self::Shortened, Value::Array(entries)) if entries.len() > 1 => drop(entries.pop()),
            (Self::Doubled, Value::Array(entries)) => entries.extend(entries.last().cloned()),
            (Self::Continued(more), Value::String(text)) => text.push_str(more),
            _ => {}
        }
    }
}

fn remove(entries: &mut Map<String, Value>, key: &str) {
    match key {
        "*" => entries.clear(),
        _ => drop(entries.remove(key)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case("/groups/*/min", json!({"plus": -1}), json!({"groups": [{"min": 0}, {"min": 1}], "name": "a"}))]
    #[case("/groups/-/min", json!({"plus": -9}), json!({"groups": [{"min": 1}, {"min": 0}], "name": "a"}))]
    #[case("/groups", json!("reversed"), json!({"groups": [{"min": 2}, {"min": 1}], "name": "a"}))]
    #[case("/groups", json!("shortened"), json!({"groups": [{"min": 1}], "name": "a"}))]
    #[case("/groups", json!("doubled"), json!({"groups": [{"min": 1}, {"min": 2}, {"min": 2}], "name": "a"}))]
    #[case("/groups/0", json!("removed"), json!({"groups": [{"min": 2}], "name": "a"}))]
    #[case("/groups/*", json!("removed"), json!({"groups": [], "name": "a"}))]
    #[case("/name", json!("removed"), json!({"groups": [{"min": 1}, {"min": 2}]}))]
    #[case("/name", json!({"continued": "b"}), json!({"groups": [{"min": 1}, {"min": 2}], "name": "ab"}))]
    #[case("/a~1b", json!({"set": true}), json!({"groups": [{"min": 1}, {"min": 2}], "name": "a", "a/b": true}))]
    fn an_edit_changes_the_values_at_its_pointer(#[case] at: &str, #[case] to: Value, #[case] wanted: Value) {
        let mut object = json!({"groups": [{"min": 1}, {"min": 2}], "name": "a"});
        let patch: Patch = serde_json::from_value(json!({"edit": [{"at": at, "to": to}]})).unwrap();
        assert!(patch.apply(&mut object));
        assert_eq!(object, wanted);
    }

    #[test]
    fn edits_that_change_nothing_return_false() {
        for (at, to) in [("/b/c", json!({"set": 1})), ("/a", json!("shortened")), ("/c/*", json!("removed"))]
        {
            let patch: Patch = serde_json::from_value(json!({"edit": [{"at": at, "to": to}]})).unwrap();
            assert!(!patch.apply(&mut json!({"a": [1], "c": {}})), "{at}");
        }
    }
}
