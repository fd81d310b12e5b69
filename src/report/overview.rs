//! What the readable renderings share: titles, the matrix of clauses and profiles, and the lists under it.

use std::fmt;

use super::{CaseResult, ClauseResult, Counts, ProfileReport, Report, Summary, Verdict};

/// How many cases the list of slowest cases names.
const SLOWEST: usize = 5;

/// One clause across the profiles.
pub(super) struct Row<'a> {
    /// The clause as the first profile that lists it has it.
    pub clause: &'a ClauseResult,
    /// Its verdict in each profile, in their order; `None` where the profile's contract lacks it.
    pub verdicts: Vec<Option<Verdict>>,
}

/// A clause's result with the profile it belongs to.
pub(super) struct Finding<'a> {
    /// The profile.
    pub profile: &'a ProfileReport,
    /// The clause's result in it.
    pub clause: &'a ClauseResult,
}

impl ProfileReport {
    /// Backend and variant, such as `default-scheduler (PodGang scope)`.
    pub fn title(&self) -> String {
        match &self.variant {
            Some(variant) => format!("{} ({variant})", self.backend),
            None => self.backend.clone(),
        }
    }
}

impl ClauseResult {
    /// The reason, where no violation says the same.
    pub(super) fn reason_beyond_violations(&self) -> Option<&str> {
        let reason = self.outcome.reason.as_deref()?;
        self.violations.iter().all(|violation| violation.message != reason).then_some(reason)
    }
}

impl Summary {
    /// The four counts with their names.
    pub(super) fn named(&self) -> [(&'static str, Counts); 4] {
        [("core", self.core), ("extended", self.extended), ("upstream", self.upstream), ("own", self.own)]
    }
}

/// Such as `40 pass, 1 fail, 2 not-run`; verdicts that do not occur are left out.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = Verdict::ALL.map(|verdict| (self.of(verdict), verdict)).into_iter();
        let words: Vec<String> = counts
            .filter(|(count, _)| *count > 0)
            .map(|(count, verdict)| format!("{count} {verdict}"))
            .collect();
        f.pad(&if words.is_empty() { "none".to_owned() } else { words.join(", ") })
    }
}

/// Clauses down, profiles across. Clauses come in the order in which the profiles list them.
pub(super) fn matrix(report: &Report) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (column, profile) in report.profiles.iter().enumerate() {
        for clause in &profile.clauses {
            let row = match rows.iter().position(|row| row.clause.id == clause.id) {
                Some(known) => known,
                None => {
                    rows.push(Row { clause, verdicts: vec![None; report.profiles.len()] });
                    rows.len() - 1
                }
            };
            rows[row].verdicts[column] = Some(clause.outcome.verdict);
        }
    }
    rows
}

/// Every clause result with one of the verdicts, profile by profile.
pub(super) fn findings<'a>(report: &'a Report, verdicts: &[Verdict]) -> Vec<Finding<'a>> {
    let all = report
        .profiles
        .iter()
        .flat_map(|profile| profile.clauses.iter().map(move |clause| Finding { profile, clause }));
    all.filter(|finding| verdicts.contains(&finding.clause.outcome.verdict)).collect()
}

/// The cases that took longest, slowest first.
pub(super) fn slowest(report: &Report) -> Vec<(&ProfileReport, &CaseResult)> {
    let mut cases: Vec<_> = report
        .profiles
        .iter()
        .flat_map(|profile| profile.cases.iter().map(move |case| (profile, case)))
        .filter(|(_, case)| case.attempts > 0)
        .collect();
    cases.sort_by_key(|(_, case)| std::cmp::Reverse(case.duration_seconds));
    cases.truncate(SLOWEST);
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn a_clause_of_one_profile_only_has_its_own_row() {
        let mut report = fixture::report();
        let dropped = report.profiles[0].clauses.remove(0);
        let rows = matrix(&report);
        let row = rows.last().unwrap();
        assert_eq!(
            (row.clause.id.as_str(), row.verdicts.as_slice()),
            (dropped.id.as_str(), &[None, Some(Verdict::Pass)][..])
        );
        assert_eq!(rows[0].verdicts, [Some(Verdict::Pass), Some(Verdict::Pass)]);
    }

    #[test]
    fn counts_name_what_occurs() {
        let counts = Counts { pass: 3, flaky: 1, not_run: 2, ..Counts::default() };
        assert_eq!(counts.to_string(), "3 pass, 1 flaky, 2 not-run");
        assert_eq!(Counts::default().to_string(), "none");
    }

    #[test]
    fn slowest_cases_come_first_and_those_not_run_do_not_come() {
        let report = fixture::report();
        let ids: Vec<&str> = slowest(&report).iter().map(|(_, case)| case.id.as_str()).collect();
        let expected = [
            "del/capacity-is-given-on",
            "all/kept",
            "aon/pending-does-not-block",
            "aon/one-pod-short",
            "aon/across-cliques",
        ];
        assert_eq!(ids, expected);
    }
}
