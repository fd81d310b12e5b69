//! A case's history, as a file with one JSON document per line: first the [`Header`], and then
//! - watch events as `kubectl get --watch --output-watch-events -o json` prints them
//!   (`{"type":"ADDED","object":{…}}`), with the arrival time in `at`
//! - marks (`MARK`)
//! - gaps (`GAP`)
//!
//! `replay` also checks such a recording of kubectl.

#![allow(missing_docs, reason = "an item without a comment is named after what it contains or does")]

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::Arc;

use conformance_contract::target::Target;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use conformance_contract::kinds::Kind;

pub(crate) const API_VERSION: &str = "conformance.grove.io/v1alpha1";

/// What a history is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Version of the file format, [`API_VERSION`].
    pub api_version: String,
    /// Always `History`.
    pub kind: String,
    /// Id of the case, e.g. `aon/one-pod-short`.
    pub case: String,
    pub target: Target,
    pub namespace: String,
    /// The submitted PodCliqueSets, by name.
    pub submitted: BTreeMap<String, Value>,
    /// The factor by which time limits are extended because the machine was slow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowness: Option<f64>,
    /// The length of a cycle of a scheduler that looks at all gangs in each cycle, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle_millis: Option<u32>,
}

impl Header {
    /// Creates a header in the current version of the format.
    pub fn new(case: &str, target: Target, namespace: &str, submitted: BTreeMap<String, Value>) -> Self {
        Self {
            api_version: API_VERSION.into(),
            kind: "History".into(),
            case: case.into(),
            target,
            namespace: namespace.into(),
            submitted,
            slowness: None,
            cycle_millis: None,
        }
    }
}

/// The type of a watch event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Change {
    /// The object is new, or the watch delivers it for the first time.
    Added,
    Modified,
    /// The object was deleted. The version is its last one, with the resourceVersion of the deletion.
    Deleted,
}

/// One version of one object.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    pub change: Change,
    /// The object. Its managedFields lack their field sets.
    pub object: Arc<Value>,
}

/// Something that the harness did or observed at this point of the history.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Name of the mark, from a [`crate::MarkName`].
    pub name: String,
    /// Details, depending on the mark.
    pub detail: Value,
}

/// A watch was lost and listed again, so versions may be missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    /// The kind whose watch was interrupted.
    pub kind: String,
    pub reason: String,
}

/// One line of a history.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Arrival time.
    pub at: Timestamp,
    pub what: What,
}

/// The three types of lines.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    Object(Recorded),
    Mark(Mark),
    Gap(Gap),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(rename = "type")]
    line_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<Arc<Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mark: Option<String>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    detail: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Why a history cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message describes its variant")]
pub enum HistoryError {
    #[error("history: {0}")]
    File(#[from] std::io::Error),
    #[error("history, line {line}: {reason}")]
    Line { line: usize, reason: String },
    #[error("the history has no header: pass its case with --case and its PodCliqueSet with --manifest")]
    NoHeader,
}

/// The recorded entries of one case.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    pub header: Header,
    /// Entries in the order of their arrival. Within a kind, this is the order of resourceVersions.
    pub entries: Vec<Entry>,
}

impl History {
    pub fn write(&self, mut to: impl Write) -> Result<(), HistoryError> {
        let broken = |e: serde_json::Error| HistoryError::File(e.into());
        serde_json::to_writer(&mut to, &self.header).map_err(broken)?;
        to.write_all(b"\n")?;
        for entry in &self.entries {
            serde_json::to_writer(&mut to, &Line::from(entry)).map_err(broken)?;
            to.write_all(b"\n")?;
        }
        Ok(to.flush()?)
    }

