//! Many trials on one control plane, or on several at once. A mutation may break the control plane for those
//! after it, so after some trials the cases that killed run without a mutation. If one fails, the control
//! plane is replaced, and the trials are repeated. A kill by a case that then still fails does not count.

use std::collections::BTreeSet;

use futures::stream::{FuturesUnordered, StreamExt};

use crate::baseline::Baseline;
use crate::mutation::Mutation;
use crate::order::Killers;
use crate::trial::{Subject, Trial, TrialOptions, TrialVerdict, Unusable, try_mutation};

const BETWEEN_CONTROLS: usize = 8;

#[derive(Debug, Clone, Copy)]
pub struct Session<'a> {
    pub mutations: &'a [Mutation],
    pub baseline: &'a Baseline,
    /// The trials of earlier runs: cases that killed other mutations of a file are tried first.
    pub earlier: &'a [Trial],
    pub options: TrialOptions,
}

/// Tries all mutations, on each subject one at a time. `finished` gets the confirmed trials.
pub async fn try_all<E: From<Unusable>>(
    subjects: &[impl Subject],
    session: Session<'_>,
    mut finished: impl FnMut(&[Trial]) -> Result<(), E>,
) -> Result<(), E> {
    let mut killers = Killers::default();
    remember(&mut killers, session.earlier);
    let mut batches = session.mutations.chunks(BETWEEN_CONTROLS);
    let mut idle: Vec<_> = subjects.iter().collect();
    let mut running = FuturesUnordered::new();
    loop {
        while let Some(subject) = idle.pop() {
            let Some(batch) = batches.next() else { break };
            let killers = killers.clone();
            running.push(async move {
                let on = On { subject, baseline: session.baseline, killers, options: session.options };
                (subject, on.try_confirmed(batch).await)
            });
        }
        let Some((subject, trials)) = running.next().await else { return Ok(()) };
        let trials = trials?;
        remember(&mut killers, &trials);
        finished(&trials)?;
        idle.push(subject);
    }
}

fn remember(killers: &mut Killers, trials: &[Trial]) {
    for trial in trials {
        if let Some(kill) = &trial.kill {
            killers.add(&trial.id, &kill.case);
        }
    }
}

struct On<'a, S> {
    subject: &'a S,
    baseline: &'a Baseline,
    killers: Killers,
    options: TrialOptions,
}

impl<S: Subject> On<'_, S> {
    async fn try_confirmed(&self, batch: &[Mutation]) -> Result<Vec<Trial>, Unusable> {
        let trials = self.try_batch(batch).await?;
        if self.control_passes(&trials).await? {
            return Ok(trials);
        }
        self.renew().await?;
        // One at a time, to find the mutation that breaks the control plane.
        let mut trials = Vec::new();
        for mutation in batch {
            let mut one = self.try_batch(std::slice::from_ref(mutation)).await?;
            if !self.control_passes(&one).await? {
                self.renew().await?;
                if !self.control_passes(&one).await? {
                    for trial in &mut one {
                        trial.revoke_kill(self.baseline.executing(trial.number));
                    }
                }
            }
            trials.extend(one);
        }
        Ok(trials)
    }

    async fn try_batch(&self, batch: &[Mutation]) -> Result<Vec<Trial>, Unusable> {
        let On { subject, baseline, killers, options } = self;
        let mut trials = Vec::new();
        for mutation in batch {
            trials.push(try_mutation(*subject, mutation, baseline, killers, *options).await?);
        }
        Ok(trials)
    }

    async fn renew(&self) -> Result<(), Unusable> {
        self.subject.renew().await?;
        if self.pass_without_mutation(&BTreeSet::new()).await? {
            return Ok(());
        }
        Err(Unusable("a case fails on a new control plane without a mutation".into()))
    }

    /// Whether the cases that killed pass without a mutation.
    async fn control_passes(&self, trials: &[Trial]) -> Result<bool, Unusable> {
        if trials.iter().all(|trial| trial.verdict == TrialVerdict::NotExecuted) {
            return Ok(true);
        }
        let killing: BTreeSet<_> =
            trials.iter().filter_map(|trial| Some(trial.kill.as_ref()?.case.as_str())).collect();
        self.pass_without_mutation(&killing).await
    }

    /// Without any case, the shortest one.
    async fn pass_without_mutation(&self, cases: &BTreeSet<&str>) -> Result<bool, Unusable> {
        let mut chosen: Vec<_> =
            self.baseline.passed().filter(|case| cases.contains(case.id.as_str())).collect();
        if chosen.is_empty() {
            chosen.extend(self.baseline.passed().min_by(|one, other| one.seconds.total_cmp(&other.seconds)));
        }
        if !self.subject.turn_on(0).await? {
            return Ok(false);
        }
        let mut running: FuturesUnordered<_> =
            chosen.into_iter().map(|case| self.subject.run(&case.id, case.limit())).collect();
        let mut all_pass = true;
        while let Some(end) = running.next().await {
            all_pass &= !end?.has_failed;
        }
        Ok(all_pass)
    }
}
