//! One mutation: a small change of the operator's source, and where it is.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The opposite comparison: `==` and `!=`, `<` and `>=`.
    Comparison,
    /// The comparison with or without equality: `<` and `<=`.
    Boundary,
    /// `&&` and `||`, a condition and its negation, `true` and `false`.
    Boolean,
    /// `+` and `-`, `*` and `/`, `min` and `max`.
    Arithmetic,
    RemovedStatement,
    /// A function, or a field, has the default of its type.
    DefaultValue,
    SwappedArguments,
    /// An iteration leaves out its first element.
    SkippedElement,
    /// An iteration ends after its first element.
    FirstOnly,
}

impl Kind {
    pub const ALL: [Self; 9] = [
        Self::Comparison,
        Self::Boundary,
        Self::Boolean,
        Self::Arithmetic,
        Self::RemovedStatement,
        Self::DefaultValue,
        Self::SwappedArguments,
        Self::SkippedElement,
        Self::FirstOnly,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Comparison => "comparison",
            Self::Boundary => "boundary",
            Self::Boolean => "boolean",
            Self::Arithmetic => "arithmetic",
            Self::RemovedStatement => "removed-statement",
            Self::DefaultValue => "default-value",
            Self::SwappedArguments => "swapped-arguments",
            Self::SkippedElement => "skipped-element",
            Self::FirstOnly => "first-only",
        }
    }
}

/// The text around a piece of source that turns a mutation on. [`SWITCH`] in it stands for the condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrap {
    pub before: String,
    pub after: String,
}

pub(crate) const SWITCH: &str = "\u{1}";

impl Wrap {
    pub(crate) fn instead(replacement: &str) -> Self {
        Self { before: format!("(if {SWITCH} {{ {replacement} }} else {{ "), after: " })".into() }
    }

    /// The original is executed only if the mutation is off.
    pub(crate) fn removed() -> Self {
        Self { before: format!("if !{SWITCH} {{ "), after: " }".into() }
    }

    pub(crate) fn inserted(text: &str) -> Self {
        Self { before: text.into(), after: String::new() }
    }

    pub(crate) fn appended(text: &str) -> Self {
        Self { before: String::new(), after: text.into() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub kind: Kind,
    pub function: String,
    pub line: usize,
    /// The bytes of the file that the mutation concerns; empty where text is inserted.
    pub range: Range<usize>,
    pub wrap: Wrap,
    pub change: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mutation {
    /// The value of the variable that turns the mutation on, valid for one version of the source.
    pub number: u32,
    /// File, function and kind, and the ordinal within these, so that changes elsewhere do not change the id.
    pub id: String,
    pub file: String,
    pub function: String,
    pub kind: Kind,
    pub line: usize,
    pub change: String,
}

pub(crate) fn numbered<'a>(found: impl IntoIterator<Item = (&'a str, &'a [Found])>) -> Vec<Mutation> {
    let mut ordinals: BTreeMap<(String, String, Kind), u32> = BTreeMap::new();
    let mut all = Vec::new();
    for (file, found) in found {
        for one in found {
            let ordinal = ordinals.entry((file.to_owned(), one.function.clone(), one.kind)).or_default();
            *ordinal += 1;
            all.push(Mutation {
                // 0 means that no mutation is turned on.
                number: all.len() as u32 + 1,
                id: format!("{file}:{}:{}:{ordinal}", one.function, one.kind.name()),
                file: file.to_owned(),
                function: one.function.clone(),
                kind: one.kind,
                line: one.line,
                change: one.change.clone(),
            });
        }
    }
    all
}

pub(crate) fn file_of(id: &str) -> &str {
    id.split(':').next().unwrap_or_default()
}

impl Mutation {
    /// The folder of the file, by which a sample is stratified.
    pub fn folder(&self) -> &str {
        self.file.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}
