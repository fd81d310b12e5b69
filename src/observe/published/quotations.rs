//! Tests that the pages of schedulers in `docs/backends` quote the published answers, by ids of observations.

use super::column::{cell, scheduler};
use crate::behaviour::{Behaviour, Outcome};
use crate::decisions::is_of_minor;

const PAGES: [(&str, &str); 4] = [
    ("default-scheduler", include_str!("../../../docs/backends/kube-scheduler.md")),
    ("volcano", include_str!("../../../docs/backends/volcano.md")),
    ("koord-scheduler", include_str!("../../../docs/backends/koordinator.md")),
    ("kai-scheduler", include_str!("../../../docs/backends/kai.md")),
];

#[derive(Debug, PartialEq)]
struct Quotation<'a> {
    id: &'a str,
    word: &'a str,
    /// The minor version of Kubernetes; absent if the answer is the same on every version.
    kubernetes: Option<&'a str>,
}

/// Parses a table row such as ``| `id` | `bound` on 1.36, `waits` on 1.37 | text |``. Other rows quote nothing.
fn quotations(row: &str) -> Vec<Quotation<'_>> {
    let cells = row.strip_prefix("| `").and_then(|rest| rest.split_once("` | "));
    let Some((id, rest)) = cells.filter(|(id, _)| id.contains('/')) else { return Vec::new() };
    let answers = rest.split(" | ").next().unwrap_or_default().split(", ");
    let words = answers.filter_map(|answer| answer.strip_prefix('`')?.split_once('`'));
    words.map(|(word, rest)| Quotation { id, word, kubernetes: rest.trim().strip_prefix("on ") }).collect()
}

/// The columns of the newest version of each scheduler. The pages and the decisions are about these.
fn newest(columns: &[Behaviour]) -> impl Iterator<Item = &Behaviour> {
    let place = |column: &Behaviour| (scheduler(column).0.to_owned(), column.kubernetes.clone());
    let next = columns.iter().skip(1).map(Some).chain([None]);
    let pairs = columns.iter().zip(next);
    pairs
        .filter(move |(column, next)| next.is_none_or(|next| place(next) != place(column)))
        .map(|(column, _)| column)
}

fn contradictions(pages: &[(&str, &str)], columns: &[Behaviour]) -> Vec<String> {
    let mut found = Vec::new();
    for column in newest(columns) {
        let (backend, version) = scheduler(column);
        let lines = pages.iter().filter(|(of, _)| *of == backend).flat_map(|(_, page)| page.lines());
        for Quotation { id, word, kubernetes } in lines.flat_map(quotations) {
            let is_about_column = kubernetes.is_none_or(|minor| is_of_minor(&column.kubernetes, minor));
            let Some(cell) = cell(column, id).filter(|_| is_about_column) else { continue };
            let answer = match cell.outcome {
                Outcome::Answered => cell.answer.as_deref().unwrap_or_default(),
                Outcome::Varies => "varies",
                Outcome::DoesNotApply => "does not apply",
                Outcome::NoAnswer => continue,
            };
            if answer != word {
                found.push(format!(
                    "{id} on {backend} {version}: the page has {word}, the answer is {answer}"
                ));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::behaviour::tests::column;
    use crate::published::sort;
    use crate::{all, contradicted_decisions, observation};

    /// Whether a text between backticks is the id of an observation. Ids of cases have other groups.
    fn is_id(text: &str) -> bool {
        let is_plain =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-/".contains(letter);
        let group = text.split_once('/').map(|(group, _)| group);
        text.chars().all(is_plain) && all().any(|observation| Some(observation.case.group()) == group)
    }

    #[test]
    fn pages_of_schedulers_quote_answers_that_exist() {
        let row = "| `priority/between-pods` | `bound` on 1.36, `waits` (also 1.14.1) | text `waits` |";
        let found = quotations(row);
        let id = "priority/between-pods";
        let wanted = [
            Quotation { id, word: "bound", kubernetes: Some("1.36") },
            Quotation { id, word: "waits", kubernetes: None },
        ];
        assert_eq!(found, wanted);
        assert!(quotations("| `gangMode` | `Strict` | `Strict` |").is_empty());
        assert!(is_id("bound/nothing") && !is_id("aon/one-pod-short") && !is_id("bound/ or"));
        let ids = PAGES.iter().flat_map(|(_, page)| page.split('`')).filter(|text| is_id(text));
        let unknown: Vec<_> = ids.filter(|id| observation(id).is_none()).collect();
        assert!(unknown.is_empty(), "no observation: {unknown:?}");
        let quoted: Vec<_> = PAGES.iter().flat_map(|(_, page)| page.lines()).flat_map(quotations).collect();
        for Quotation { id, word, .. } in &quoted {
            let known = observation(id).map(|observation| observation.answers).unwrap_or_default();
            assert!(known.contains(word), "{id}: {word}, want one of {known:?}");
        }
        assert!(quoted.len() >= 40, "{} quotations", quoted.len());
    }

    #[rstest::rstest]
    #[case::same("`bound`", 0)]
    #[case::other("`waits`", 1)]
    #[case::other_version("`waits` on 1.37", 0)]
    #[case::this_version("`waits` on 1.36, `bound` on 1.37", 1)]
    fn a_page_that_quotes_another_answer_is_reported(#[case] answers: &str, #[case] wanted: usize) {
        let columns = [("v1.14.1", "waits"), ("v1.15.1", "bound")];
        let columns =
            columns.map(|(version, word)| column("volcano", version, Outcome::Answered, Some(word)));
        let page = format!("| `bound/lost-pod-replaced` | {answers} | |");
        let found = contradictions(&[("volcano", page.as_str())], &columns);
        assert_eq!(found.len(), wanted, "{found:?}");
        assert!(found.iter().all(|line| line.contains("volcano v1.15.1")), "{found:?}");
        assert!(contradictions(&[("koord-scheduler", page.as_str())], &columns).is_empty());
    }

    #[rstest::rstest]
    #[case::varies(Outcome::Varies, 1)]
    #[case::does_not_apply(Outcome::DoesNotApply, 1)]
    #[case::no_answer(Outcome::NoAnswer, 0)]
    fn a_quoted_answer_needs_one_answer(#[case] outcome: Outcome, #[case] wanted: usize) {
        let columns = [column("volcano", "v1.15.1", outcome, None)];
        let page = ("volcano", "| `bound/lost-pod-replaced` | `bound` | |");
        assert_eq!(contradictions(&[page], &columns).len(), wanted);
    }

    fn published() -> Vec<Behaviour> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/behaviour");
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        let documents = entries.map(|entry| entry.unwrap().path().join("behaviour.json"));
        let mut columns: Vec<_> =
            documents.map(|path| Behaviour::read(&std::fs::read_to_string(path).unwrap()).unwrap()).collect();
        sort(&mut columns);
        columns
    }

    #[test]
    fn published_answers_agree_with_the_pages_and_the_decisions() {
        let columns = published();
        assert!(!columns.is_empty(), "results/behaviour has no answers");
        let mut found = contradictions(&PAGES, &columns);
        for column in newest(&columns) {
            found.extend(contradicted_decisions(column).unwrap());
        }
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}
