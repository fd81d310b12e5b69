//! The document of all answers, `behaviour.json`. `UPDATE_SCHEMA=1 cargo test -p conformance-observe
//! published_schema` updates its schema, `docs/behaviour.schema.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Figure;

/// What schedulers do where nothing is promised: the answers of one run of `observe`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Behaviour {
    /// Version of the format.
    pub api_version: String,
    /// Always `Behaviour`.
    pub kind: String,
    /// When the run ended, in RFC 3339.
    pub date: String,
    /// Version of the suite.
    pub suite: String,
    /// The command line.
    pub command: String,
    /// Version of the control plane.
    pub kubernetes: String,
    /// How often each question was asked.
    pub rounds: u32,
    /// The questions, with the answer of each scheduler.
    pub questions: Vec<Question>,
}

/// A question and its answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Such as `surplus/room-for-some`.
    pub id: String,
    /// The question in plain English.
    pub question: String,
    /// Every possible answer.
    pub answers: Vec<String>,
    /// One cell per scheduler.
    pub cells: Vec<Cell>,
}

/// The answer of one scheduler.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cell {
    /// The schedulerName.
    pub backend: String,
    /// Version of the scheduler.
    pub version: String,
    /// Whether there is an answer.
    pub outcome: Outcome,
    /// The answer, if the outcome is `answered`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The number of rounds with each answer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub distribution: BTreeMap<String, u32>,
    /// Why a round has no answer, why the question does not apply, or why the answers vary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Measured numbers of the first round with this answer. They are not compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
    /// Texts of the scheduler and other evidence of that round. They are not compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The histories of all rounds. `replay` gives the same answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histories: Vec<Evidence>,
}

/// Whether a question was answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// At least four of five rounds gave the same answer.
    Answered,
    /// The rounds gave different answers.
    Varies,
    /// Too few rounds reached the moment of the question.
    #[default]
    NoAnswer,
    /// The scheduler does not have what the question is about.
    DoesNotApply,
}

/// The history of a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Path relative to the document.
    pub file: String,
    /// SHA-256 of the file.
    pub sha256: String,
    /// SHA-256 of the whole history, if the file is an excerpt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt_of: Option<String>,
}

impl Behaviour {
    pub const API_VERSION: &str = "conformance.grove.io/v1alpha1";
    pub const KIND: &str = "Behaviour";

    pub fn read(json: &str) -> Result<Self, serde_json::Error> {
        let read: Self = serde_json::from_str(json)?;
        if (read.api_version.as_str(), read.kind.as_str()) == (Self::API_VERSION, Self::KIND) {
            return Ok(read);
        }
        let (found, wanted) = ((&read.api_version, &read.kind), (Self::API_VERSION, Self::KIND));
        Err(serde::de::Error::custom(format!(
            "expected {} {}, found {} {}",
            wanted.0, wanted.1, found.0, found.1
        )))
    }

    pub fn write(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    pub fn cells(&self) -> impl Iterator<Item = (&Question, &Cell)> {
        self.questions.iter().flat_map(|question| question.cells.iter().map(move |cell| (question, cell)))
    }
}

impl Cell {
    /// The text of the cell. `word` formats an answer, given the position of its history.
    pub fn shown(&self, word: impl Fn(&str, usize) -> String) -> String {
        match self.outcome {
            Outcome::Answered => {
                let figure =
                    self.figures.first().map(|figure| format!(" ({} {})", figure.value, figure.unit));
                word(self.answer.as_deref().unwrap_or_default(), 0) + &figure.unwrap_or_default()
            }
            Outcome::Varies => {
                // Published excerpts are in the order of the answers.
                let answers = self.distribution.iter().enumerate();
                let rounds =
                    answers.map(|(index, (answer, times))| format!("{} {times}", word(answer, index)));
                format!("varies: {}", rounds.collect::<Vec<_>>().join(", "))
            }
            Outcome::NoAnswer => word("no answer", 0),
            Outcome::DoesNotApply => "does not apply".into(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use schemars::schema_for;

    use super::*;

    pub(crate) fn document(outcome: Outcome, answer: Option<&str>) -> Behaviour {
        let cell = Cell {
            backend: "volcano".into(),
            version: "v1.15.1".into(),
            outcome,
            answer: answer.map(str::to_owned),
            distribution: answer.map(|answer| (answer.to_owned(), 1)).into_iter().collect(),
            ..Cell::default()
        };
        let question = Question {
            id: "bound/lost-pod-replaced".into(),
            question: "Is it bound?".into(),
            answers: vec!["bound".into(), "waits".into()],
            cells: vec![cell],
        };
        Behaviour {
            api_version: Behaviour::API_VERSION.into(),
            kind: Behaviour::KIND.into(),
            date: "2026-11-28T00:00:00Z".into(),
            suite: "0.1.0".into(),
            command: "grove-conformance observe".into(),
            kubernetes: "v1.36.5".into(),
            rounds: 1,
            questions: vec![question],
        }
    }

    pub(crate) fn column(backend: &str, version: &str, outcome: Outcome, answer: Option<&str>) -> Behaviour {
        let mut column = document(outcome, answer);
        let cell = &mut column.questions[0].cells[0];
        (cell.backend, cell.version) = (backend.into(), version.into());
        column
    }

    #[test]
    fn a_written_document_is_read_again() {
        let document = document(Outcome::Answered, Some("bound"));
        let text = document.write().unwrap();
        assert!(text.contains(r#""outcome": "answered""#), "{text}");
        assert_eq!(Behaviour::read(&text).unwrap(), document);
        let error = Behaviour::read(&text.replace("\"Behaviour\"", "\"Report\"")).unwrap_err().to_string();
        assert!(error.contains("found conformance.grove.io/v1alpha1 Report"), "{error}");
    }

    #[test]
    fn the_published_schema_is_up_to_date() {
        let path = format!("{}/../../docs/behaviour.schema.json", env!("CARGO_MANIFEST_DIR"));
        let derived = format!("{:#}\n", schema_for!(Behaviour).to_value());
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(&path, &derived).unwrap();
        }
        let published = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            published == derived,
            "docs/behaviour.schema.json is out of date: UPDATE_SCHEMA=1 cargo test published_schema"
        );
    }
}
