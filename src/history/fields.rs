//! Fields of raw JSON; a missing one counts as empty.

use serde_json::Value;

/// A text; empty if it is none.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// What an Event says. Histories hold those of `v1`, as which the API server shows those of `events.k8s.io`, too.
pub fn event_note(event: &Value) -> &str {
    text(&event["message"])
}

/// The reference to what an Event is about.
pub fn event_about(event: &Value) -> &Value {
    &event["involvedObject"]
}

/// A list; empty if it is none.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A number of things, if it is one.
pub fn count(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|count| usize::try_from(count).ok())
}

/// The name of an object.
pub fn name(object: &Value) -> &str {
    text(&object["metadata"]["name"])
}
