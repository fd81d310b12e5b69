//! Configuration files that must prevent the controller from starting.

use serde_json::Value;

/// A configuration that must prevent the start.
#[derive(Debug, Clone, Copy)]
pub struct Flaw {
    /// What is wrong, in words; unique within its case.
    pub title: &'static str,
    /// What the error must contain in one line: the path and other words that identify the flaw.
    pub words: &'static [&'static str],
    /// Applies the flaw to an OperatorConfiguration.
    pub edit: fn(&mut Value),
}
