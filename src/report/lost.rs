//! Shards without a report. Their cases count as not run, with a reason, and the merged report is incomplete.
//!
//! A shard's report lists the cases of other shards, and a merge replaces these entries by those of reports
//! with more information. An entry that remains belongs to a lost shard.

use conformance_contract::verdict::Outcome;

use super::left_out::is_elsewhere;
use super::{CaseResult, Report, Shard, TargetReport};

/// A shard without a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostShard {
    /// The lost shard.
    pub shard: Shard,
    /// Why the shard left no report.
    pub reason: String,
}

impl Report {
    /// Marks the cases of lost shards in a merged report as not run, and the report as incomplete.
    #[must_use]
    pub fn without(mut self, lost: &[LostShard]) -> Self {
        if lost.is_empty() {
            return self;
        }
        let reasons =
            lost.iter().map(|LostShard { shard, reason }| format!("shard {shard} left no report: {reason}"));
        let reason = reasons.collect::<Vec<_>>().join("; ");
        let not_run = Outcome::not_run(reason.clone());
        let targets = self.targets.into_iter().map(|target| without(target, &not_run));
        self.targets = targets.collect();
        self.incomplete(reason)
    }
}

fn without(target: TargetReport, not_run: &Outcome) -> TargetReport {
    let known_or_not_run = |case: &CaseResult| {
        if !case.clauses.iter().all(|judgement| is_elsewhere(&judgement.outcome)) {
            return target.with_violations(case);
        }
        let clauses = case.clauses.iter().map(|judgement| judgement.clause.clone());
        CaseResult::without_running(case.id.clone(), case.title.clone(), clauses, not_run)
    };
    let cases = target.cases.iter().map(known_or_not_run).collect();
    target.clone().reconclude(cases)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Exit, MergeInput, fixture, merge, not_selected, verify};

    fn shard(text: &str) -> Report {
        let (shard, mut report): (Shard, _) = (text.parse().unwrap(), fixture::report());
        for target in &mut report.targets {
            let cases = target.cases.iter().enumerate().map(|(index, case)| {
                let outcome = match index {
                    _ if index % 3 == 2 => not_selected(),
                    _ if !shard.contains(index) => shard.elsewhere(),
                    _ => return target.with_violations(case),
                };
                let clauses = case.clauses.iter().map(|judgement| judgement.clause.clone());
                CaseResult::without_running(case.id.clone(), case.title.clone(), clauses, &outcome)
            });
            let cases = cases.collect();
            *target = target.clone().reconclude(cases);
        }
        report
    }

    #[test]
    fn cases_of_a_lost_shard_are_not_run_with_the_reason() {
        let source = MergeInput { file: "1.yaml".into(), folder: "1".into(), report: shard("1/2") };
        let merged = merge(&[source], "report merge".into()).unwrap();
        let lost = LostShard { shard: "2/2".parse().unwrap(), reason: "its pod was killed".into() };
        let whole = merged.clone().without(&[lost]);
        assert_eq!(verify(&whole), Ok(()));
        assert_eq!((whole.incomplete, whole.exit()), (true, Exit::Inconclusive));
        for (target, before) in whole.targets.iter().zip(&merged.targets) {
            for (index, (case, before)) in target.cases.iter().zip(&before.cases).enumerate() {
                match index {
                    _ if index % 3 == 2 || index % 2 == 0 => assert_eq!(case, before),
                    _ => {
                        assert!(!case.outcome.announced, "{}", case.id);
                        let reason = case.outcome.reason().unwrap();
                        assert_eq!(reason, "shard 2/2 left no report: its pod was killed");
                    }
                }
            }
        }
    }

    #[test]
    fn a_report_without_lost_shards_is_unchanged() {
        let report = shard("1/1");
        assert_eq!(report.clone().without(&[]), report);
    }
}
