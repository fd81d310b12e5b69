//! The matrix, without layout: one row per clause, one column per target, one word per cell.

use conformance_contract::clauses::{CLAUSES, group};
use conformance_contract::verdict::{Outcome, Verdict};

use super::{ClauseResult, Exit, Report, exit_code};

/// The meaning of the cells, in lines.
pub const LEGEND: [&str; 2] = [
    "CAPITALS decide the exit code; deviates: known deviation; unsup.: unsupported;",
    "blank: another backend's clause",
];

/// A group of clauses over all targets.
pub struct Section<'a> {
    /// Id prefix of the clauses.
    pub id: &'a str,
    /// Title of the group.
    pub title: &'a str,
    /// The clauses in the order of the contract.
    pub rows: Vec<Row<'a>>,
}

/// A clause over all targets.
pub struct Row<'a> {
    /// The clause's result on the first target that lists it.
    pub clause: &'a ClauseResult,
    /// The results by target. `None` if the clause does not apply to the target.
    pub results: Vec<Option<&'a ClauseResult>>,
}

/// The clauses of a report in the order of the contract, by group.
pub fn matrix(report: &Report) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for row in rows(report) {
        let id = row.clause.id.split_once('-').map_or(row.clause.id.as_str(), |(id, _)| id);
        // A report of another version may have a group that is unknown here.
        let title = group(&row.clause.id).map_or(id, |group| group.title);
        match sections.last_mut() {
            Some(section) if section.id == id => section.rows.push(row),
            _ => sections.push(Section { id, title, rows: vec![row] }),
        }
    }
    sections
}

fn rows(report: &Report) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (column, target) in report.targets.iter().enumerate() {
        for clause in &target.clauses {
            let row = match rows.iter().position(|row| row.clause.id == clause.id) {
                Some(known) => known,
                None => {
                    rows.push(Row { clause, results: vec![None; report.targets.len()] });
                    rows.len() - 1
                }
            };
            rows[row].results[column] = Some(clause);
        }
    }
    let position = |row: &Row<'_>| CLAUSES.iter().position(|clause| clause.id == row.clause.id);
    rows.sort_by_key(|row| position(row).unwrap_or(CLAUSES.len()));
    rows
}

/// Whether an outcome makes the run non-conformant or inconclusive.
pub fn affects_exit_code(outcome: &Outcome) -> bool {
    exit_code([outcome]) != Exit::Conformant
}

/// The word in a cell, in capitals if the verdict [affects the exit code](affects_exit_code).
pub fn cell(outcome: &Outcome) -> String {
    if affects_exit_code(outcome) { word(outcome).to_uppercase() } else { word(outcome).to_owned() }
}

/// Like [`cell`], for a clause. A violated recommendation is in capitals only if the run is strict.
pub fn clause_cell(clause: &ClauseResult, strict: bool) -> String {
    let word = word(&clause.outcome);
    if clause.exit(strict) == Exit::Conformant { word.to_owned() } else { word.to_uppercase() }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome.verdict {
        Verdict::KnownDeviation => "deviates",
        Verdict::Unsupported => "unsup.",
        verdict => verdict.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn clauses_are_in_the_order_of_the_contract() {
        let mut report = fixture::report();
        report.targets[0].clauses.remove(0);
        let sections = matrix(&report);
        let first = &sections[0].rows[0];
        assert_eq!((sections[0].id, first.clause.id.as_str()), ("ADM", "ADM-01"));
        let outcomes = |row: &Row<'_>| -> Vec<Option<Verdict>> {
            row.results.iter().map(|result| result.map(|clause| clause.outcome.verdict)).collect()
        };
        assert_eq!(outcomes(first), [None, Some(Verdict::Pass)]);
        assert_eq!(outcomes(&sections[1].rows[0]), [Some(Verdict::Pass), Some(Verdict::Pass)]);
    }

    #[test]
    fn a_clause_of_another_backend_is_blank() {
        let report = fixture::all_backends();
        let sections = matrix(&report);
        let volcano = sections.iter().find(|section| section.id == "VOL").unwrap();
        let owed: Vec<bool> = volcano.rows[0].results.iter().map(Option::is_some).collect();
        assert_eq!(owed, [false, false, true, false, false, false]);
    }

    #[rstest::rstest]
    #[case(Outcome::pass(), "pass")]
    #[case(Outcome::fail("bound"), "FAIL")]
    #[case(Outcome::error("gap"), "ERROR")]
    #[case(Outcome::not_run("lost"), "NOT-RUN")]
    #[case(Outcome::not_run_announced("no binaries"), "not-run")]
    #[case(Outcome::fail("").of_known_deviation("flat", true), "deviates")]
    #[case(Outcome::unsupported("flat"), "unsup.")]
    fn a_cell_is_in_capitals_if_it_affects_the_exit_code(#[case] outcome: Outcome, #[case] cell: &str) {
        assert_eq!(super::cell(&outcome), cell);
    }

    #[test]
    fn a_violated_recommendation_is_in_capitals_only_if_the_run_is_strict() {
        let mut report = fixture::report();
        let clause = report.targets[0].clauses.iter_mut().find(|clause| clause.is_recommended()).unwrap();
        clause.outcome = Outcome::fail("as you like");
        assert_eq!((clause_cell(clause, false), clause_cell(clause, true)), ("fail".into(), "FAIL".into()));
    }
}
