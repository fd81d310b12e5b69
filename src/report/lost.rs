//! Shards that left no report. Their cases are *not run* with a reason, and the merged report is incomplete.
//!
//! The report of a shard marks the cases of other shards as held elsewhere. A merge replaces these entries by
//! reports that know more. An entry that remains after the merge belongs to a lost shard.

use conformance_contract::verdict::Outcome;

use super::left_out::is_elsewhere;
use super::{CaseResult, Report, Shard, TargetReport};

/// A shard without a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The lost shard.
    pub shard: Shard,
    /// Why the shard left no report.
    pub reason: String,
}

impl Report {
    /// Marks the cases of lost shards in a merged report as not run, and the report as incomplete.
    #[must_use]
    pub fn without(mut self, lost: &[Lost]) -> Self {
        if lost.is_empty() {
            return self;
        }
        let said =
            lost.iter().map(|Lost { shard, reason }| format!("shard {shard} left no report: {reason}"));
        let reason = said.collect::<Vec<_>>().join("; ");
        let not_run = Outcome::not_run(reason.clone());
        let targets = self.targets.into_iter().map(|target| without(target, &not_run));
        self.targets = targets.collect();
        self.incomplete(reason)
    }
}

fn without(target: TargetReport, not_run: &Outcome) -> TargetReport {
    let held = |case: &CaseResult| {
        if !case.clauses.iter().all(|judgement| is_elsewhere(&judgement.outcome)) {
            return target.observed(case);
        }
        let clauses = case.clauses.iter().map(|judgement| judgement.clause.clone());
        CaseResult::without_running(case.id.clone(), case.title.clone(), clauses, not_run)
    };
    let cases = target.cases.iter().map(held).collect();
    target.clone().concluded_of(cases)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Exit, MergeInput, fixture, merge, not_selected, verify};

    /// The report of a shard of the fixture. A filter excludes every third case.
    fn shard(text: &str) -> Report {
        let (shard, mut report): (Shard, _) = (text.parse().unwrap(), fixture::report());
        for target in &mut report.targets {
            let cases = target.cases.iter().enumerate().map(|(place, case)| {
                let outcome = match place {
                    _ if place % 3 == 2 => not_selected(),
                    _ if !shard.holds(place) => shard.elsewhere(),
                    _ => return target.observed(case),
                };
                let clauses = case.clauses.iter().map(|judgement| judgement.clause.clone());
                CaseResult::without_running(case.id.clone(), case.title.clone(), clauses, &outcome)
            });
            let cases = cases.collect();
            *target = target.clone().concluded_of(cases);
        }
        report
    }

    #[test]
    fn what_a_lost_shard_held_is_not_run_and_says_why() {
        let source = MergeInput { file: "1.yaml".into(), folder: "1".into(), report: shard("1/2") };
        let merged = merge(&[source], "report merge".into()).unwrap();
        let lost = Lost { shard: "2/2".parse().unwrap(), reason: "its pod was killed".into() };
        let whole = merged.clone().without(&[lost]);
        assert_eq!(verify(&whole), Ok(()));
        assert_eq!((whole.incomplete, whole.exit()), (true, Exit::Inconclusive));
        for (target, before) in whole.targets.iter().zip(&merged.targets) {
            for (place, (case, before)) in target.cases.iter().zip(&before.cases).enumerate() {
                match place {
                    _ if place % 3 == 2 || place % 2 == 0 => assert_eq!(case, before),
                    _ => {
                        assert!(!case.outcome.announced, "{}", case.id);
                        let said = case.outcome.reason().unwrap();
                        assert_eq!(said, "shard 2/2 left no report: its pod was killed");
                    }
                }
            }
        }
    }

    #[test]
    fn a_run_that_lost_no_shard_is_as_it_was() {
        let report = shard("1/1");
        assert_eq!(report.clone().without(&[]), report);
    }
}
