#![allow(missing_docs, reason = "a function without a comment is named after the field that it returns")]

use serde_json::Value;

use super::fields::list;

pub fn owners(object: &Value) -> &[Value] {
    list(&object["metadata"]["ownerReferences"])
}

pub fn controller(object: &Value) -> Option<&Value> {
    owners(object).iter().find(|owner| owner["controller"] == true)
}

/// Whether `owner` controls an object. Compares kind, name and uid.
pub fn is_controlled_by(object: &Value, owner: &Value) -> bool {
    controller(object).is_some_and(|found| refers_to(found, owner))
}

/// Whether `owner` owns an object, as its controller or not. Compares kind, name and uid.
pub fn is_owned_by(object: &Value, owner: &Value) -> bool {
    owners(object).iter().any(|found| refers_to(found, owner))
}

fn refers_to(reference: &Value, owner: &Value) -> bool {
    let metadata = &owner["metadata"];
    reference["kind"] == owner["kind"]
        && reference["name"] == metadata["name"]
        && reference["uid"] == metadata["uid"]
}
