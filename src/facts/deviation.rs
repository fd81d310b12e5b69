use serde_json::Value;

/// A difference from the expected state. Waits only test whether there is one; checks report each.
#[derive(Debug, Clone, PartialEq)]
pub struct Deviation<'a, K = ()> {
    pub kind: K,
    pub message: String,
    /// Each object, with its role such as `observed`.
    pub objects: Vec<(&'static str, &'a Value)>,
}

impl<'a, K> Deviation<'a, K> {
    pub(crate) fn new(kind: K, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), objects: Vec::new() }
    }

    #[must_use]
    pub(crate) fn shown_by(mut self, role: &'static str, object: &'a Value) -> Self {
        self.objects.push((role, object));
        self
    }
}
