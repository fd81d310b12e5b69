use std::fmt;

use conformance_contract::clauses::Feature;
use conformance_contract::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CaseResult, ClauseResult, TargetReport};

/// The result of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Standing {
    /// The feature is declared, and all of its clauses that were checked hold.
    DeclaredAndShown,
    /// The feature is declared, and one of its clauses is violated or none can show it for this backend. The
    /// run is not conformant.
    DeclaredAndNotShown,
    /// The feature is declared, and its clauses are undecided: not selected, not run, in error, or known
    /// deviations.
    DeclaredAndNotJudged,
    /// The feature is not declared, and a run that probed for it found that its clauses hold.
    ShownAndNotDeclared,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::DeclaredAndShown => "declared and shown",
            Self::DeclaredAndNotShown => "declared and not shown",
            Self::DeclaredAndNotJudged => "declared, not judged",
            Self::ShownAndNotDeclared => "shown and not declared",
        })
    }
}

/// A feature and its result, with the deciding clauses and cases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeatureEvidence {
    /// The feature, by its name in the contract.
    pub name: Feature,
    /// Whether the feature is declared, and whether the run has shown it.
    pub standing: Standing,
    /// The clauses that decided the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clauses: Vec<String>,
    /// The cases that checked these clauses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<String>,
}

/// The verdict of a case on a clause that does not apply, because its feature is not declared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Probed {
    /// Id of the clause.
    pub clause: String,
    /// The verdict if the feature were declared.
    pub verdict: Verdict,
}

impl TargetReport {
    /// The results of all declared features, and of undeclared features that were shown.
    pub fn evidence(&self) -> Vec<FeatureEvidence> {
        Feature::ALL.into_iter().filter_map(|feature| self.evidence_of(feature)).collect()
    }

    /// The violated clauses decide or, without any, the undecided ones, or else the passed ones.
    fn evidence_of(&self, feature: Feature) -> Option<FeatureEvidence> {
        if !self.features.supported.contains(&feature) {
            return self.probed(feature);
        }
        let is_of_feature = |clause: &&ClauseResult| {
            // A report of another release may have other clauses.
            clause.feature == Some(feature) || feature.shown_by().any(|known| known.id == clause.id)
        };
        let of_feature: Vec<_> = self.clauses.iter().filter(is_of_feature).collect();
        let with = |verdicts: &[Verdict]| -> Vec<&ClauseResult> {
            let is_one = |clause: &&&ClauseResult| verdicts.contains(&clause.outcome.verdict);
            of_feature.iter().filter(is_one).copied().collect()
        };
        let (violated, passed) = (with(&[Verdict::Fail, Verdict::Flaky]), with(&[Verdict::Pass]));
        let undecided = with(&[Verdict::Error]);
        let can_be_shown = || feature.shown_by().any(|clause| clause.applies_to_backend(&self.backend));
        let (standing, decisive) = if !violated.is_empty() {
            (Standing::DeclaredAndNotShown, violated)
        } else if !undecided.is_empty() {
            (Standing::DeclaredAndNotJudged, undecided)
        } else if !passed.is_empty() {
            (Standing::DeclaredAndShown, passed)
        } else if can_be_shown() {
            (Standing::DeclaredAndNotJudged, Vec::new())
        } else {
            (Standing::DeclaredAndNotShown, Vec::new())
        };
        let mut cases: Vec<String> = Vec::new();
        for case in decisive.iter().flat_map(|clause| &clause.cases).filter(|label| self.has_run(label)) {
            if !cases.contains(case) {
                cases.push(case.clone());
            }
        }
        let clauses = decisive.iter().map(|clause| clause.id.clone()).collect();
        Some(FeatureEvidence { name: feature, standing, clauses, cases })
    }

    fn has_run(&self, label: &str) -> bool {
        self.cases.iter().any(|case| case.label() == label && case.attempts > 0)
    }

    fn probed(&self, feature: Feature) -> Option<FeatureEvidence> {
        let is_of_feature = |probed: &&Probed| feature.shown_by().any(|clause| clause.id == probed.clause);
        let found: Vec<(&CaseResult, &Probed)> = self
            .cases
            .iter()
            .flat_map(|case| case.probed.iter().filter(is_of_feature).map(move |probed| (case, probed)))
            .collect();
        if found.is_empty() || found.iter().any(|(_, probed)| probed.verdict != Verdict::Pass) {
            return None;
        }
        let (mut clauses, mut cases) = (Vec::new(), Vec::new());
        for (case, probed) in found {
            for (list, name) in [(&mut clauses, probed.clause.clone()), (&mut cases, case.label())] {
                if !list.contains(&name) {
                    list.push(name);
                }
            }
        }
        Some(FeatureEvidence { name: feature, standing: Standing::ShownAndNotDeclared, clauses, cases })
    }
}

