//! What violates a clause, and the observations that prove it.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which finding of a judge it is: a stable word in kebab case, such as `bound-in-part`. A message may be put better; what
/// knows a violation again (a known deviation, a reader of reports) goes by its code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Code(#[schemars(extend("pattern" = "^[a-z0-9]+(-[a-z0-9]+)*$"))] Cow<'static, str>);

impl Code {
    /// A code, declared beside the sentence that finds it.
    ///
    /// # Panics
    /// If it is not in kebab case, which for a constant is at compile time.
    pub const fn new(code: &'static str) -> Self {
        assert!(is_kebab_case(code.as_bytes()), "a code is lower-case words with a hyphen between them");
        Self(Cow::Borrowed(code))
    }

    /// As reports have it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What a report of before there were codes says.
    fn unknown() -> Self {
        Self::new("unknown")
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

/// One way in which a clause was broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Violation {
    /// Id of the case that saw it.
    pub case: String,
    /// Which finding it is; `unknown` in a report that was written before findings had codes.
    #[serde(default = "Code::unknown")]
    pub code: Code,
    /// What is wrong, in the contract's words.
    pub message: String,
    /// The observations that prove it, oldest first.
    pub proof: Vec<Proof>,
}

impl Violation {
    /// A violation as a judge states it; [`ProfileReport::conclude`] adds the case.
    pub fn new(code: Code, message: impl Into<String>, proof: impl IntoIterator<Item = Proof>) -> Self {
        Self { case: String::new(), code, message: message.into(), proof: proof.into_iter().collect() }
    }
}

/// One observation in the watch history. It is found in the case's `history.jsonl` by its resourceVersion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Proof {
    /// What was observed, such as `bound to node n3`.
    pub what: String,
    /// Kind of the object.
    pub kind: String,
    /// Its namespace; none for cluster-scoped kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// The resourceVersion at which it was so.
    pub resource_version: String,
    /// When the watch delivered it, if a watch did: the last state of an object has no such moment.
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
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("bound-in-part", true)]
    #[case("gone", true)]
    #[case("", false)]
    #[case("Bound", false)]
    #[case("bound--twice", false)]
    #[case("-bound", false)]
    #[case("bound-", false)]
    fn a_code_is_in_kebab_case(#[case] code: &str, #[case] is_one: bool) {
        assert_eq!(is_kebab_case(code.as_bytes()), is_one);
    }

    #[test]
    fn a_violation_of_before_there_were_codes_is_read() {
        let read: Violation =
            serde_json::from_str(r#"{"case": "a/b", "message": "gone", "proof": []}"#).unwrap();
        assert_eq!(read.code.as_str(), "unknown");
    }
}
