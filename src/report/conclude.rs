//! Concludes the clauses of a target from the judgements of its cases. Pure, so that `verify` can repeat it.
//! The code of a violation consists of the clause and the word of the check: `AON-02/bound-in-part`.

use conformance_contract::clauses::{Clause, Feature, Level};
use conformance_contract::verdict::{Outcome, Verdict};
use conformance_contract::violation::Violation;

use super::declared;
use super::{CaseResult, ClauseResult, Features, Judgement, Seconds, Summary, TargetReport, summarize};

const NO_CASE: &str = "no case judged this clause";

impl CaseResult {
    /// A case without judgements was not run.
    pub(super) fn outcome_of(clauses: &[Judgement]) -> Outcome {
        Outcome::fold(clauses.iter().map(|judgement| &judgement.outcome))
            .unwrap_or_else(|| Outcome::not_run("the case judged no clause"))
    }

    /// A case that did not run. All its clauses have the same outcome: filtered out, unsupported, or without
    /// a cluster.
    pub fn without_running<T: Into<String>>(
        id: impl Into<String>,
        title: impl Into<String>,
        clauses: impl IntoIterator<Item = T>,
        outcome: &Outcome,
    ) -> Self {
        let judgement =
            |clause: T| Judgement { clause: clause.into(), outcome: outcome.clone(), violations: Vec::new() };
        let judgements = clauses.into_iter().map(judgement).collect();
        Self { attempts: 0, ..Self::new(id, title, judgements) }
    }

    /// Marks a case that left its cluster changed: every judgement that did not fail becomes an error.
    #[must_use]
    pub fn left_changed(mut self, reason: &str) -> Self {
        let not_failed =
            self.clauses.iter_mut().filter(|judgement| judgement.outcome.verdict != Verdict::Fail);
        for judgement in not_failed {
            judgement.outcome = Outcome::error(reason);
        }
        self.outcome = Self::outcome_of(&self.clauses);
        self
    }

    /// A case that ran once, without durations and artifacts.
    pub fn new(id: impl Into<String>, title: impl Into<String>, clauses: Vec<Judgement>) -> Self {
        Self {
            id: id.into(),
            provider: None,
            title: title.into(),
            outcome: Self::outcome_of(&clauses),
            clauses,
            probed: Vec::new(),
            duration_seconds: Seconds::default(),
            overhead_seconds: None,
            negative_verdict_seconds: None,
            attempts: 1,
            reproduce: None,
            artifacts: None,
            excepted_writes: Vec::new(),
            figures: serde_json::Map::new(),
        }
    }

    /// The case's id, with its provider if it has one, such as `aon/fits on kind`.
    pub fn label(&self) -> String {
        match &self.provider {
            Some(provider) => format!("{} on {provider}", self.id),
            None => self.id.clone(),
        }
    }
}

impl Features {
    /// Why the backend does not have the feature, or `None` if it has.
    pub fn missing(&self, feature: Feature) -> Option<String> {
        if self.supported.contains(&feature) {
            return None;
        }
        let known = self.unsupported.iter().find(|unsupported| unsupported.name == feature);
        Some(known.map_or_else(|| format!("{feature} is not declared"), |known| known.reason.clone()))
    }
}

impl ClauseResult {
    pub(super) fn unchecked(clause: &Clause) -> Self {
        Self {
            id: clause.id.to_owned(),
            title: clause.title.to_owned(),
            requirement: clause.requirement.to_owned(),
            level: clause.level,
            feature: clause.feature,
            judged_on: clause.tier,
            class: clause.class(),
            sources: clause.sources.iter().map(|source| source.0.to_owned()).collect(),
            outcome: Outcome::not_run(NO_CASE),
            cases: Vec::new(),
            duration_seconds: Seconds::default(),
            violations: Vec::new(),
            reproduce: None,
            artifacts: None,
        }
    }

