//! Computes the smallest JSON merge patch (RFC 7386) from the current to the desired state (GANG-11).

use serde_json::{Map, Value};

/// `None` if both values are equal. Lists are replaced as a whole.
pub(crate) fn merge_patch(from: &Value, to: &Value) -> Option<Value> {
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => {
            let changed = to.iter().filter_map(|(key, to)| {
                let patch = match from.get(key) {
                    Some(from) => merge_patch(from, to)?,
                    None if to.is_null() => return None,
                    None => to.clone(),
                };
                Some((key.clone(), patch))
            });
            let removed = from.iter().filter(|(key, value)| !to.contains_key(*key) && !value.is_null());
            let patch: Map<_, _> =
                changed.chain(removed.map(|(key, _)| (key.clone(), Value::Null))).collect();
            (!patch.is_empty()).then_some(Value::Object(patch))
        }
        _ => (from != to).then(|| to.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case::equal(json!({"a": {"b": 1}, "c": [1]}), json!({"a": {"b": 1}, "c": [1]}), None)]
    #[case::nested(json!({"a": {"b": 1, "x": 2}}), json!({"a": {"b": 2, "x": 2}}), Some(json!({"a": {"b": 2}})))]
    #[case::removed(json!({"a": 1, "b": 2}), json!({"a": 1}), Some(json!({"b": null})))]
    #[case::added(json!({}), json!({"a": {"b": 1}}), Some(json!({"a": {"b": 1}})))]
    #[case::lists_whole(json!({"a": [1, 2]}), json!({"a": [1]}), Some(json!({"a": [1]})))]
    #[case::null_is_absent(json!({"a": null}), json!({"b": null}), None)]
    fn the_patch_has_only_differences(#[case] from: Value, #[case] to: Value, #[case] patch: Option<Value>) {
        assert_eq!(merge_patch(&from, &to), patch);
    }
}
