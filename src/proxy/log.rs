//! What the proxy did, one JSON line for each fault, written as it happens.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use crate::ProxyError;
use crate::target::Verb;

/// One fault.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// When.
    pub time: Timestamp,
    /// Whose proxy.
    pub proxy: String,
    /// The rule's name.
    pub rule: String,
    /// What was done.
    pub action: &'static str,
    /// Which of the rule's matches it was, from 1.
    #[serde(rename = "match")]
    pub number: u64,
    /// Of the request.
    pub verb: Verb,
    /// API group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// With its subresource.
    pub resource: String,
    /// Of the request, or of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Why it was not done after all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<&'static str>,
}

/// Where faults are written.
#[derive(Debug)]
pub(crate) struct Log(Option<File>);

impl Log {
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, ProxyError> {
        let Some(path) = path else { return Ok(Self(None)) };
        let file = File::options().create(true).append(true).open(path);
        file.map(|file| Self(Some(file))).map_err(|source| ProxyError::Log { path: path.into(), source })
    }

    pub(crate) fn write(&mut self, fault: &Fault) {
        let Some(file) = &mut self.0 else { return };
        let line = serde_json::to_string(fault).map_err(std::io::Error::from);
        if let Err(error) = line.and_then(|line| writeln!(file, "{line}")) {
            tracing::warn!(%error, "a line of a fault proxy's log is missing");
        }
    }
}
