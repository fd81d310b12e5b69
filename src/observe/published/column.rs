//! The answers of one scheduler in one version: a document whose questions have one cell each.

use std::collections::BTreeSet;

use conformance_contract::target::AI_CONFORMANCE_TARGETS;

use crate::behaviour::{Behaviour, Cell};

pub fn by_scheduler(document: &Behaviour) -> Vec<Behaviour> {
    let backends: BTreeSet<&str> = document.cells().map(|(_, cell)| cell.backend.as_str()).collect();
    let only = |backend: &str| {
        let mut column = document.clone();
        for question in &mut column.questions {
            question.cells.retain(|cell| cell.backend == backend);
        }
        column.questions.retain(|question| !question.cells.is_empty());
        column
    };
    backends.into_iter().map(only).collect()
}

pub(super) fn scheduler(column: &Behaviour) -> (&str, &str) {
    column.cells().next().map_or(("", ""), |(_, cell)| (cell.backend.as_str(), cell.version.as_str()))
}

/// Such as `volcano v1.15.1, Kubernetes v1.36.5`.
pub(super) fn title(column: &Behaviour) -> String {
    let (backend, version) = scheduler(column);
    format!("{backend} {version}, Kubernetes {}", column.kubernetes)
}

pub(super) fn cell<'a>(column: &'a Behaviour, id: &str) -> Option<&'a Cell> {
    let found = column.questions.iter().find(|question| question.id == id)?;
    found.cells.first()
}

/// The folder of a column, such as `volcano-v1.15.1-on-v1.36.5`.
pub fn folder_name(column: &Behaviour) -> String {
    let (backend, version) = scheduler(column);
    let name = format!("{backend}-{version}-on-{}", column.kubernetes);
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '.' || letter == '-';
    name.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect()
}

/// Sorts columns by scheduler, then by the version of Kubernetes, then by that of the scheduler.
pub fn sort(columns: &mut [Behaviour]) {
    columns.sort_by_cached_key(|column| {
        let (backend, version) = scheduler(column);
        let rank = AI_CONFORMANCE_TARGETS.iter().position(|target| target.backend() == backend);
        let rank = rank.unwrap_or(usize::MAX);
        (rank, numbers(&column.kubernetes), numbers(version), version.to_owned())
    });
}

/// So that 1.9 precedes 1.10.
fn numbers(version: &str) -> Vec<u64> {
    version.split(|letter: char| !letter.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behaviour::{Outcome, tests};

    fn column(backend: &str, version: &str, kubernetes: &str) -> Behaviour {
        let column = tests::column(backend, version, Outcome::Answered, Some("bound"));
        Behaviour { kubernetes: kubernetes.into(), ..column }
    }

    #[test]
    fn a_document_is_split_by_scheduler() {
        let mut both = column("volcano", "v1.15.1", "v1.36.5");
        let other = column("koord-scheduler", "v1.8.0", "v1.36.5");
        both.questions[0].cells.push(other.questions[0].cells[0].clone());
        let split = by_scheduler(&both);
        assert_eq!(split, [other, column("volcano", "v1.15.1", "v1.36.5")]);
        assert_eq!(folder_name(&split[1]), "volcano-v1.15.1-on-v1.36.5");
        assert_eq!(folder_name(&column("mine", "a/b c", "v1")), "mine-a-b-c-on-v1");
    }

    #[test]
    fn columns_are_in_the_order_of_schedulers_and_versions() {
        let mut columns = [
            column("mine", "v1", "v1.36.5"),
            column("volcano", "v1.10.0", "v1.36.5"),
            column("volcano", "v1.9.0", "v1.36.5"),
            column("default-scheduler", "v1.37.0", "v1.37.0"),
            column("default-scheduler", "v1.36.5", "v1.36.5"),
        ];
        sort(&mut columns);
        let found: Vec<_> = columns.iter().map(|column| scheduler(column).1).collect();
        assert_eq!(found, ["v1.36.5", "v1.37.0", "v1.9.0", "v1.10.0", "v1"]);
    }
}
