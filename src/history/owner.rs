//! The controller of an object, from its owner references.

use serde_json::Value;

/// The controlling owner reference of an object.
pub fn controller(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)
}

/// Whether `owner` controls an object, by kind, name and uid.
pub fn is_controlled_by(object: &Value, owner: &Value) -> bool {
    let metadata = &owner["metadata"];
    controller(object).is_some_and(|found| {
        found["kind"] == owner["kind"] && found["name"] == metadata["name"] && found["uid"] == metadata["uid"]
    })
}
