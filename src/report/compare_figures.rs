//! Compares the figures of load tests. They vary with the machine, so only large changes are listed.

use conformance_contract::renamed_cases;
use conformance_contract::verdict::Verdict;

use super::{CaseResult, TargetReport};

/// Percentage of the older figure. Two runs on one machine differ by less.
pub(super) const DEFAULT_PERCENT: u32 = 20;

/// Figures that describe the load and not how it was handled.
const SIZES: [&str; 6] = ["pods", "podGangs", "sets", "recordedVersions", "gangsNeeded", "preemptors"];

/// A figure of a load test that changed.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedFigure {
    /// The target's title.
    pub target: String,
    /// The case's label.
    pub case: String,
    /// Name of the figure in the report.
    pub name: String,
    /// The older value.
    pub old: f64,
    /// The newer value; `None` if the newer run did not measure it.
    pub new: Option<f64>,
}

impl ChangedFigure {
    /// Whether the figure got worse. More pods (per second) are better; of everything else, less is better.
    pub fn is_worse(&self) -> bool {
        let is_better_if_more = self.name.ends_with("PerSecond") || self.name.ends_with("Bound");
        self.new.is_none_or(|new| (new > self.old) != is_better_if_more)
    }

    /// The newer value as text.
    pub fn new_text(&self) -> String {
        self.new.map_or("not measured".into(), |new| new.to_string())
    }
}

/// The same case in an older report.
pub(super) fn case_before<'a>(old: &'a TargetReport, case: &CaseResult) -> Option<&'a CaseResult> {
    old.cases.iter().find(|before| {
        before.provider == case.provider
            && renamed_cases::current(&before.id) == renamed_cases::current(&case.id)
    })
}

/// Returns the figures that changed by more than `percent` of the older value, or that the newer run lacks.
pub(super) fn changed_figures(
    title: &str,
    old: &TargetReport,
    new: &TargetReport,
    percent: u32,
) -> Vec<ChangedFigure> {
    // A case that was left out has no figures, which makes none of them worse.
    let has_run = |case: &&CaseResult| {
        let is_left_out = case.outcome.verdict == Verdict::NotRun && case.outcome.announced;
        !is_left_out && case.outcome.verdict != Verdict::Unsupported
    };
    let both = new.cases.iter().filter(has_run).filter_map(|case| Some((case_before(old, case)?, case)));
    both.flat_map(|(before, case)| of_case(title, before, case, percent)).collect()
}

fn of_case(title: &str, before: &CaseResult, case: &CaseResult, percent: u32) -> Vec<ChangedFigure> {
    let mut changed = Vec::new();
    for (name, figure) in &before.figures {
        let Some(old) = figure.as_f64().filter(|_| !SIZES.contains(&name.as_str())) else { continue };
        let new = case.figures.get(name).and_then(serde_json::Value::as_f64);
        if new.is_some_and(|new| (new - old).abs() * 100.0 <= old.abs() * f64::from(percent)) {
            continue;
        }
        let (target, case) = (title.to_owned(), case.label());
        changed.push(ChangedFigure { target, case, name: name.clone(), old, new });
    }
    changed
}

#[cfg(test)]
mod tests {
    use conformance_contract::verdict::Outcome;
    use serde_json::json;

    use super::ChangedFigure;
    use crate::{Report, compare, fixture};

    fn with(figures: &serde_json::Value) -> Report {
        let mut report = fixture::report();
        report.targets[0].cases[1].figures = figures.as_object().cloned().unwrap_or_default();
        report
    }

    #[rstest::rstest]
    #[case::within(json!({"ratio": 1.2}), json!({"ratio": 1.4}), None)]
    #[case::worse(json!({"ratio": 1.0}), json!({"ratio": 1.3}), Some(true))]
    #[case::better(json!({"ratio": 1.0}), json!({"ratio": 0.7}), Some(false))]
    #[case::fewer(json!({"updatePodsPerSecond": 9}), json!({"updatePodsPerSecond": 7}), Some(true))]
    #[case::more_bound(json!({"schedulerAloneBound": 50}), json!({"schedulerAloneBound": 90}), Some(false))]
    #[case::from_nothing(json!({"gangsInPart": 0}), json!({"gangsInPart": 1}), Some(true))]
    #[case::other_load(json!({"pods": 100}), json!({"pods": 1000}), None)]
    #[case::no_number(json!({"peakMegabytes": {"etcd": 1}}), json!({"peakMegabytes": {"etcd": 9}}), None)]
    #[case::not_measured_before(json!({}), json!({"ratio": 9}), None)]
    #[case::no_longer_measured(json!({"ratio": 1}), json!({}), Some(true))]
    fn changes_beyond_the_threshold_are_listed(
        #[case] old: serde_json::Value,
        #[case] new: serde_json::Value,
        #[case] is_worse: Option<bool>,
    ) {
        let (old, new) = (with(&old), with(&new));
        let found = compare(&old, &new).figures;
        assert_eq!(found.first().map(ChangedFigure::is_worse), is_worse, "{found:?}");
    }

    #[test]
    fn figures_of_a_case_that_is_left_out_are_not_worse() {
        let (old, mut new) = (with(&json!({"ratio": 1.0})), with(&json!({})));
        assert!(compare(&old, &new).has_worse_figures());
        new.targets[0].cases[1].outcome = Outcome::not_run_announced("too few nodes");
        assert!(!compare(&old, &new).has_worse_figures());
    }

    #[test]
    fn the_user_names_the_threshold() {
        let (old, new) = (with(&json!({"ratio": 1.0})), with(&json!({"ratio": 1.3})));
        assert!(compare(&old, &new).with_threshold(40).figures.is_empty());
        let compared = compare(&old, &new).with_threshold(25);
        assert!(compared.has_worse_figures());
        let text = compared.markdown();
        for wanted in ["\n## Figures\n", "| ratio | ", "| **1.3** |"] {
            assert!(text.contains(wanted), "{text}");
        }
    }
}
