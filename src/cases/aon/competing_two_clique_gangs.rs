//! 4 nodes x 8 GPUs; two gangs of a leader and 2 workers, each x 8 GPUs, created at the same time: room for
//! one of them and one clique of the other. With one gang resource per clique, each could get one clique.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("With room for one of two gangs of two cliques, one is bound whole")
    .clauses(&[AON_04])
    .nodes(&[nodes(4).gpus(8)])
    .with_feature(Feature::AtomicPodGang);

pub(super) fn is_atomic(target: Target) -> Result<(), Broken> {
    if target.declares(Feature::AtomicPodGang) {
        Ok(())
    } else {
        Err(Broken::NotAsked(
            "the target does not declare AtomicPodGang, so each clique is its own unit".into(),
        ))
    }
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    if is_atomic(test.target).is_err() {
        return Ok(());
    }
    for gang in test.submit("rival-pair").await? {
        test.until_released(&gang).await?;
    }
    test.until_bound(3).await?;
    test.canaries().await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(AON_04, || {
        is_atomic(history.header.target)?;
        history.reached(SharedMark::SchedulerPassed)?;
        let rivals: Vec<_> =
            history.gangs("rival-pair")?.iter().map(|gang| gang.units(history.header.target)).collect();
        binding::some_whole_others_never(history, &rivals, 1, None)
    })]
}
