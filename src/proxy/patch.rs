//! Changes of an object on its way.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A change of an object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Patch {
    /// RFC 6902.
    Json(json_patch::Patch),
    /// RFC 7386.
    Merge(Value),
}

impl Patch {
    /// Changes `object`; whether it could: a JSON patch may name a path that is not there, or test for another value.
    pub(crate) fn apply(&self, object: &mut Value) -> bool {
        match self {
            Self::Json(patch) => json_patch::patch(object, patch).is_ok(),
            Self::Merge(patch) => {
                json_patch::merge(object, patch);
                true
            }
        }
    }
}
