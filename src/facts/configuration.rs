//! Flawed configuration files, with which the operator must not start.

use serde_json::Value;

#[derive(Debug, Clone, Copy)]
pub struct Flaw {
    pub title: &'static str,
    /// Words that one line of the error must contain: the path of the field, and words for the flaw.
    pub words: &'static [&'static str],
    pub edit: fn(&mut Value),
}
