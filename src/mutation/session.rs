//! Many trials on one control plane. A mutation may break the control plane for those after it, so after some
//! trials a case runs without a mutation. If it fails, the control plane is replaced, and the trials are
//! repeated.

use crate::baseline::Baseline;
use crate::mutation::Mutation;
use crate::trial::{Subject, Trial, TrialOptions, TrialVerdict, Unusable, try_mutation};

const BETWEEN_CONTROLS: usize = 8;

/// Tries all mutations. `finished` gets the trials that a control has confirmed.
pub async fn try_all<E: From<Unusable>>(
    subject: &impl Subject,
    mutations: &[Mutation],
    baseline: &Baseline,
    options: TrialOptions,
    mut finished: impl FnMut(&[Trial]) -> Result<(), E>,
) -> Result<(), E> {
    for batch in mutations.chunks(BETWEEN_CONTROLS) {
        let mut trials = try_batch(subject, batch, baseline, options).await?;
        if !control_passes(subject, baseline, &trials).await? {
            renew(subject, baseline).await?;
            // One at a time, to find the mutation that breaks the control plane.
            trials.clear();
            for mutation in batch {
                let one = try_batch(subject, std::slice::from_ref(mutation), baseline, options).await?;
                if !control_passes(subject, baseline, &one).await? {
                    renew(subject, baseline).await?;
                }
                trials.extend(one);
            }
        }
        finished(&trials)?;
    }
    Ok(())
}

async fn try_batch(
    subject: &impl Subject,
    batch: &[Mutation],
    baseline: &Baseline,
    options: TrialOptions,
) -> Result<Vec<Trial>, Unusable> {
    let mut trials = Vec::new();
    for mutation in batch {
        trials.push(try_mutation(subject, mutation, baseline, options).await?);
    }
    Ok(trials)
}

async fn renew(subject: &impl Subject, baseline: &Baseline) -> Result<(), Unusable> {
    subject.renew().await?;
    if passes_without_mutation(subject, baseline, None).await? {
        return Ok(());
    }
    Err(Unusable("a case fails on a new control plane without a mutation".into()))
}

/// Whether the case that detected the last killed mutation passes without one, or else the shortest case.
async fn control_passes(
    subject: &impl Subject,
    baseline: &Baseline,
    trials: &[Trial],
) -> Result<bool, Unusable> {
    if trials.iter().all(|trial| trial.verdict == TrialVerdict::NotExecuted) {
        return Ok(true);
    }
    let killing = trials.iter().rev().find_map(|trial| Some(trial.kill.as_ref()?.case.as_str()));
    passes_without_mutation(subject, baseline, killing).await
}

async fn passes_without_mutation(
    subject: &impl Subject,
    baseline: &Baseline,
    case: Option<&str>,
) -> Result<bool, Unusable> {
    let shortest = baseline.passed().min_by(|one, other| one.seconds.total_cmp(&other.seconds));
    let Some(case) = case.or(shortest.map(|case| case.id.as_str())) else { return Ok(true) };
    Ok(subject.turn_on(0).await? && !subject.run(case).await?.has_failed)
}
