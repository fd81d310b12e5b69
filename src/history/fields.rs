use serde_json::Value;

/// Returns a string value, or an empty string for any other value.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns the message of a `v1` Event, to which the API server converts `events.k8s.io` Events.
pub fn event_note(event: &Value) -> &str {
    text(&event["message"])
}

/// Returns the reference to the object that an Event is about.
pub fn event_about(event: &Value) -> &Value {
    &event["involvedObject"]
}

/// Returns the entries of a list, or none for any other value.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns a nonnegative integer, or `None` for any other value.
pub fn count(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|count| usize::try_from(count).ok())
}

/// `1 pod` or `2 pods`, for messages.
pub fn counted_pods(count: usize) -> String {
    format!("{count} {}", if count == 1 { "pod" } else { "pods" })
}

/// `once` or `2 times`, for messages.
pub fn counted_times(count: usize) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// Returns the name of an object.
pub fn name(object: &Value) -> &str {
    text(&object["metadata"]["name"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pod_has_no_plural() {
        assert_eq!([0, 1, 2].map(counted_pods), ["0 pods", "1 pod", "2 pods"]);
        assert_eq!([0, 1, 2].map(counted_times), ["0 times", "once", "2 times"]);
    }
}