    /// Reads JSON lines. `given` replaces the header, which a recording of kubectl lacks.
    pub fn read(from: impl BufRead, given: Option<Header>) -> Result<Self, HistoryError> {
        let mut header = None;
        let mut entries = Vec::new();
        for (number, line) in from.lines().enumerate() {
            let line = line?;
            if line.trim().is_empty() {
                continue;
            }
            let invalid = |reason: String| HistoryError::Line { line: number + 1, reason };
            let value: Value = serde_json::from_str(&line).map_err(|e| invalid(e.to_string()))?;
            if value["kind"] == "History" {
                let read: Header = serde_json::from_value(value).map_err(|e| invalid(e.to_string()))?;
                if read.api_version != API_VERSION {
                    return Err(invalid(format!(
                        "unsupported apiVersion {}, want {API_VERSION}",
                        read.api_version
                    )));
                }
                header = Some(read);
                continue;
            }
            let line: Line = serde_json::from_value(value).map_err(|e| invalid(e.to_string()))?;
            entries.push(line.entry().map_err(invalid)?);
        }
        let header = given.or(header).ok_or(HistoryError::NoHeader)?;
        Ok(Self { header, entries })
    }
}

impl From<&Entry> for Line {
    fn from(entry: &Entry) -> Self {
        let mut line = Self {
            line_type: String::new(),
            at: Some(entry.at),
            object: None,
            mark: None,
            detail: Value::Null,
            kind: None,
            reason: None,
        };
        match &entry.what {
            What::Object(Recorded { change, object }) => {
                line.line_type = match change {
                    Change::Added => "ADDED",
                    Change::Modified => "MODIFIED",
                    Change::Deleted => "DELETED",
                }
                .into();
                line.object = Some(object.clone());
            }
            What::Mark(mark) => {
                line.line_type = "MARK".into();
                line.mark = Some(mark.name.clone());
                line.detail = mark.detail.clone();
            }
            What::Gap(gap) => {
                line.line_type = "GAP".into();
                line.kind = Some(gap.kind.clone());
                line.reason = Some(gap.reason.clone());
            }
        }
        line
    }
}

impl Line {
    fn entry(self) -> Result<Entry, String> {
        let change = match self.line_type.as_str() {
            "ADDED" => Some(Change::Added),
            "MODIFIED" => Some(Change::Modified),
            "DELETED" => Some(Change::Deleted),
            _ => None,
        };
        let what = match (change, self.line_type.as_str()) {
            (Some(change), _) => {
                let mut object = self.object.ok_or("field \"object\" is missing")?;
                // A recording of kubectl has the plain kind, without the group.
                if let Some(kind) = Kind::of_object(&object).filter(|kind| object["kind"] != kind.name) {
                    Arc::make_mut(&mut object)["kind"] = kind.name.into();
                }
                What::Object(Recorded { change, object })
            }
            (None, "MARK") => {
                What::Mark(Mark { name: self.mark.ok_or("field \"mark\" is missing")?, detail: self.detail })
            }
            (None, "GAP") => What::Gap(Gap {
                kind: self.kind.ok_or("field \"kind\" is missing")?,
                reason: self.reason.unwrap_or_default(),
            }),
            (None, other) => {
                return Err(format!("unknown type {other:?}: want ADDED, MODIFIED, DELETED, MARK or GAP"));
            }
        };
        Ok(Entry { at: self.at.unwrap_or(Timestamp::UNIX_EPOCH), what })
    }
}

#[cfg(test)]
mod tests {
    use conformance_contract::clauses::Feature;

    use super::*;
    use crate::testing::Story;

    #[test]
    fn a_written_header_keeps_the_declared_features_of_an_external_scheduler() {
        let target = Target::external_scheduler("mine", &[Feature::AtomicPodGang]).unwrap();
        let story = Story::on(target).end();
        let mut text: Vec<u8> = Vec::new();
        story.write(&mut text).unwrap();
        let read = History::read(text.as_slice(), None).unwrap();
        assert_eq!(read.header, story.header);
        let header = serde_json::to_value(&read.header).unwrap();
        let declared =
            serde_json::json!({"name": "mine", "features": ["GangScheduling", "AtomicPodGang", "External"]});
        assert_eq!(header["target"]["external-scheduler"], declared);
        let other = Header { target: Target::VOLCANO, ..read.header };
        assert_eq!(serde_json::to_value(other).unwrap()["target"], "volcano");
    }
}
