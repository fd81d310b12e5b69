//! Configuration files that must prevent the operator from starting.

use serde_json::Value;

#[derive(Debug, Clone, Copy)]
pub struct Flaw {
    pub title: &'static str,
    /// What the error must contain in one line: the path and other words that identify the flaw.
    pub words: &'static [&'static str],
    pub edit: fn(&mut Value),
}
