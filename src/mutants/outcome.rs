//! What a mutant's run says about the suite.

use serde::{Deserialize, Serialize};

use crate::Mutant;

/// What the cases of a mutant came to, by clause.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Clauses that turned red.
    pub red: Vec<String>,
    /// Clauses that were judged kept.
    pub kept: Vec<String>,
    /// Clauses that ended in an error, with the reason.
    pub errors: Vec<(String, String)>,
    /// Rules of fault proxies that never did anything: what they are to break was whole.
    pub idle_rules: Vec<String>,
}

/// Whether the suite has seen what is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All that had to be red was, and nothing else that may not.
    Killed,
    /// It breaks no clause, and none was red.
    Equivalent,
    /// Something that had to be red was not: a case or a judge has a hole.
    Survived,
    /// Something else was red, or ended in an error where it had to be red.
    Wrong,
}

/// A verdict, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// The clauses that turned red.
    pub red: Vec<String>,
    /// Why it is not killed, a sentence each.
    pub because: Vec<String>,
}

impl Mutant {
    /// Holds what was found against what had to be.
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
    /// As the command line calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Equivalent => "equivalent",
            Self::Survived => "survived",
            Self::Wrong => "WRONG",
        }
    }

    /// Whether it is as its entry says.
    pub fn is_as_expected(self) -> bool {
        matches!(self, Self::Killed | Self::Equivalent)
    }

    /// The worse of two.
    fn max(self, other: Self) -> Self {
        if matches!(self, Self::Wrong) || other == Self::Killed { self } else { other }
    }
}
