//! Field errors in the format of Kubernetes: `spec.replicas: Invalid value: -1: must be …`.

use std::collections::HashSet;

use serde_json::Value;

use crate::backend::{FieldError, Validation};

pub(super) const RECREATE: &str = "recreate the PodCliqueSet to change it";

pub(super) fn invalid(path: impl Into<String>, value: impl Into<Value>, message: &str) -> FieldError {
    FieldError::invalid(path, format!("{}: {message}", value.into()))
}

pub(super) fn duplicate(path: impl Into<String>, value: &str) -> FieldError {
    FieldError::duplicate(path, Value::from(value).to_string())
}

pub(super) fn repeated<'a>(entries: impl IntoIterator<Item = &'a str>) -> Vec<(usize, &'a str)> {
    let mut seen = HashSet::new();
    entries.into_iter().enumerate().filter(|(_, entry)| !seen.insert(*entry)).collect()
}

/// Drops errors that the `stored` object also has, because the update did not cause them (ADM-08).
pub(super) fn keep_new(mut findings: Validation, stored: &Validation) -> Validation {
    findings.errors.retain(|error| !stored.errors.contains(error));
    findings
}