    /// Concludes the result of the clause from the cases, except for the violations.
    pub(super) fn decided_by(&self, features: &Features, cases: &[CaseResult]) -> Self {
        let missing = self.feature.and_then(|feature| features.missing(feature));
        let is_concluded = declared::is_concluded(&self.id) && missing.is_none();
        let is_evidence = |judgement: &Judgement| {
            judgement.clause == self.id
                || is_concluded && declared::is_evidence(&self.id, &judgement.clause, features)
        };
        let evidence: Vec<(&CaseResult, &Judgement)> = cases
            .iter()
            .flat_map(|case| case.clauses.iter().map(move |judgement| (case, judgement)))
            .filter(|(_, judgement)| is_evidence(judgement))
            .collect();
        let judgements: Vec<&Judgement> = evidence.iter().map(|(_, judgement)| *judgement).collect();
        let found = match is_concluded {
            true => declared::outcome(&judgements),
            false => Outcome::fold(judgements.iter().map(|judgement| &judgement.outcome)),
        };
        let outcome =
            found.or_else(|| missing.map(Outcome::unsupported)).unwrap_or_else(|| Outcome::not_run(NO_CASE));
        let deciding = evidence
            .iter()
            .find(|(_, judgement)| judgement.outcome.verdict == outcome.verdict)
            .filter(|_| outcome.verdict != Verdict::Pass)
            .map(|(case, _)| *case);
        // A case with several judgements in the evidence counts once.
        let mut checking: Vec<&CaseResult> = evidence.iter().map(|(case, _)| *case).collect();
        checking.dedup_by(|a, b| std::ptr::eq(*a, *b));
        Self {
            cases: checking.iter().map(|case| case.label()).collect(),
            duration_seconds: checking.iter().map(|case| case.duration_seconds).sum(),
            reproduce: deciding.and_then(|case| case.reproduce.clone()),
            artifacts: deciding.and_then(|case| case.artifacts.clone()),
            outcome,
            ..self.clone()
        }
    }

    /// Whether the clause is recommended: its only source is this suite.
    pub fn is_recommended(&self) -> bool {
        self.level == Level::Recommended
    }

    /// Whether the clause is required of all backends, or of all that declare gang scheduling.
    pub(super) fn is_core(&self) -> bool {
        !self.is_recommended() && matches!(self.feature, None | Some(Feature::GangScheduling))
    }
}

impl TargetReport {
    /// A target without results.
    pub fn new(
        backend: impl Into<String>,
        variant: Option<String>,
        version: impl Into<String>,
        features: Features,
    ) -> Self {
        Self {
            backend: backend.into(),
            variant,
            version: version.into(),
            scheduler_configuration: None,
            features,
            summary: Summary::default(),
            clauses: Vec::new(),
            cases: Vec::new(),
        }
    }

    /// The version of the scheduler, with its configuration if that is not the suite's.
    pub fn scheduler(&self) -> String {
        match &self.scheduler_configuration {
            Some(configuration) => format!("{}, configuration {configuration}", self.version),
            None => self.version.clone(),
        }
    }

