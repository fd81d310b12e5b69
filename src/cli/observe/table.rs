//! The answers as a table: a row per question, a column per scheduler. Reasons follow below.

use std::fmt::Write as _;

use conformance_observe::{Behaviour, Cell, Outcome};

use crate::list;

pub(super) fn table(document: &Behaviour) -> String {
    let first = document.questions.first();
    let columns = first.into_iter().flat_map(|question| &question.cells);
    let mut header = vec![format!("KUBERNETES {}", document.kubernetes)];
    header.extend(columns.map(|cell| format!("{} {}", cell.backend, cell.version)));
    let mut table = list::table(header);
    for question in &document.questions {
        let mut row = vec![format!("{}\n  {}", question.id, question.question)];
        row.extend(question.cells.iter().map(answer));
        table.add_row(row);
    }
    format!("{table}\n{}", reasons(document))
}

pub(super) fn answer(cell: &Cell) -> String {
    cell.shown(|word, _| word.to_owned())
}

fn reasons(document: &Behaviour) -> String {
    let mut text = String::new();
    for (question, cell) in document.cells() {
        if let Some(reason) = &cell.reason {
            let what = match cell.outcome {
                Outcome::DoesNotApply => "does not apply: ",
                Outcome::NoAnswer => "no answer: ",
                Outcome::Answered | Outcome::Varies => "",
            };
            let _ = writeln!(text, "{}, {}: {what}{reason}", question.id, cell.backend);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use conformance_observe::Question;

    use super::*;

    #[rstest::rstest]
    #[case::lost_round(Outcome::Answered, "a/b, volcano: it stopped\n")]
    #[case::no_answer(Outcome::NoAnswer, "a/b, volcano: no answer: it stopped\n")]
    #[case::does_not_apply(Outcome::DoesNotApply, "a/b, volcano: does not apply: it stopped\n")]
    fn a_reason_names_its_question_and_backend(#[case] outcome: Outcome, #[case] wanted: &str) {
        let reason = Some("it stopped".into());
        let cell = Cell { backend: "volcano".into(), outcome, reason, ..Cell::default() };
        let question = Question { id: "a/b".into(), cells: vec![cell], ..Question::default() };
        let document = Behaviour { questions: vec![question], ..Behaviour::default() };
        assert_eq!(reasons(&document), wanted);
    }
}
