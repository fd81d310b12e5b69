//! The page of committed answers: a row per question, a column per scheduler and version, with evidence.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::column::{cell, folder_name, title};
use super::versions::version_changes;
use crate::behaviour::{Behaviour, Evidence, Outcome};

const HEAD: &str = "# Observed behaviour\n\n\
    What schedulers do where the contract promises nothing. `grove-conformance dev behaviour` writes this \
    page from\nthe folder [behaviour](behaviour). [docs/observe.md](../docs/observe.md) explains the cells. \
    Each answer links an excerpt of\nits history, from which `grove-conformance replay` gives the same \
    answer.\n";

/// Links are relative to the folder that has `behaviour`.
pub fn page(columns: &[Behaviour]) -> String {
    // Writing to a String does not fail.
    let mut text = String::from(HEAD);
    let titles: Vec<String> = columns.iter().map(title).collect();
    let _ = writeln!(text, "\n| question | {} |", titles.join(" | "));
    let _ = writeln!(text, "|---|{}", "---|".repeat(columns.len()));
    for (id, question) in questions(columns) {
        let cells = columns.iter().map(|column| shown(column, id));
        let _ = writeln!(text, "| `{id}`<br>{question} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    reasons(&mut text, columns);
    changes(&mut text, columns);
    evidence(&mut text, columns);
    text
}

/// The questions of all columns by id. The last column has the current wording.
fn questions(columns: &[Behaviour]) -> Vec<(&str, &str)> {
    let all = columns.iter().flat_map(|column| &column.questions);
    let by_id: BTreeMap<&str, &str> =
        all.map(|question| (question.id.as_str(), question.question.as_str())).collect();
    by_id.into_iter().collect()
}

fn shown(column: &Behaviour, id: &str) -> String {
    let Some(cell) = cell(column, id) else { return "not asked".into() };
    cell.shown(|word, index| match cell.histories.get(index) {
        Some(evidence) => format!("[{word}](behaviour/{}/{})", folder_name(column), evidence.file),
        None => word.to_owned(),
    })
}

fn reasons(text: &mut String, columns: &[Behaviour]) {
    let mut lines = String::new();
    for column in columns {
        for (question, cell) in column.cells() {
            if let (false, Some(reason)) = (cell.outcome == Outcome::Answered, &cell.reason) {
                let _ = writeln!(lines, "- `{}` on {}: {reason}.", question.id, title(column));
            }
        }
    }
    if !lines.is_empty() {
        let _ = write!(text, "\n## Cells without one answer\n\n{lines}");
    }
}

fn changes(text: &mut String, columns: &[Behaviour]) {
    for step in version_changes(columns) {
        let found = step.difference;
        let _ = writeln!(text, "\n## From {} to {}\n", step.from, step.to);
        if found.changed.is_empty() && found.lost.is_empty() {
            text.push_str("No answer changed.\n");
        }
        for line in &found.changed {
            let _ = writeln!(text, "- {line}");
        }
        for loss in &found.lost {
            let _ = writeln!(text, "- {}: no longer answered: {}", loss.place, loss.reason);
        }
    }
}

fn evidence(text: &mut String, columns: &[Behaviour]) {
    for column in columns {
        let rounds = match column.rounds {
            1 => "1 round".to_owned(),
            rounds => format!("{rounds} rounds"),
        };
        let (date, suite, command) = (&column.date, &column.suite, &column.command);
        let _ = writeln!(text, "\n## Evidence: {}\n", title(column));
        let _ = writeln!(text, "{date}, version {suite} of the suite, {rounds}: `{command}`\n");
        text.push_str("| excerpt | SHA-256 | SHA-256 of the whole history |\n|---|---|---|\n");
        for evidence in column.cells().flat_map(|(_, cell)| &cell.histories) {
            let Evidence { file, sha256, excerpt_of } = evidence;
            let whole = excerpt_of.as_deref().unwrap_or_default();
            let link = format!("[{file}](behaviour/{}/{file})", folder_name(column));
            let _ = writeln!(text, "| {link} | `{sha256}` | `{whole}` |");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behaviour::tests;

    fn evidence_of(file: &str) -> Evidence {
        Evidence { file: file.into(), sha256: "abc".into(), excerpt_of: Some("def".into()) }
    }

    fn column(version: &str, outcome: Outcome, answer: Option<&str>) -> Behaviour {
        let mut column = tests::column("volcano", version, outcome, answer);
        column.questions[0].cells[0].histories = vec![evidence_of("x.jsonl")];
        column
    }

    #[test]
    fn a_cell_links_its_excerpt() {
        let text = page(&[column("v1.15.1", Outcome::Answered, Some("bound"))]);
        let link = "[bound](behaviour/volcano-v1.15.1-on-v1.36.5/x.jsonl)";
        assert!(text.contains(&format!("| `bound/lost-pod-replaced`<br>Is it bound? | {link} |")), "{text}");
        assert!(text.contains("| `abc` | `def` |"), "{text}");
        assert!(
            text.contains("2026-11-28T00:00:00Z, version 0.1.0 of the suite, 1 round: `grove-"),
            "{text}"
        );
    }

    #[test]
    fn every_answer_of_a_cell_that_varies_has_its_excerpt() {
        let mut varies = column("v1.15.1", Outcome::Varies, None);
        let cell = &mut varies.questions[0].cells[0];
        cell.distribution = [("bound".to_owned(), 3), ("waits".to_owned(), 2)].into();
        cell.histories = vec![evidence_of("b.jsonl"), evidence_of("w.jsonl")];
        let text = page(&[varies]);
        let folder = "behaviour/volcano-v1.15.1-on-v1.36.5";
        let wanted = format!("varies: [bound]({folder}/b.jsonl) 3, [waits]({folder}/w.jsonl) 2");
        assert!(text.contains(&wanted), "{text}");
    }

    #[test]
    fn changes_between_versions_are_listed() {
        let old = column("v1.15.1", Outcome::Answered, Some("bound"));
        let new = column("v1.16.0", Outcome::Answered, Some("waits"));
        let text = page(&[old.clone(), new]);
        assert!(text.contains("(v1.15.1 to v1.16.0): waits, was bound"), "{text}");
        assert!(page(&[old.clone(), old]).contains("No answer changed."));
    }

    #[test]
    fn the_reasons_of_cells_without_one_answer_are_shown() {
        for outcome in [Outcome::DoesNotApply, Outcome::NoAnswer, Outcome::Varies, Outcome::Answered] {
            let mut open = column("v1.15.1", outcome, None);
            open.questions[0].cells[0].reason = Some("it has no queue".into());
            let text = page(&[open]);
            let wanted =
                "- `bound/lost-pod-replaced` on volcano v1.15.1, Kubernetes v1.36.5: it has no queue.";
            assert_eq!(text.contains(wanted), outcome != Outcome::Answered, "{text}");
        }
    }
}
