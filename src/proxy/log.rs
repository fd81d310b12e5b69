use std::fs::File;
use std::io::Write;
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use crate::ProxyError;
use crate::target::Verb;

/// A line of the log: one fault that a proxy injected.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// Time of the fault.
    pub time: Timestamp,
    /// Name of the proxy.
    pub proxy: String,
    /// Name of the rule.
    pub rule: String,
    /// Name of the action.
    pub action: &'static str,
    /// Number of this match of the rule, from 1.
    #[serde(rename = "match")]
    pub number: u64,
    /// Verb of the request.
    pub verb: Verb,
    /// API group of the resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Resource, with its subresource.
    pub resource: String,
    /// Namespace of the request or of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name in the request or of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Why the action was skipped, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<&'static str>,
}

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
            tracing::warn!(%error, "failed to write a line of the fault proxy's log");
        }
    }
}
