//! Lossless differences between two versions of an object, by field and by whole list, for the page.

use serde::Serialize;
use serde_json::{Map, Value};

pub(super) type Path<'a> = Vec<&'a str>;

#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Edit<'a> {
    /// New values by path. An empty path replaces the whole object.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<(Path<'a>, &'a Value)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<Path<'a>>,
}

impl<'a> Edit<'a> {
    pub(super) fn whole(object: &'a Value) -> Self {
        Self { set: vec![(Vec::new(), object)], unset: Vec::new() }
    }

    pub(super) fn between(before: &'a Value, after: &'a Value) -> Self {
        let mut edit = Self::default();
        match (before, after) {
            (Value::Object(before), Value::Object(after)) => edit.fields(&mut Vec::new(), before, after),
            _ => edit = Self::whole(after),
        }
        edit
    }

    fn fields(&mut self, at: &mut Path<'a>, before: &'a Map<String, Value>, after: &'a Map<String, Value>) {
        for key in before.keys().filter(|key| !after.contains_key(*key)) {
            self.unset.push([at.as_slice(), &[key.as_str()]].concat());
        }
        for (key, new) in after {
            match (before.get(key), new) {
                (Some(old), new) if old == new => {}
                (Some(Value::Object(old)), Value::Object(new)) => {
                    at.push(key);
                    self.fields(at, old, new);
                    at.pop();
                }
                (_, new) => self.set.push(([at.as_slice(), &[key.as_str()]].concat(), new)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn applied(mut object: Value, edit: &Edit<'_>) -> Value {
        for path in &edit.unset {
            let (last, above) = path.split_last().unwrap();
            let parent = above.iter().fold(&mut object, |object, key| &mut object[*key]);
            parent.as_object_mut().unwrap().remove(*last);
        }
        for (path, value) in &edit.set {
            let place = path.iter().fold(&mut object, |object, key| &mut object[*key]);
            *place = (*value).clone();
        }
        object
    }

    #[rstest::rstest]
    #[case(json!({"a": 1}), json!({"a": 1}))]
    #[case(json!({"a": 1, "b": {"c": 2, "d": 3}}), json!({"a": 1, "b": {"c": 4}, "e": []}))]
    #[case(json!({"a": {"b": null}}), json!({"a": {"c": null}}))]
    #[case(json!({"a": [1, 2]}), json!({"a": [2]}))]
    #[case(json!({"a": {"b": 1}}), json!({"a": null}))]
    #[case(json!({"a": "x"}), json!({"a": {"b": "x"}}))]
    #[case(json!({"labels": {"grove.io/x.y": "1"}}), json!({"labels": {"grove.io/x.y": "2"}}))]
    fn an_applied_edit_gives_the_next_version(#[case] before: Value, #[case] after: Value) {
        let edit = Edit::between(&before, &after);
        assert_eq!(applied(before.clone(), &edit), after);
        assert_eq!(edit == Edit::default(), before == after, "unchanged fields are not in the edit");
    }

    #[test]
    fn the_first_version_is_a_complete_edit() {
        let object = json!({"a": {"b": 1}});
        assert_eq!(applied(Value::Null, &Edit::whole(&object)), object);
    }
}
