//! Compares two documents. Reports each answer that changed, and each question of the new document that no
//! longer has an answer. Questions and schedulers are matched by name, so the versions may differ. A cell
//! with the outcome `Varies` does not count as a change.

use crate::behaviour::{Behaviour, Cell, Outcome, Question};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Difference {
    pub changed: Vec<String>,
    pub lost: Vec<Loss>,
}

/// An answer of the old document that the new one lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The question and the scheduler.
    pub place: String,
    pub reason: String,
}

/// The differences from `old` to `new`, for the questions and schedulers of `new`.
pub fn differences(old: &Behaviour, new: &Behaviour) -> Difference {
    let mut found = Difference::default();
    for (question, cell) in new.cells() {
        let Some(before) = cell_of(old, question, &cell.backend) else { continue };
        let place = format!("{} on {} ({} to {})", question.id, cell.backend, before.version, cell.version);
        match (before.outcome, cell.outcome) {
            (Outcome::Answered, Outcome::Answered) if before.answer != cell.answer => {
                let word = |cell: &Cell| cell.answer.clone().unwrap_or_default();
                found.changed.push(format!("{place}: {}, was {}", word(cell), word(before)));
            }
            (Outcome::Answered, Outcome::NoAnswer) => {
                let reason = cell.reason.clone().unwrap_or_default();
                found.lost.push(Loss { place, reason });
            }
            _ => {}
        }
    }
    found
}

fn cell_of<'a>(document: &'a Behaviour, question: &Question, backend: &str) -> Option<&'a Cell> {
    let found = document.questions.iter().find(|found| found.id == question.id)?;
    found.cells.iter().find(|cell| cell.backend == backend)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behaviour::tests::document;

    #[rstest::rstest]
    #[case::same(Outcome::Answered, Some("bound"), 0, 0)]
    #[case::changed(Outcome::Answered, Some("waits"), 1, 0)]
    #[case::varies(Outcome::Varies, None, 0, 0)]
    #[case::lost(Outcome::NoAnswer, None, 0, 1)]
    fn only_a_different_answer_is_a_change(
        #[case] outcome: Outcome,
        #[case] answer: Option<&str>,
        #[case] changed: usize,
        #[case] lost: usize,
    ) {
        let old = document(Outcome::Answered, Some("bound"));
        let found = differences(&old, &document(outcome, answer));
        assert_eq!((found.changed.len(), found.lost.len()), (changed, lost), "{found:?}");
    }

    #[test]
    fn a_change_names_both_answers_and_versions() {
        let old = document(Outcome::Answered, Some("bound"));
        let mut new = document(Outcome::Answered, Some("waits"));
        new.questions[0].cells[0].version = "v1.16.0".into();
        let line = "bound/lost-pod-replaced on volcano (v1.15.1 to v1.16.0): waits, was bound";
        assert_eq!(differences(&old, &new).changed, [line]);
        new.questions[0].id = "bound/new".into();
        assert_eq!(differences(&old, &new), Difference::default(), "the question is new");
    }
}
