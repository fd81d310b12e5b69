//! How a finding is spelt, and which findings an update has brought.
//!
//! The value a finding is about stands as JSON before the message, which is how Kubernetes prints field
//! errors (`spec.replicas: Invalid value: -1: must be …`).

use std::collections::HashSet;

use serde_json::Value;

use crate::backend::{FieldError, Validation};

/// `value` at `path` breaks a rule.
pub(super) fn invalid(path: impl Into<String>, value: impl Into<Value>, message: &str) -> FieldError {
    FieldError::invalid(path, format!("{}: {message}", value.into()))
}

/// `value` at `path` has been seen before in its list.
pub(super) fn duplicate(path: impl Into<String>, value: &str) -> FieldError {
    FieldError::duplicate(path, Value::from(value).to_string())
}

/// The entries that repeat an earlier one, by index.
pub(super) fn repeated<'a>(entries: impl IntoIterator<Item = &'a str>) -> Vec<(usize, &'a str)> {
    let mut seen = HashSet::new();
    entries.into_iter().enumerate().filter(|(_, entry)| !seen.insert(*entry)).collect()
}

/// Drops the errors that the `stored` object has as well: an update is not to blame for them (ADM-08).
pub(super) fn keep_new(mut findings: Validation, stored: &Validation) -> Validation {
    findings.errors.retain(|error| !stored.errors.contains(error));
    findings
}
