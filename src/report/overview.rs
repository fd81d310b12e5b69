//! What the readable renderings share besides matrix and reasons: titles, counts and lists.

use conformance_contract::clauses::Feature;
use conformance_contract::verdict::Verdict;

use super::{CaseResult, ClauseResult, ProfileReport, Report, Standing, Summary};

/// How many cases the list of slowest cases names.
const SLOWEST: usize = 5;

/// A clause's result with the profile it belongs to.
pub struct ListedViolation<'a> {
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

    /// Backend and variant as the head of a narrow column, in lines, such as `default` over `PodGang`.
    pub fn head(&self) -> Vec<&str> {
        let backend = self.backend.strip_suffix("-scheduler").unwrap_or(&self.backend).split(':');
        let variant = self.variant.iter().map(|variant| variant.strip_suffix(" scope").unwrap_or(variant));
        backend.chain(variant).collect()
    }
}

impl Report {
    /// The cases that had not ended when the run was interrupted, with their profiles.
    pub fn interrupted(&self) -> Vec<(&ProfileReport, &CaseResult)> {
        let profiles = self.profiles.iter();
        let cases = profiles.flat_map(|profile| profile.cases.iter().map(move |case| (profile, case)));
        cases.filter(|(_, case)| case.is_interrupted()).collect()
    }

    /// That the report is incomplete and why, as a sentence without its full stop; `None` of a complete one.
    pub fn incompleteness(&self) -> Option<String> {
        let reason = self.incomplete_reason.as_deref().unwrap_or("no reason is given");
        let all: usize = self.profiles.iter().map(|profile| profile.cases.len()).sum();
        let left = self.interrupted().len();
        self.incomplete.then(|| format!("Incomplete: {reason}; {left} of {all} cases did not end"))
    }
}

/// The features down, profiles across: what became of each that any of them declares or was found to have.
pub fn features(report: &Report) -> Vec<(Feature, Vec<Option<Standing>>)> {
    let profiles: Vec<_> = report.profiles.iter().map(ProfileReport::evidence).collect();
    let row = |feature: Feature| {
        let cell = |found: &Vec<super::FeatureEvidence>| {
            found.iter().find(|of| of.name == feature).map(|of| of.standing)
        };
        (feature, profiles.iter().map(cell).collect::<Vec<_>>())
    };
    Feature::ALL.into_iter().map(row).filter(|(_, cells)| cells.iter().any(Option::is_some)).collect()
}

impl ClauseResult {
    /// The reason, where no violation says the same.
    pub fn reason_beyond_violations(&self) -> Option<String> {
        let reason = self.outcome.reason()?;
        self.violations.iter().all(|violation| violation.message != reason).then_some(reason)
    }
}

/// The counts down, profiles across: the name of each count, and what each profile keeps of what it owes.
pub fn counts(report: &Report) -> impl Iterator<Item = (&'static str, Vec<String>)> + '_ {
    Summary::CUTS.into_iter().map(|(name, cut)| {
        let kept = report.profiles.iter().map(|profile| cut(&profile.summary).kept_of_owed());
        (name, kept.collect())
    })
}

/// Every clause result with one of the verdicts, profile by profile.
pub fn findings<'a>(report: &'a Report, verdicts: &[Verdict]) -> Vec<ListedViolation<'a>> {
    let all = report
        .profiles
        .iter()
        .flat_map(|profile| profile.clauses.iter().map(move |clause| ListedViolation { profile, clause }));
    all.filter(|finding| verdicts.contains(&finding.clause.outcome.verdict)).collect()
}

/// The cases that took longest, slowest first.
pub fn slowest(report: &Report) -> Vec<(&ProfileReport, &CaseResult)> {
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
    use crate::fixture;

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
