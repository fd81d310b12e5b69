//! Titles, counts and lists for several renderings.

use conformance_contract::clauses::Feature;
use conformance_contract::verdict::Verdict;

use super::{CaseResult, ClauseResult, Report, Standing, Summary, TargetReport};

const SLOWEST: usize = 5;

/// A clause's result with its target.
pub struct ListedViolation<'a> {
    /// The target.
    pub target: &'a TargetReport,
    /// The clause's result on the target.
    pub clause: &'a ClauseResult,
}

impl TargetReport {
    /// Backend and variant, such as `default-scheduler (PodGang scope)`.
    pub fn title(&self) -> String {
        match &self.variant {
            Some(variant) => format!("{} ({variant})", self.backend),
            None => self.backend.clone(),
        }
    }

    /// Backend and variant as the lines of a narrow column head, such as `default` over `PodGang`.
    pub fn head(&self) -> Vec<&str> {
        let backend = self.backend.strip_suffix("-scheduler").unwrap_or(&self.backend).split(':');
        let variant = self.variant.iter().map(|variant| variant.strip_suffix(" scope").unwrap_or(variant));
        backend.chain(variant).collect()
    }
}

impl Report {
    /// The interrupted cases with their targets.
    pub fn interrupted(&self) -> Vec<(&TargetReport, &CaseResult)> {
        let targets = self.targets.iter();
        let cases = targets.flat_map(|target| target.cases.iter().map(move |case| (target, case)));
        cases.filter(|(_, case)| case.is_interrupted()).collect()
    }

    /// Why the report is incomplete, as a sentence without a final period. `None` if it is complete.
    pub fn incompleteness(&self) -> Option<String> {
        let reason = self.incomplete_reason.as_deref().unwrap_or("no reason is given");
        let all: usize = self.targets.iter().map(|target| target.cases.len()).sum();
        let left = self.interrupted().len();
        self.incomplete.then(|| format!("Incomplete: {reason}; {left} of {all} cases did not end"))
    }
}

/// The features that any target declares or was found to have, with the result on each target.
pub fn features(report: &Report) -> Vec<(Feature, Vec<Option<Standing>>)> {
    let targets: Vec<_> = report.targets.iter().map(TargetReport::evidence).collect();
    let row = |feature: Feature| {
        let cell = |evidence: &Vec<super::FeatureEvidence>| {
            evidence.iter().find(|of| of.name == feature).map(|of| of.standing)
        };
        (feature, targets.iter().map(cell).collect::<Vec<_>>())
    };
    Feature::ALL.into_iter().map(row).filter(|(_, cells)| cells.iter().any(Option::is_some)).collect()
}

impl ClauseResult {
    /// The reason, unless it is the message of a violation.
    pub fn reason_beyond_violations(&self) -> Option<String> {
        let reason = self.outcome.reason()?;
        self.violations.iter().all(|violation| violation.message != reason).then_some(reason)
    }
}

/// The name of each count, and for each target the passed clauses of the applicable ones, such as `40/41`.
pub fn counts(report: &Report) -> impl Iterator<Item = (&'static str, Vec<String>)> + '_ {
    Summary::COUNTS.into_iter().map(|(name, count)| {
        let counts = report.targets.iter().map(|target| count(&target.summary).passed_of_applicable());
        (name, counts.collect())
    })
}

/// Every clause result with one of the verdicts, by target.
pub fn findings<'a>(report: &'a Report, verdicts: &[Verdict]) -> Vec<ListedViolation<'a>> {
    let all = report
        .targets
        .iter()
        .flat_map(|target| target.clauses.iter().map(move |clause| ListedViolation { target, clause }));
    all.filter(|finding| verdicts.contains(&finding.clause.outcome.verdict)).collect()
}

/// The cases with the longest durations, slowest first.
pub fn slowest(report: &Report) -> Vec<(&TargetReport, &CaseResult)> {
    let mut cases: Vec<_> = report
        .targets
        .iter()
        .flat_map(|target| target.cases.iter().map(move |case| (target, case)))
        .filter(|(_, case)| case.attempts > 0)
        .collect();
    cases.sort_by_key(|(_, case)| std::cmp::Reverse(case.duration_seconds));
    cases.truncate(SLOWEST);
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_slowest_cases_are_first_and_cases_without_a_run_are_not_listed() {
        let report = fixture::report();
        let ids: Vec<&str> = slowest(&report).iter().map(|(_, case)| case.id.as_str()).collect();
        let expected = [
            "del/capacity-is-given-on",
            "all/kept",
            "aon/pending-does-not-block",
            "aon/one-pod-short",
            "aon/one-clique-too-large",
        ];
        assert_eq!(ids, expected);
    }
}
