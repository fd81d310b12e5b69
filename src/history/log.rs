//! A case's history and its file format.
//!
//! One JSON document per line. The first is the [`Header`]; every other is a watch event as `kubectl get --watch
//! --output-watch-events -o json` prints it (`{"type":"ADDED","object":{…}}`, with its arrival time in `at`), a
//! mark of the driver (`"type":"MARK"`), or a gap (`"type":"GAP"`: a watch was lost and had to list again, so
//! versions may be missing). A recording that a user made with kubectl is judged by naming its case to `replay`.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::Arc;

use conformance_contract::target::Target;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use conformance_contract::kinds::Kind;

/// The version of the file format.
pub(crate) const API_VERSION: &str = "conformance.grove.io/v1alpha1";

/// What a history is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// [`API_VERSION`].
    pub api_version: String,
    /// `History`.
    pub kind: String,
    /// The case's id, e.g. `aon/one-pod-short`.
    pub case: String,
    /// Backend and variant.
    pub target: Target,
    /// The case's namespace.
    pub namespace: String,
    /// The PodCliqueSets as they were sent, by name.
    pub submitted: BTreeMap<String, Value>,
    /// By how much the machine was slower than limits are made for, at its slowest; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowness: Option<f64>,
}

impl Header {
    /// A header of this format version.
    pub fn new(case: &str, target: Target, namespace: &str, submitted: BTreeMap<String, Value>) -> Self {
        Self {
            api_version: API_VERSION.into(),
            kind: "History".into(),
            case: case.into(),
            target,
            namespace: namespace.into(),
            submitted,
            slowness: None,
        }
    }
}

/// What a watch said about an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Change {
    /// It is there (new, or seen for the first time).
    Added,
    /// It is different.
    Modified,
    /// It is gone; the object is its last version, at the resourceVersion of its deletion.
    Deleted,
}

/// One version of one object.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// What the watch said.
    pub change: Change,
    /// The object, its managedFields without their field sets.
    pub object: Arc<Value>,
}

/// Something the harness did or saw, at a point of the history.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Its name.
    pub name: String,
    /// More about it.
    pub detail: Value,
}

/// A watch was lost and listed again: versions may be missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    /// Of this kind.
    pub kind: String,
    /// Why.
    pub reason: String,
}

/// One line of a history.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// When it arrived.
    pub at: Timestamp,
    /// What it is.
    pub what: What,
}

/// The three sorts of lines.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A version of an object.
    Object(Recorded),
    /// A mark of the harness.
    Mark(Mark),
    /// A gap.
    Gap(Gap),
}

/// A line as it is written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(rename = "type")]
    sort: String,
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

/// A history that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The file cannot be read or written.
    #[error("history: {0}")]
    File(#[from] std::io::Error),
    /// A line is not what the format says.
    #[error("history, line {line}: {reason}")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// No header, and none was given.
    #[error(
        "this history has no header; name the case it belongs to with --case and its PodCliqueSet with --manifest"
    )]
    NoHeader,
}

/// One case's part of what was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// What it is about.
    pub header: Header,
    /// In the order of arrival: within a kind that is the order of resourceVersions.
    pub entries: Vec<Entry>,
}

impl History {
    /// Writes it as JSON lines.
    ///
    /// # Errors
    /// [`HistoryError::File`].
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

    /// Reads JSON lines. `given` stands in for a header that a user's own recording lacks.
    ///
    /// # Errors
    /// [`HistoryError`], naming the line.
    pub fn read(from: impl BufRead, given: Option<Header>) -> Result<Self, HistoryError> {
        let mut header = None;
        let mut entries = Vec::new();
        for (number, line) in from.lines().enumerate() {
            let line = line?;
            if line.trim().is_empty() {
                continue;
            }
            let wrong = |reason: String| HistoryError::Line { line: number + 1, reason };
            let value: Value = serde_json::from_str(&line).map_err(|e| wrong(e.to_string()))?;
            if value["kind"] == "History" {
                let read: Header = serde_json::from_value(value).map_err(|e| wrong(e.to_string()))?;
                if read.api_version != API_VERSION {
                    return Err(wrong(format!("format {} is not {API_VERSION}", read.api_version)));
                }
                header = Some(read);
                continue;
            }
            let line: Line = serde_json::from_value(value).map_err(|e| wrong(e.to_string()))?;
            entries.push(line.entry().map_err(wrong)?);
        }
        let header = given.or(header).ok_or(HistoryError::NoHeader)?;
        Ok(Self { header, entries })
    }
}

impl From<&Entry> for Line {
    fn from(entry: &Entry) -> Self {
        let mut line = Self {
            sort: String::new(),
            at: Some(entry.at),
            object: None,
            mark: None,
            detail: Value::Null,
            kind: None,
            reason: None,
        };
        match &entry.what {
            What::Object(Recorded { change, object }) => {
                line.sort = match change {
                    Change::Added => "ADDED",
                    Change::Modified => "MODIFIED",
                    Change::Deleted => "DELETED",
                }
                .into();
                line.object = Some(object.clone());
            }
            What::Mark(mark) => {
                line.sort = "MARK".into();
                line.mark = Some(mark.name.clone());
                line.detail = mark.detail.clone();
            }
            What::Gap(gap) => {
                line.sort = "GAP".into();
                line.kind = Some(gap.kind.clone());
                line.reason = Some(gap.reason.clone());
            }
        }
        line
    }
}

impl Line {
    fn entry(self) -> Result<Entry, String> {
        let change = match self.sort.as_str() {
            "ADDED" => Some(Change::Added),
            "MODIFIED" => Some(Change::Modified),
            "DELETED" => Some(Change::Deleted),
            _ => None,
        };
        let what = match (change, self.sort.as_str()) {
            (Some(change), _) => {
                let mut object = self.object.ok_or("an object is missing")?;
                // A recording of kubectl's has the kind alone.
                if let Some(kind) = Kind::of_object(&object).filter(|kind| object["kind"] != kind.name) {
                    Arc::make_mut(&mut object)["kind"] = kind.name.into();
                }
                What::Object(Recorded { change, object })
            }
            (None, "MARK") => {
                What::Mark(Mark { name: self.mark.ok_or("a mark needs its name")?, detail: self.detail })
            }
            (None, "GAP") => What::Gap(Gap {
                kind: self.kind.ok_or("a gap needs its kind")?,
                reason: self.reason.unwrap_or_default(),
            }),
            (None, other) => return Err(format!("unknown type {other:?}")),
        };
        Ok(Entry { at: self.at.unwrap_or(Timestamp::UNIX_EPOCH), what })
    }
}

#[cfg(test)]
mod tests {
    use conformance_contract::clauses::Feature;
    use conformance_contract::target::Target;

    use super::*;
    use crate::testing::Story;

    #[test]
    fn a_history_says_what_was_declared() {
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
