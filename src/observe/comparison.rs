//! Compares two documents. Reports each answer that changed, and each question of the new document that no
//! longer has an answer. Questions and schedulers are matched by name, so the versions may differ. It is a
//! change if a question starts or stops to apply. The outcome `Varies` is no change.

use crate::behaviour::{Behaviour, Cell, Outcome, Question};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Difference {
    pub changed: Vec<String>,
    pub lost: Vec<Loss>,
}

/// An answer of the old document that the new one lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    pub place: String,
    pub reason: String,
}

/// Only questions and schedulers of `new` are compared.
pub fn differences(old: &Behaviour, new: &Behaviour) -> Difference {
    let mut found = Difference::default();
    for (question, cell) in new.cells() {
        let Some(before) = cell_of(old, question, &cell.backend) else { continue };
        let place = format!("{} on {} ({} to {})", question.id, cell.backend, before.version, cell.version);
        match (shown(before), shown(cell)) {
            (Some(old), Some(new)) if old != new => found.changed.push(format!("{place}: {new}, was {old}")),
            (Some(_), None) if (before.outcome, cell.outcome) == (Outcome::Answered, Outcome::NoAnswer) => {
                let reason = cell.reason.clone().unwrap_or_default();
                found.lost.push(Loss { place, reason });
            }
            _ => {}
        }
    }
    found
}

/// What a cell shows, if it is compared. A version of a scheduler may lack the feature.
fn shown(cell: &Cell) -> Option<&str> {
    match cell.outcome {
        Outcome::Answered => cell.answer.as_deref(),
        Outcome::DoesNotApply => Some("does not apply"),
        Outcome::Varies | Outcome::NoAnswer => None,
    }
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
    #[case::does_not_apply(Outcome::DoesNotApply, None, 1, 0)]
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

    #[rstest::rstest]
    #[case::applies(Outcome::Answered, Some("bound"), 1)]
    #[case::same(Outcome::DoesNotApply, None, 0)]
    #[case::no_answer(Outcome::NoAnswer, None, 0)]
    fn a_question_that_begins_to_apply_is_a_change(
        #[case] outcome: Outcome,
        #[case] answer: Option<&str>,
        #[case] changed: usize,
    ) {
        let old = document(Outcome::DoesNotApply, None);
        let found = differences(&old, &document(outcome, answer));
        assert_eq!((found.changed.len(), found.lost.len()), (changed, 0), "{found:?}");
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
