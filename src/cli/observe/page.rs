use conformance_observe::{Behaviour, Cell, Outcome, Question};
use conformance_page::{AnsweredQuestion, Answers, ShownAnswer};

use super::table;

pub(super) fn answers(document: &Behaviour, notes: Vec<String>) -> Answers {
    let Behaviour { date, suite, command, kubernetes, rounds, .. } = document;
    let first = document.questions.first();
    let columns = first.into_iter().flat_map(|question| &question.cells);
    Answers {
        lead: format!(
            "Kubernetes {kubernetes}, {date}, suite {suite}, rounds per question: {rounds}. Command: {command}"
        ),
        notes,
        schedulers: columns.map(|cell| format!("{} {}", cell.backend, cell.version)).collect(),
        questions: document.questions.iter().map(answered).collect(),
    }
}

fn answered(question: &Question) -> AnsweredQuestion {
    AnsweredQuestion {
        id: question.id.clone(),
        question: question.question.clone(),
        answers: question.cells.iter().map(shown).collect(),
    }
}

fn shown(cell: &Cell) -> ShownAnswer {
    let figures =
        cell.figures.iter().map(|figure| format!("{}: {} {}", figure.name, figure.value, figure.unit));
    ShownAnswer {
        word: table::answer(cell),
        class: match cell.outcome {
            Outcome::Answered => "answered",
            Outcome::Varies => "known-deviation",
            Outcome::NoAnswer => "not-run",
            Outcome::DoesNotApply => "unsupported",
        },
        details: cell.reason.iter().cloned().chain(figures).chain(cell.notes.iter().cloned()).collect(),
        // The first history shows the answer of the table.
        history: cell.histories.first().map(|evidence| evidence.file.clone()),
    }
}

#[cfg(test)]
mod tests {
    use conformance_observe::{Evidence, Figure};

    use super::*;

    #[test]
    fn an_answer_has_its_figures_notes_and_history() {
        let cell = conformance_observe::cell("volcano", "v1.15.1", Vec::new());
        let evidence = |file: &str| Evidence { file: file.into(), sha256: String::new(), excerpt_of: None };
        let cell = Cell {
            outcome: Outcome::Answered,
            answer: Some("bound".into()),
            figures: vec![Figure { name: "creation to binding".into(), value: 0.9, unit: "s".into() }],
            notes: vec!["phase Running".into()],
            histories: vec![evidence("a.jsonl"), evidence("b.jsonl")],
            ..cell
        };
        let found = shown(&cell);
        assert_eq!((found.word.as_str(), found.class), ("bound (0.9 s)", "answered"));
        assert_eq!(found.details, ["creation to binding: 0.9 s", "phase Running"]);
        assert_eq!(found.history.as_deref(), Some("a.jsonl"));
    }
}
