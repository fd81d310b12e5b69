//! The answer to a question: one word of the observation's list, with figures and notes. Only the word is
//! compared. Without an answer, there is a reason.

use conformance_contract::ruling::Broken;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub word: &'static str,
    pub figures: Vec<Figure>,
    pub notes: Vec<String>,
}

/// A measured number. It is shown and never compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Figure {
    pub name: String,
    pub value: f64,
    /// Such as `s` or `writes/min`.
    pub unit: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    #[error("{0}")]
    Because(String),
    /// The scheduler lacks the feature that the question is about.
    #[error("{0}")]
    DoesNotApply(String),
}

pub type Answered = Result<Answer, NoAnswer>;

impl Answer {
    pub(crate) fn new(word: &'static str) -> Self {
        Self { word, figures: Vec::new(), notes: Vec::new() }
    }

    /// Adds a figure, rounded to milliseconds or thousandths.
    #[must_use]
    pub(crate) fn figure(mut self, name: &str, value: f64, unit: &str) -> Self {
        let value = (value * 1000.0).round() / 1000.0;
        self.figures.push(Figure { name: name.into(), value, unit: unit.into() });
        self
    }

    #[must_use]
    pub(crate) fn count(self, name: &str, count: usize, unit: &str) -> Self {
        self.figure(name, count as f64, unit)
    }

    #[must_use]
    pub(crate) fn seconds(self, name: &str, seconds: Option<f64>) -> Self {
        match seconds {
            Some(seconds) => self.figure(name, seconds, "s"),
            None => self,
        }
    }

    #[must_use]
    pub(crate) fn notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }
}

impl From<Broken> for NoAnswer {
    fn from(broken: Broken) -> Self {
        Self::Because(match broken {
            Broken::NotReached(why) | Broken::NotAsked(why) => why,
            Broken::Violated(violations) | Broken::Precondition { violations, .. } => {
                let messages: Vec<_> = violations.into_iter().map(|violation| violation.message).collect();
                messages.join("; ")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_rounded_and_missing_durations_are_left_out() {
        let answer = Answer::new("bound").seconds("to binding", Some(1.234_56)).seconds("never", None);
        let figure = Figure { name: "to binding".into(), value: 1.235, unit: "s".into() };
        assert_eq!(answer.figures, [figure]);
    }
}
