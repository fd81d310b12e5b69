//! Concludes EXT-03, which no case checks: an external scheduler has the features that it declares.
//!
//! The evidence is the judgements of other clauses: those of the group that EXT-03 names in `rests_on`
//! (all-or-nothing), and those of every declared feature. The worst outcome counts. The cases contain all the
//! evidence, so reports can be verified and merged as for other clauses.
//!
//! Some core clauses are announced as not run, for example if the harness would have to stop a scheduler that
//! it did not start. Such clauses do not count if other core clauses were checked. Clauses of a declared
//! feature always count, because a declaration needs evidence.

use conformance_contract::clauses::{Feature, clause};
use conformance_contract::verdict::{Outcome, Verdict};

use super::{Features, Judgement};

/// Whether the clause `id` is evidence for the clause `concluded`.
pub(super) fn is_evidence(concluded: &str, id: &str, features: &Features) -> bool {
    let group_id = clause(concluded).and_then(|concluded| concluded.rests_on);
    let (Some(group_id), Some(clause)) = (group_id, clause(id)) else { return false };
    match clause.capability() {
        None => clause.group().is_some_and(|group| group.id == group_id),
        Some(feature) => feature != Feature::External && features.supported.contains(&feature),
    }
}

pub(super) fn is_concluded(id: &str) -> bool {
    clause(id).is_some_and(|clause| clause.rests_on.is_some())
}

pub(super) fn outcome(evidence: &[&Judgement]) -> Option<Outcome> {
    let is_core =
        |judgement: &Judgement| clause(&judgement.clause).is_some_and(|clause| clause.capability().is_none());
    let some_core = evidence.iter().any(|judgement| is_core(judgement) && !judgement.outcome.announced);
    let counts = |judgement: &Judgement| !(some_core && is_core(judgement) && judgement.outcome.announced);
    let counted: Vec<&Judgement> = evidence.iter().copied().filter(|judgement| counts(judgement)).collect();
    let worst = Outcome::fold(counted.iter().map(|judgement| &judgement.outcome))?;
    if worst.verdict == Verdict::Pass {
        return Some(worst);
    }
    let is_worst = |judgement: &&&Judgement| {
        (judgement.outcome.verdict, judgement.outcome.announced) == (worst.verdict, worst.announced)
    };
    let mut ids: Vec<&str> = Vec::new();
    for judgement in counted.iter().filter(is_worst) {
        if !ids.contains(&judgement.clause.as_str()) {
            ids.push(&judgement.clause);
        }
    }
    let what = match worst.verdict {
        Verdict::Pass => "kept",
        Verdict::Fail => "not kept",
        Verdict::Flaky => "kept on a retry only",
        Verdict::Error | Verdict::NotRun => "not judged",
        Verdict::KnownDeviation => "known to be broken",
        Verdict::Unsupported => "not promised",
    };
    Some(Outcome { reasons: vec![format!("{}: {what}", ids.join(", "))], ..worst })
}

#[cfg(test)]
mod tests {
    use conformance_contract::clauses::CLAUSES;

    use super::*;
    use crate::{CaseResult, TargetReport, verify};

    const DECLARATION: &str = "EXT-03";

    fn features() -> Features {
        let supported = vec![Feature::GangScheduling, Feature::AtomicPodGang, Feature::External];
        Features { supported, ..Features::default() }
    }

    fn flaky() -> Outcome {
        Outcome::of_attempts(&[Outcome::fail("late"), Outcome::pass()]).unwrap()
    }

    /// One case each for AON-01, AON-02, AON-08 (AtomicPodGang), AON-12 and GANG-01.
    fn concluded(outcomes: [Outcome; 5]) -> TargetReport {
        let ids = ["AON-01", "AON-02", "AON-08", "AON-12", "GANG-01"];
        let case = |(id, outcome): (&str, Outcome)| {
            let clauses = vec![Judgement { clause: id.to_owned(), outcome, violations: Vec::new() }];
            CaseResult::new(id.to_lowercase(), "", clauses)
        };
        let cases = ids.into_iter().zip(outcomes).map(case).collect();
        TargetReport::new("external:mine", None, "unknown", features()).conclude(CLAUSES.iter(), cases)
    }

    fn announced() -> Outcome {
        Outcome::not_run_announced("it is not the harness's to stop")
    }

    #[rstest::rstest]
    #[case::kept([Outcome::pass(), Outcome::pass(), Outcome::pass(), Outcome::pass(), Outcome::pass()], Outcome::pass())]
    #[case::core_broken(
        [Outcome::fail("one alone"), Outcome::fail("a part"), Outcome::pass(), Outcome::pass(), Outcome::pass()],
        Outcome::fail("AON-01, AON-02: not kept")
    )]
    #[case::feature_broken(
        [Outcome::pass(), flaky(), Outcome::fail("a part"), Outcome::pass(), Outcome::pass()],
        Outcome::fail("AON-08: not kept")
    )]
    #[case::core_undecided(
        [Outcome::pass(), Outcome::error("gap"), Outcome::pass(), Outcome::pass(), Outcome::pass()],
        Outcome::error("AON-02: not judged")
    )]
    #[case::not_the_harness_to_stop(
        [Outcome::pass(), Outcome::pass(), Outcome::pass(), announced(), Outcome::pass()],
        Outcome::pass()
    )]
    #[case::feature_without_evidence(
        [Outcome::pass(), Outcome::pass(), announced(), announced(), Outcome::pass()],
        Outcome::not_run_announced("AON-08: not judged")
    )]
    #[case::nothing_was_checked(
        [announced(), announced(), announced(), announced(), Outcome::pass()],
        Outcome::not_run_announced("AON-01, AON-02, AON-08, AON-12: not judged")
    )]
    #[case::other_groups_are_no_evidence(
        [Outcome::pass(), Outcome::pass(), Outcome::pass(), Outcome::pass(), Outcome::fail("none")],
        Outcome::pass()
    )]
    fn the_worst_evidence_decides_a_declaration(#[case] outcomes: [Outcome; 5], #[case] wanted: Outcome) {
        let target = concluded(outcomes);
        let declaration = target.clauses.iter().find(|clause| clause.id == DECLARATION).unwrap();
        assert_eq!(declaration.outcome, wanted);
        assert_eq!(declaration.cases, ["aon-01", "aon-02", "aon-08", "aon-12"]);
        let report = crate::Report { targets: vec![target], ..crate::fixture::report() };
        assert_eq!(verify(&report), Ok(()));
    }

    #[test]
    fn a_declaration_without_a_scheduler_is_unsupported() {
        let target = TargetReport::new("external", None, "none", Features::default());
        let target = target.conclude(CLAUSES.iter(), Vec::new());
        let declaration = target.clauses.iter().find(|clause| clause.id == DECLARATION).unwrap();
        assert_eq!(declaration.outcome, Outcome::unsupported("External is not declared"));
    }

    #[rstest::rstest]
    #[case("AON-02", true)]
    #[case("AON-08", true)]
    #[case("TOPO-01", false)]
    #[case("GANG-01", false)]
    #[case("EXT-01", false)]
    #[case("EXT-03", false)]
    fn only_core_and_declared_clauses_are_evidence(#[case] id: &str, #[case] wanted: bool) {
        assert_eq!(is_evidence(DECLARATION, id, &features()), wanted);
    }
}
