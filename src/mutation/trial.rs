//! One mutation is tried on the cases that execute it, until one detects it.

use std::future::Future;
use std::time::Instant;

use futures::stream::{FuturesUnordered, StreamExt};
use serde::{Deserialize, Serialize};

use crate::baseline::Baseline;
use crate::mutation::{Kind, Mutation};

/// The first cases run alone: most mutations are detected by one of them.
const ALONE: usize = 2;
/// The number of cases that decide whether a mutation makes most cases fail.
const PANEL: usize = 5;

/// Why no trial is possible: the control plane or the machine failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(pub String);

pub trait Subject {
    /// Restarts the operator with a mutation; 0 is none. Returns whether it became ready.
    fn turn_on(&self, number: u32) -> impl Future<Output = Result<bool, Unusable>>;
    fn run(&self, case: &str) -> impl Future<Output = Result<CaseEnd, Unusable>>;
    /// Replaces the control plane, because a mutation may have broken it.
    fn renew(&self) -> impl Future<Output = Result<(), Unusable>>;
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaseEnd {
    /// Whether the case did not pass, for whatever reason.
    pub has_failed: bool,
    pub kill: Option<Kill>,
    pub operator_ended: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kill {
    pub case: String,
    pub clause: String,
    pub code: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialVerdict {
    /// A clause failed with a violation code.
    Killed,
    Survived,
    NotExecuted,
    /// The operator exits, or more than half of the cases fail.
    Trivial,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trial {
    pub id: String,
    pub number: u32,
    pub kind: Kind,
    pub change: String,
    pub verdict: TrialVerdict,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kill: Option<Kill>,
    pub cases: usize,
    pub seconds: f64,
}

#[derive(Debug, Clone, Copy)]
pub struct TrialOptions {
    /// How many cases run at once, after the first ones.
    pub side_by_side: usize,
    /// Whether survivors also see the cases that do not execute the mutation.
    pub whole: bool,
}

pub async fn try_mutation(
    subject: &impl Subject,
    mutation: &Mutation,
    baseline: &Baseline,
    options: TrialOptions,
) -> Result<Trial, Unusable> {
    let begin = Instant::now();
    let ended = |verdict, kill, cases| Trial {
        id: mutation.id.clone(),
        number: mutation.number,
        kind: mutation.kind,
        change: mutation.change.clone(),
        verdict,
        kill,
        cases,
        seconds: begin.elapsed().as_secs_f64(),
    };
    let executing = baseline.executing(mutation.number);
    if executing == 0 {
        return Ok(ended(TrialVerdict::NotExecuted, None, 0));
    }
    if !subject.turn_on(mutation.number).await? {
        return Ok(ended(TrialVerdict::Trivial, None, 0));
    }
    let tries = baseline.tries(mutation.number);
    let count = if options.whole { tries.len() } else { executing };
    let tried = run_until_killed(subject, tries.iter().take(count).map(|case| case.id.as_str()), options);
    let tried = tried.await?;
    let verdict = match (&tried.kill, tried.operator_ended) {
        (_, true) => TrialVerdict::Trivial,
        (None, false) => TrialVerdict::Survived,
        (Some(_), false) => {
            // A mutation can only make those cases fail that execute it.
            let may_be_trivial = executing * 2 > baseline.passed().count();
            if may_be_trivial && most_fail(subject, baseline, options).await? {
                TrialVerdict::Trivial
            } else {
                TrialVerdict::Killed
            }
        }
    };
    let kill = tried.kill.filter(|_| verdict == TrialVerdict::Killed);
    Ok(ended(verdict, kill, tried.cases))
}

#[derive(Default)]
struct Tried {
    kill: Option<Kill>,
    operator_ended: bool,
    cases: usize,
}

/// Runs cases in this order, and starts none after the first kill. Running cases end before this returns.
async fn run_until_killed<'a>(
    subject: &impl Subject,
    mut cases: impl Iterator<Item = &'a str>,
    options: TrialOptions,
) -> Result<Tried, Unusable> {
    let mut tried = Tried::default();
    let mut running = FuturesUnordered::new();
    loop {
        let at_once = if tried.cases < ALONE { 1 } else { options.side_by_side.max(1) };
        while tried.kill.is_none() && !tried.operator_ended && running.len() < at_once {
            let Some(case) = cases.next() else { break };
            running.push(subject.run(case));
        }
        let Some(end) = running.next().await else { return Ok(tried) };
        let end = end?;
        tried.cases += 1;
        tried.operator_ended |= end.operator_ended;
        tried.kill = tried.kill.or(end.kill);
    }
}

/// Whether more than half of a panel of cases fail. The panel is spread over the shorter half of all cases.
async fn most_fail(
    subject: &impl Subject,
    baseline: &Baseline,
    options: TrialOptions,
) -> Result<bool, Unusable> {
    let mut all: Vec<_> = baseline.passed().collect();
    all.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
    all.truncate(all.len().div_ceil(2));
    let step = all.len().div_ceil(PANEL).max(1);
    let panel: Vec<_> = all.iter().step_by(step).map(|case| case.id.as_str()).collect();
    let ends = futures::stream::iter(panel.iter().map(|case| subject.run(case)));
    let ends: Vec<_> = ends.buffer_unordered(options.side_by_side.max(1)).collect().await;
    let mut failed = 0;
    for end in ends {
        failed += usize::from(end?.has_failed);
    }
    Ok(failed * 2 > panel.len())
}

#[cfg(test)]
#[path = "trial_tests.rs"]
mod tests;
