//! 3 nodes x 4 GPUs; a gang of 3 pods x 4 GPUs runs. A gang of 4 pods x 8 GPUs fits nowhere until 4 nodes x 8
//! GPUs join. One node is cordoned, so the first gang waits after its termination. Both gangs wait while the
//! delay expires three times. Then the first gang is bound, breached and terminated again.

use conformance_facts::generations;

use super::{DELAY, replica, requires_recreation, requires_termination};
use crate::prelude::*;

marks! {
    WAITED = "the delay has expired several times";
    ALL_BOUND = "all bound at last";
}

const SET: &str = "once-bound";
const CLIQUE: &str = "once-bound-0-worker";
const NEVER_FITS: &str = "never-fits";

pub(crate) const CASE: Case = case!("A gang is terminated only if its current pods were bound whole")
    .clauses(&[TERM_05, TERM_06, TERM_24])
    .nodes(&[nodes(3).gpus(4), nodes(4).gpus(8).joining(1)])
    .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_started(SET).await?;
    let clock = test.start_clock("2s").await?;
    for gang in test.submit(NEVER_FITS).await? {
        test.until_released(&gang).await?;
    }
    let old = test.pods_of(CLIQUE);
    let node = test.delete_pod_and_cordon_node(&old.first().cloned().unwrap_or_default()).await?;
    test.until_recreated("once-bound", TERM_02, &[CLIQUE], &old, false).await?;
    test.run_clock(&clock, 3, WAITED).await?;
    test.cordon(&node, false).await?;
    let waiting = test.pods_of(CLIQUE);
    test.until_bound(3).await?;
    test.until_converged(SET).await?;
    if let Some(pod) = waiting.first() {
        test.set_pod_status(pod, Containers::Crashing).await?;
    }
    test.until_recreated("PodCliqueSet once-bound again", TERM_24, &[CLIQUE], &waiting, true).await?;
    test.add_nodes(1).await?;
    test.until_bound(7).await?;
    test.mark(ALL_BOUND, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TERM_05, || {
            let never_fits = replica(history, NEVER_FITS, 0)?;
            termination::times(history, &never_fits, &never_fits.scope(), 0)?;
            termination::nothing_else_deleted(history, &never_fits)?;
            history.reached(ALL_BOUND).map(drop)
        }),
        finding(TERM_06, || {
            let once_bound = replica(history, SET, 0)?;
            let scope = once_bound.scope();
            let meanwhile = history.upto(history.waited_for(WAITED)?);
            requires_termination(&meanwhile, &once_bound)?;
            termination::times(&meanwhile, &once_bound, &scope, 1)?;
            history.reached(WAITED).map(drop)
        }),
        finding(TERM_24, || {
            let once_bound = replica(history, SET, 0)?;
            let scope = once_bound.scope();
            let (waited, _) = history.reached(WAITED)?;
            requires_recreation(history, &once_bound)?;
            precondition(TERM_06, termination::times(&history.upto(waited), &once_bound, &scope, 1))?;
            termination::nothing_else_deleted(history, &once_bound)?;
            termination::after_the_delay(history, &once_bound, &scope, DELAY)?;
            history.reached(ALL_BOUND)?;
            termination::times(history, &once_bound, &scope, 2)?;
            binding::whole(&generations::only_generation(history, &scope, 2).end(), &history.units(SET)?)
        }),
    ]
}