    /// Adds the cases, one result per clause of `contract` that applies to the backend, and the counts. A
    /// clause without a case is unsupported if its feature is missing, otherwise not run. Judgements of other
    /// clauses stay with their cases, and [`super::verify()`] reports them.
    pub fn conclude<'a>(
        self,
        contract: impl IntoIterator<Item = &'a Clause>,
        cases: Vec<CaseResult>,
    ) -> Self {
        let owed = contract.into_iter().filter(|clause| clause.applies_to_backend(&self.backend));
        let unchecked = owed.map(ClauseResult::unchecked).collect();
        self.conclude_clauses(unchecked, cases)
    }

    pub(super) fn reconclude(self, cases: Vec<CaseResult>) -> Self {
        let without_violations =
            |clause: &ClauseResult| ClauseResult { violations: Vec::new(), ..clause.clone() };
        let promised = self.clauses.iter().map(without_violations).collect();
        self.conclude_clauses(promised, cases)
    }

    /// Returns the case with its violations, as it was before [`Self::conclude`] moved them to the clauses.
    pub(super) fn with_violations(&self, case: &CaseResult) -> CaseResult {
        let mut observed = case.clone();
        for judgement in &mut observed.clauses {
            let clause = self.clauses.iter().find(|clause| clause.id == judgement.clause);
            let violations = clause.into_iter().flat_map(|clause| &clause.violations);
            judgement.violations =
                violations.filter(|violation| violation.case == case.label()).cloned().collect();
        }
        observed
    }

    /// Concludes the clauses from the cases. Only the texts of the clauses are taken from `promised`.
    pub(super) fn conclude_clauses(
        mut self,
        promised: Vec<ClauseResult>,
        mut cases: Vec<CaseResult>,
    ) -> Self {
        self.clauses = promised.iter().map(|clause| clause.decided_by(&self.features, &cases)).collect();
        for case in &mut cases {
            let label = case.label();
            for judgement in &mut case.clauses {
                let violations = std::mem::take(&mut judgement.violations).into_iter();
                if let Some(clause) = self.clauses.iter_mut().find(|clause| clause.id == judgement.clause) {
                    clause.violations.extend(violations.map(|violation| Violation {
                        case: label.clone(),
                        code: violation.code.of_clause(&clause.id),
                        ..violation
                    }));
                }
            }
        }
        self.summary = summarize(&self.clauses);
        self.cases = cases;
        self.features.evidence = self.evidence();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance_contract::clauses::CLAUSES;

    use crate::{UnsupportedFeature, fixture};

    fn judgement(clause: &str, outcome: Outcome) -> Judgement {
        Judgement { clause: clause.to_owned(), outcome, violations: Vec::new() }
    }

    fn flat() -> TargetReport {
        TargetReport::new("default-scheduler", None, "v1.36.4", Features::default())
    }

    fn outcome(target: &TargetReport, id: &str) -> Outcome {
        target.clauses.iter().find(|clause| clause.id == id).unwrap().outcome.clone()
    }

    #[test]
    fn the_worst_case_decides_a_clause() {
        let short = fixture::violation("bound though it does not fit");
        let cases = vec![
            CaseResult::new("aon/fits", "", vec![judgement("AON-01", Outcome::pass())]),
            CaseResult {
                artifacts: Some("cases/short".to_owned()),
                ..CaseResult::new(
                    "aon/short",
                    "",
                    vec![
                        judgement("AON-01", Outcome::pass()),
                        Judgement {
                            violations: vec![short.clone()],
                            ..judgement("AON-02", Outcome::fail("bound though it does not fit"))
                        },
                    ],
                )
            },
        ];
        let target = flat().conclude(CLAUSES.iter(), cases);
        assert_eq!(outcome(&target, "AON-01"), Outcome::pass());
        let violated = target.clauses.iter().find(|clause| clause.id == "AON-02").unwrap();
        assert_eq!(violated.outcome.verdict, Verdict::Fail);
        assert_eq!(violated.artifacts.as_deref(), Some("cases/short"));
        let code = short.code.of_clause("AON-02");
        assert_eq!(violated.violations, [Violation { case: "aon/short".to_owned(), code, ..short }]);
        assert_eq!(target.cases[0].outcome, Outcome::pass());
        assert_eq!(target.cases[1].outcome.verdict, Verdict::Fail, "one clause of the case is broken");
        assert!(target.cases[1].clauses[1].violations.is_empty(), "stored once, with the clause");
    }

    #[test]
    fn a_clause_without_a_case_does_not_pass() {
        let mut target = flat();
        target.features = Features {
            supported: vec![Feature::TopologyRequired],
            unsupported: vec![UnsupportedFeature { name: Feature::AtomicPodGang, reason: "flat".to_owned() }],
            ..Features::default()
        };
        let target = target.conclude(CLAUSES.iter(), Vec::new());
        assert_eq!(outcome(&target, "AON-08"), Outcome::unsupported("flat"));
        assert_eq!(outcome(&target, "TOPO-08"), Outcome::unsupported("TopologyPreferred is not declared"));
        assert_eq!(outcome(&target, "TOPO-01").verdict, Verdict::NotRun);
        assert!(!outcome(&target, "AON-01").announced);
        assert_eq!(target.summary.core.pass + target.summary.extended.pass, 0);
    }

    #[test]
    fn a_known_deviation_of_an_undeclared_feature_is_not_hidden() {
        let finding = Outcome::fail("").of_known_deviation("PodGroups are scheduled one by one", true);
        let cases = vec![CaseResult::new("aon/across", "", vec![judgement("AON-08", finding.clone())])];
        assert_eq!(outcome(&flat().conclude(CLAUSES.iter(), cases), "AON-08"), finding);
    }

    #[test]
    fn a_clause_about_another_backend_is_not_listed() {
        let target = TargetReport::new("volcano", None, "v1.14.1", Features::default());
        let target = target.conclude(CLAUSES.iter(), Vec::new());
        let listed = |prefix: &str| target.clauses.iter().any(|clause| clause.id.starts_with(prefix));
        assert!(listed("AON-") && listed("COEX-") && listed("VOL-"));
        assert!(!listed("KUBE-") && !listed("KOORD-") && !listed("KAI-") && !listed("EXT-"));
        let own = CLAUSES.iter().filter(|clause| clause.backend() == Some("volcano")).count();
        assert_eq!(target.summary.backend_specific.total(), own);
    }
}
