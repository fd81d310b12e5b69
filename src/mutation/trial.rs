//! One mutation is tried on the cases that execute it, several at once, until one detects it.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::stream::{FuturesUnordered, StreamExt};
use serde::{Deserialize, Serialize};

use crate::baseline::{Baseline, BaselineCase};
use crate::mutation::{Kind, Mutation};
use crate::order::{Killers, tries};

/// The number of cases that start at once. Each end of a case adds one: the first cases detect most
/// mutations, and cases that end early cost processor time.
const AT_FIRST: usize = 4;
/// The number of cases that decide whether a mutation makes most cases fail.
const PANEL: usize = 5;

/// Why no trial is possible: the control plane or the machine failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(pub String);

pub trait Subject {
    /// Restarts the operator with a mutation; 0 is none. Returns whether it became ready.
    fn turn_on(&self, number: u32) -> impl Future<Output = Result<bool, Unusable>>;
    /// After the limit, or after `cancel` even before the future is polled, the case ends without a result.
    fn run(&self, case: &str, limit: Duration) -> impl Future<Output = Result<CaseEnd, Unusable>>;
    fn cancel(&self);
    /// Replaces the control plane, because a mutation may have broken it.
    fn renew(&self) -> impl Future<Output = Result<(), Unusable>>;
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaseEnd {
    /// Whether the case did not pass, for any reason.
    pub has_failed: bool,
    pub kill: Option<Kill>,
    pub operator_ended: bool,
    /// The case was cancelled, or exceeded its limit.
    pub has_no_result: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kill {
    pub case: String,
    pub clause: String,
    pub code: String,
}

/// Of several trials of a mutation, the first verdict in this order counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialVerdict {
    /// A clause failed with a violation code.
    Killed,
    /// The operator exits, or more than half of the cases fail.
    Trivial,
    Survived,
    NotExecuted,
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
    /// The number of cases that exceeded their limits. They decide nothing.
    #[serde(default)]
    pub timeouts: usize,
    /// The number of cases that execute the mutation and were left out. They might kill a survivor.
    #[serde(default)]
    pub left_out: usize,
    pub seconds: f64,
}

impl Trial {
    pub(crate) fn of(mutation: &Mutation, verdict: TrialVerdict) -> Self {
        Self {
            id: mutation.id.clone(),
            number: mutation.number,
            kind: mutation.kind,
            change: mutation.change.clone(),
            verdict,
            kill: None,
            cases: 0,
            timeouts: 0,
            left_out: 0,
            seconds: 0.0,
        }
    }

    /// For a case that fails without the mutation, too: it proves nothing. The cases that its kill ended
    /// count as left out. `executing` is the number of cases that execute the mutation.
    pub(crate) fn revoke_kill(&mut self, executing: usize) {
        if self.kill.take().is_some() {
            self.verdict = TrialVerdict::Survived;
            self.cases -= 1;
            self.left_out = executing.saturating_sub(self.cases + self.timeouts).max(1);
        }
    }

