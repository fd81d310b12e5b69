//! What violates a clause, and the observations that prove it.

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One way in which a clause was broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Violation {
    /// Id of the case that saw it.
    pub case: String,
    /// What is wrong, in the contract's words.
    pub message: String,
    /// The observations that prove it, oldest first.
    pub proof: Vec<Proof>,
}

impl Violation {
    /// A violation as a judge states it; [`ProfileReport::conclude`] adds the case.
    pub fn new(message: impl Into<String>, proof: impl IntoIterator<Item = Proof>) -> Self {
        Self { case: String::new(), message: message.into(), proof: proof.into_iter().collect() }
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
