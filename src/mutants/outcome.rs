use serde::{Deserialize, Serialize};

use crate::Mutant;

#[derive(Debug, Clone, Default)]
pub struct RunFindings {
    pub failed: Vec<String>,
    pub passed: Vec<String>,
    pub errors: Vec<(String, String)>,
    /// Fault proxy rules that were never applied, so that they broke nothing.
    pub idle_rules: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MutantVerdict {
    /// All required clauses failed, and no other clause failed unless it may.
    Killed,
    /// The mutant breaks no clause, and none failed.
    Equivalent,
    /// A required clause did not fail: a case or a check has a gap.
    Survived,
    /// Another clause failed, or a required one ended in an error.
    Wrong,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MutantResult {
    pub verdict: MutantVerdict,
    #[serde(rename = "red")]
    pub failed: Vec<String>,
    #[serde(rename = "because")]
    pub reasons: Vec<String>,
}

impl Mutant {
    pub fn evaluate(&self, found: &RunFindings) -> MutantResult {
        let mut reasons = Vec::new();
        let mut verdict = MutantVerdict::Killed;
        let has_failed = |id: &String| found.failed.contains(id);
        for set in self.must.iter().filter(|set| !set.0.iter().any(has_failed)) {
            let named = set.0.join(" or ");
            let error = found.errors.iter().find(|(id, _)| set.0.contains(id));
            verdict =
                verdict.max(if error.is_some() { MutantVerdict::Wrong } else { MutantVerdict::Survived });
            reasons.push(match error {
                Some((_, reason)) => format!("{named} ended in an error: {reason}"),
                None if found.passed.iter().any(|id| set.0.contains(id)) => format!("{named} passed"),
                None => format!("{named} was not decided"),
            });
        }
        let unexpected = found.failed.iter().filter(|id| !self.allows(id));
        let unexpected: Vec<_> = unexpected.map(String::as_str).collect();
        if !unexpected.is_empty() {
            verdict = MutantVerdict::Wrong;
            reasons.push(format!("failed, but must not fail: {}", unexpected.join(" ")));
        }
        if !found.idle_rules.is_empty() {
            verdict = MutantVerdict::Wrong;
            reasons
                .push(format!("the fault proxy never applied these rules: {}", found.idle_rules.join(", ")));
        }
        if self.equivalent.is_some() && verdict == MutantVerdict::Killed {
            verdict = MutantVerdict::Equivalent;
            if let Some((id, reason)) = found.errors.first() {
                verdict = MutantVerdict::Wrong;
                reasons.push(format!("{id} ended in an error: {reason}"));
            }
        }
        if let Some(unproven) = &self.unproven {
            let proven: Vec<_> =
                unproven.clauses.iter().filter(|id| found.passed.contains(id)).cloned().collect();
            if !proven.is_empty() {
                verdict = MutantVerdict::Wrong;
                reasons.push(format!("passed, but must stay undecided: {}", proven.join(" ")));
            }
            let mut errors = found.errors.iter().filter(|(id, _)| unproven.clauses.contains(id));
            if !errors.any(|(_, reason)| reason.contains(&unproven.because)) {
                verdict = verdict.max(MutantVerdict::Survived);
                reasons.push(format!("no clause ended in an error that contains {:?}", unproven.because));
            }
        }
        MutantResult { verdict, failed: found.failed.clone(), reasons }
    }
}

impl MutantVerdict {
    pub fn name(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Equivalent => "equivalent",
            Self::Survived => "survived",
            Self::Wrong => "WRONG",
        }
    }

    /// Whether the suite detected the defect, or there was none to detect.
    pub fn is_as_expected(self) -> bool {
        matches!(self, Self::Killed | Self::Equivalent)
    }

    fn max(self, other: Self) -> Self {
        if matches!(self, Self::Wrong) || other == Self::Killed { self } else { other }
    }
}