    /// Whether a run with this maximum tries the mutation again, because it survived with cases left out.
    pub fn is_incomplete(&self, most: Option<usize>) -> bool {
        let tried = self.cases + self.timeouts;
        self.verdict == TrialVerdict::Survived && self.left_out > 0 && most.is_none_or(|most| most > tried)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct TrialOptions {
    pub side_by_side: usize,
    /// The largest number of cases for one mutation. `None` is all, with those that do not execute it.
    pub most_cases: Option<usize>,
}

pub(crate) async fn try_mutation(
    subject: &impl Subject,
    mutation: &Mutation,
    baseline: &Baseline,
    killers: &Killers,
    options: TrialOptions,
) -> Result<Trial, Unusable> {
    let begin = Instant::now();
    let ended = |verdict| Trial { seconds: begin.elapsed().as_secs_f64(), ..Trial::of(mutation, verdict) };
    let executing = baseline.executing(mutation.number);
    if executing == 0 {
        return Ok(ended(TrialVerdict::NotExecuted));
    }
    if !subject.turn_on(mutation.number).await? {
        return Ok(ended(TrialVerdict::Trivial));
    }
    let tries = tries(baseline, mutation, killers, options.most_cases);
    let tried = run_until_killed(subject, &tries.cases, options).await?;
    let verdict = match (&tried.kill, tried.operator_ended) {
        (_, true) => TrialVerdict::Trivial,
        (None, false) => TrialVerdict::Survived,
        (Some(_), false) => {
            // A mutation can only make those cases fail that execute it.
            let may_be_trivial = executing * 2 > baseline.passed().count();
            if may_be_trivial && most_fail(subject, baseline, &tried.has_failed).await? {
                TrialVerdict::Trivial
            } else {
                TrialVerdict::Killed
            }
        }
    };
    let left_out = if verdict == TrialVerdict::Survived { tries.left_out } else { 0 };
    let (cases, timeouts) = (tried.has_failed.len(), tried.timeouts);
    let kill = tried.kill.filter(|_| verdict == TrialVerdict::Killed);
    Ok(Trial { kill, cases, timeouts, left_out, ..ended(verdict) })
}

#[derive(Default)]
struct Tried<'a> {
    kill: Option<Kill>,
    operator_ended: bool,
    /// The cases that ended with a result, and whether each failed.
    has_failed: BTreeMap<&'a str, bool>,
    timeouts: usize,
}

/// Runs cases in this order. The first kill, or the end of the operator, ends the others.
async fn run_until_killed<'a>(
    subject: &impl Subject,
    cases: &[&'a BaselineCase],
    options: TrialOptions,
) -> Result<Tried<'a>, Unusable> {
    let mut tried = Tried::default();
    let mut running = FuturesUnordered::new();
    let mut left = cases.iter().copied();
    let (mut ended, mut is_decided) = (0, false);
    loop {
        let at_once = (AT_FIRST + ended).min(options.side_by_side.max(1));
        while !is_decided && running.len() < at_once {
            let Some(case) = left.next() else { break };
            running.push(subject.run(&case.id, case.limit()).map(move |end| (case.id.as_str(), end)));
        }
        let Some((case, end)) = running.next().await else { return Ok(tried) };
        let end = end?;
        ended += 1;
        if end.has_no_result {
            tried.timeouts += usize::from(!is_decided);
            continue;
        }
        tried.has_failed.insert(case, end.has_failed);
        tried.operator_ended |= end.operator_ended;
        tried.kill = tried.kill.or(end.kill);
        if !is_decided && (tried.kill.is_some() || tried.operator_ended) {
            is_decided = true;
            subject.cancel();
        }
    }
}

/// Whether more than half of a panel of cases fail. All are from the shorter half of the cases. Ends when
/// either half is reached.
async fn most_fail(
    subject: &impl Subject,
    baseline: &Baseline,
    known: &BTreeMap<&str, bool>,
) -> Result<bool, Unusable> {
    let mut all: Vec<_> = baseline.passed().collect();
    all.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
    all.truncate(all.len().div_ceil(2));
    let step = all.len().div_ceil(PANEL).max(1);
    let panel: Vec<_> = all.into_iter().step_by(step).collect();
    let mut results: Vec<bool> =
        panel.iter().filter_map(|case| known.get(case.id.as_str()).copied()).collect();
    let unknown = panel.iter().filter(|case| !known.contains_key(case.id.as_str()));
    let mut running: FuturesUnordered<_> = unknown.map(|case| subject.run(&case.id, case.limit())).collect();
    let reached = |results: &[bool], wanted: bool| {
        results.iter().filter(|has_failed| **has_failed == wanted).count() * 2 > panel.len()
    };
    let is_decided = |results: &[bool]| reached(results, true) || reached(results, false);
    while !is_decided(&results) {
        let Some(end) = running.next().await else { break };
        results.push(end?.has_failed);
    }
    subject.cancel();
    while let Some(end) = running.next().await {
        end?;
    }
    Ok(reached(&results, true))
}

#[cfg(test)]
#[path = "trial_tests.rs"]
mod tests;
