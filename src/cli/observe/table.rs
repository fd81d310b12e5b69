//! The answers as a table: a row per question, a column per scheduler. Reasons follow below.

use std::fmt::Write as _;

use comfy_table::{ContentArrangement, Table, presets};
use conformance_observe::{Behaviour, Cell, Outcome};

pub(super) fn table(document: &Behaviour) -> String {
    let first = document.questions.first();
    let columns = first.into_iter().flat_map(|question| &question.cells);
    let mut header = vec![format!("KUBERNETES {}", document.kubernetes)];
    header.extend(columns.map(|cell| format!("{} {}", cell.backend, cell.version)));
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header);
    for question in &document.questions {
        let mut row = vec![format!("{}\n  {}", question.id, question.question)];
        row.extend(question.cells.iter().map(answer));
        table.add_row(row);
    }
    format!("{table}\n{}", reasons(document))
}

pub(super) fn answer(cell: &Cell) -> String {
    match cell.outcome {
        Outcome::Answered => {
            let word = cell.answer.clone().unwrap_or_default();
            match cell.figures.first() {
                Some(figure) => format!("{word} ({} {})", figure.value, figure.unit),
                None => word,
            }
        }
        Outcome::Varies => {
            let times = cell.distribution.iter().map(|(word, times)| format!("{word} {times}"));
            format!("varies: {}", times.collect::<Vec<_>>().join(", "))
        }
        Outcome::NoAnswer => "no answer".into(),
        Outcome::DoesNotApply => "does not apply".into(),
    }
}

fn reasons(document: &Behaviour) -> String {
    let mut text = String::new();
    for (question, cell) in document.cells() {
        if let Some(reason) = &cell.reason {
            let what = if cell.outcome == Outcome::DoesNotApply { "does not apply" } else { "no answer" };
            // Writing to a String does not fail.
            let _ = writeln!(text, "{}, {}: {what}: {reason}", question.id, cell.backend);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use conformance_observe::Figure;

    use super::*;

    fn cell(outcome: Outcome, answer: Option<&str>) -> Cell {
        let cell = conformance_observe::cell("volcano", "v1.15.1", Vec::new());
        let distribution = BTreeMap::from([("bound".to_owned(), 3), ("waits".to_owned(), 2)]);
        let figures = vec![Figure { name: "creation to binding".into(), value: 0.9, unit: "s".into() }];
        Cell { outcome, answer: answer.map(str::to_owned), distribution, figures, ..cell }
    }

    #[rstest::rstest]
    #[case(Outcome::Answered, Some("bound"), "bound (0.9 s)")]
    #[case(Outcome::Varies, None, "varies: bound 3, waits 2")]
    #[case(Outcome::NoAnswer, None, "no answer")]
    #[case(Outcome::DoesNotApply, None, "does not apply")]
    fn a_cell_shows_its_answer(#[case] outcome: Outcome, #[case] word: Option<&str>, #[case] shown: &str) {
        assert_eq!(answer(&cell(outcome, word)), shown);
    }
}
