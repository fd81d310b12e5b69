//! A violation of a clause, and the observations that prove it.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Identifies a kind of violation by stable kebab-case words, such as `bound-in-part`. A report adds the
/// clause: `AON-02/bound-in-part`. Known deviations and programs compare codes: messages may be reworded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Code(
    #[schemars(extend("pattern" = "^([A-Z]+-[0-9]+/)?[a-z0-9]+(-[a-z0-9]+)*$"))] Cow<'static, str>,
);

impl Code {
    /// Creates the code of a check. Panics if the code is invalid, at compile time for a constant.
    pub const fn new(code: &'static str) -> Self {
        assert!(is_kebab_case(code.as_bytes()), "a code must be lowercase words separated by hyphens");
        Self(Cow::Borrowed(code))
    }

    /// The code as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The code without its clause.
    pub fn word(&self) -> &str {
        self.as_str().rsplit('/').next().unwrap_or_default()
    }

    /// Returns the code with this clause as prefix.
    #[must_use]
    pub fn of_clause(&self, clause: &str) -> Self {
        Self(Cow::Owned(format!("{clause}/{}", self.word())))
    }
}

const fn is_kebab_case(code: &[u8]) -> bool {
    let mut index = 0;
    let mut in_word = false;
    while index < code.len() {
        match code[index] {
            b'a'..=b'z' | b'0'..=b'9' => in_word = true,
            b'-' if in_word => in_word = false,
            _ => return false,
        }
        index += 1;
    }
    in_word
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One violation of a clause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Violation {
    /// Id of the case, with the provider if the report has several: `aon/fits on kind`.
    pub case: String,
    /// Identifies the kind of violation.
    pub code: Code,
    /// What is wrong, in the contract's words.
    pub message: String,
    /// The observations that prove it, oldest first.
    pub proof: Vec<Proof>,
}

impl Violation {
    /// Creates a violation without its case, which `conclude` in the crate `report` adds.
    pub fn new(code: Code, message: impl Into<String>, proof: impl IntoIterator<Item = Proof>) -> Self {
        #[cfg(feature = "record-codes")]
        record(&code);
        Self { case: String::new(), code, message: message.into(), proof: proof.into_iter().collect() }
    }
}

#[cfg(feature = "record-codes")]
fn record(code: &Code) {
    use std::io::Write as _;
    let Some(path) = std::env::var_os("GROVE_CONFORMANCE_CODES") else { return };
    let line = format!("{code} {}\n", std::thread::current().name().unwrap_or("main"));
    let file = std::fs::File::options().create(true).append(true).open(path);
    // `ci/violation-codes` reports it if the file is missing.
    let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
}

/// One observation in the watch history. Its resourceVersion identifies it in the case's `history.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Proof {
    /// What was observed, such as `bound to node n3`.
    pub what: String,
    /// Kind of the object.
    pub kind: String,
    /// Namespace of the object, missing for cluster-scoped kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.resourceVersion` of the observed version.
    pub resource_version: String,
    /// When the watch delivered the version, missing for the last state of an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub at: Option<Timestamp>,
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        write!(f, "{}: {} (resourceVersion {}", self.name, self.what, self.resource_version)?;
        match self.at {
            Some(at) => write!(f, ", {at})"),
            None => f.write_str(")"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("bound-in-part", true)]
    #[case("gone", true)]
    #[case("", false)]
    #[case("Bound", false)]
    #[case("bound--twice", false)]
    #[case("-bound", false)]
    #[case("bound-", false)]
    fn only_kebab_case_is_a_code(#[case] code: &str, #[case] is_valid: bool) {
        assert_eq!(is_kebab_case(code.as_bytes()), is_valid);
    }

    #[test]
    fn a_code_is_prefixed_with_one_clause() {
        let code = Code::new("bound-in-part").of_clause("AON-02");
        assert_eq!((code.as_str(), code.word()), ("AON-02/bound-in-part", "bound-in-part"));
        assert_eq!(code.of_clause("AON-02"), code);
        assert_eq!(code.of_clause("AON-03").as_str(), "AON-03/bound-in-part");
    }
}
