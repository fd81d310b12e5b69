//! Compares the run of a mutant with its expectations.

use serde::{Deserialize, Serialize};

use crate::Mutant;

#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Clauses that failed.
    pub red: Vec<String>,
    /// Clauses that passed.
    pub kept: Vec<String>,
    /// Clauses that ended in an error, with the reason.
    pub errors: Vec<(String, String)>,
    /// Fault proxy rules that were never applied, so that they broke nothing.
    pub idle_rules: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All required clauses failed, and no others except those that may.
    Killed,
    /// It breaks no clause, and none failed.
    Equivalent,
    /// A required clause did not fail: a case or a check has a gap.
    Survived,
    /// Another clause failed, or a required one ended in an error.
    Wrong,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    pub verdict: Verdict,
    pub red: Vec<String>,
    /// Why it is not killed, one sentence each.
    pub because: Vec<String>,
}

impl Mutant {
    pub fn judge(&self, found: &Found) -> Outcome {
        let mut because = Vec::new();
        let mut verdict = Verdict::Killed;
        let is_red = |id: &String| found.red.contains(id);
        for set in self.must.iter().filter(|set| !set.0.iter().any(is_red)) {
            let named = set.0.join(" or ");
            let error = found.errors.iter().find(|(id, _)| set.0.contains(id));
            verdict = verdict.max(if error.is_some() { Verdict::Wrong } else { Verdict::Survived });
            because.push(match error {
                Some((_, reason)) => format!("{named} ended in an error: {reason}"),
                None if found.kept.iter().any(|id| set.0.contains(id)) => format!("{named} was judged kept"),
                None => format!("{named} was not judged"),
            });
        }
        let unexpected: Vec<_> = found.red.iter().filter(|id| !self.allows(id)).map(String::as_str).collect();
        if !unexpected.is_empty() {
            verdict = Verdict::Wrong;
            because.push(format!("red, and may not be: {}", unexpected.join(" ")));
        }
        if !found.idle_rules.is_empty() {
            verdict = Verdict::Wrong;
            because.push(format!("did nothing: {}", found.idle_rules.join(", ")));
        }
        if self.equivalent.is_some() && verdict == Verdict::Killed {
            verdict = Verdict::Equivalent;
            if let Some((id, reason)) = found.errors.first() {
                verdict = Verdict::Wrong;
                because.push(format!("{id} ended in an error: {reason}"));
            }
        }
        if let Some(unproven) = &self.unproven {
            let proven: Vec<_> =
                unproven.clauses.iter().filter(|id| found.kept.contains(id)).cloned().collect();
            if !proven.is_empty() {
                verdict = Verdict::Wrong;
                because.push(format!("judged kept, which it cannot be: {}", proven.join(" ")));
            }
            let mut errors = found.errors.iter().filter(|(id, _)| unproven.clauses.contains(id));
            if !errors.any(|(_, reason)| reason.contains(&unproven.because)) {
                verdict = verdict.max(Verdict::Survived);
                because.push(format!("nothing ended in the error that names {:?}", unproven.because));
            }
        }
        Outcome { verdict, red: found.red.clone(), because }
    }
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Equivalent => "equivalent",
            Self::Survived => "survived",
            Self::Wrong => "WRONG",
        }
    }

    /// Whether the entry of the mutant expects this verdict.
    pub fn is_as_expected(self) -> bool {
        matches!(self, Self::Killed | Self::Equivalent)
    }

    fn max(self, other: Self) -> Self {
        if matches!(self, Self::Wrong) || other == Self::Killed { self } else { other }
    }
}