#[cfg(test)]
mod tests {
    use conformance_contract::clauses::CLAUSES;
    use conformance_contract::verdict::Outcome;

    use super::*;
    use crate::{Exit, Features, Judgement, fixture, verify};

    /// One case each for GANG-12 and AON-08.
    fn target(declared: &[Feature], healing: Outcome, atomic: Outcome) -> TargetReport {
        let case = |id: &str, clause: &str, outcome: Outcome| {
            let clauses = vec![Judgement { clause: clause.to_owned(), outcome, violations: Vec::new() }];
            CaseResult::new(id, "", clauses)
        };
        let cases = vec![case("gang/healed", "GANG-12", healing), case("aon/across", "AON-08", atomic)];
        let features = Features { supported: declared.to_vec(), ..Features::default() };
        TargetReport::new("volcano", None, "v1.14.1", features).conclude(CLAUSES.iter(), cases)
    }

    #[rstest::rstest]
    #[case::shown(Outcome::pass(), Standing::DeclaredAndShown)]
    #[case::broken(Outcome::fail("lost"), Standing::DeclaredAndNotShown)]
    #[case::undecided(Outcome::error("gap"), Standing::DeclaredAndNotJudged)]
    #[case::left_out(crate::not_selected(), Standing::DeclaredAndNotJudged)]
    #[case::known(Outcome::fail("").of_known_deviation("as documented", true), Standing::DeclaredAndNotJudged)]
    fn the_clauses_of_a_declared_feature_decide_its_standing(
        #[case] outcome: Outcome,
        #[case] wanted: Standing,
    ) {
        let target = target(&[Feature::SelfHealing], outcome, Outcome::unsupported("not declared"));
        let evidence = target.evidence();
        assert_eq!(evidence.len(), 1, "undeclared features are not listed: {evidence:?}");
        assert_eq!((evidence[0].name, evidence[0].standing), (Feature::SelfHealing, wanted));
        let decided = wanted != Standing::DeclaredAndNotJudged || !evidence[0].clauses.is_empty();
        if decided {
            assert_eq!(
                (evidence[0].clauses.as_slice(), evidence[0].cases.as_slice()),
                (["GANG-12".to_owned()].as_slice(), ["gang/healed".to_owned()].as_slice())
            );
        }
    }

    #[test]
    fn a_declared_feature_that_no_clause_can_show_fails_the_run() {
        let declared = [Feature::CompositePodGroup];
        let unsupported = || Outcome::unsupported("not declared");
        let target = target(&declared, unsupported(), unsupported());
        assert_eq!(target.evidence()[0].standing, Standing::DeclaredAndNotShown);
        let mut report = crate::Report { targets: vec![target], ..fixture::report() };
        for clause in &mut report.targets[0].clauses {
            clause.outcome = Outcome::pass();
        }
        assert_eq!(report.exit(), Exit::NotConformant);
        report.targets[0].features.supported.clear();
        assert_eq!(report.exit(), Exit::Conformant);
    }

    #[rstest::rstest]
    #[case::passed(Verdict::Pass, true)]
    #[case::broken(Verdict::Fail, false)]
    #[case::undecided(Verdict::Error, false)]
    fn a_probed_feature_is_listed_but_not_counted(#[case] verdict: Verdict, #[case] is_shown: bool) {
        let unsupported = || Outcome::unsupported("not declared");
        let mut cases = target(&[], unsupported(), unsupported()).cases;
        cases[1].probed = vec![Probed { clause: "AON-08".to_owned(), verdict }];
        let target = TargetReport::new("volcano", None, "v1.14.1", Features::default());
        let target = target.conclude(CLAUSES.iter(), cases);
        let wanted = FeatureEvidence {
            name: Feature::AtomicPodGang,
            standing: Standing::ShownAndNotDeclared,
            clauses: vec!["AON-08".to_owned()],
            cases: vec!["aon/across".to_owned()],
        };
        assert_eq!(target.features.evidence, Vec::from_iter(is_shown.then_some(wanted)));
        assert_eq!(target.summary.extended.pass, 0);
        let report = crate::Report { targets: vec![target], ..fixture::report() };
        assert_eq!(verify(&report), Ok(()));
    }

    #[test]
    fn edited_evidence_does_not_verify() {
        let target = target(&[Feature::SelfHealing], Outcome::fail("lost"), Outcome::unsupported("not"));
        let mut report = crate::Report { targets: vec![target], ..fixture::report() };
        assert_eq!(verify(&report), Ok(()));
        report.targets[0].features.evidence[0].standing = Standing::DeclaredAndShown;
        let found = verify(&report).unwrap_err().to_string();
        assert!(found.contains("features: the evidence does not follow from the cases"), "{found}");
    }
}
