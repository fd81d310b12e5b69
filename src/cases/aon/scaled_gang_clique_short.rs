//! 4 nodes x 8 GPUs; a base gang of a leader and 2 workers and a scaled gang like it, each pod x 8 GPUs: room
//! for the scaled gang's leader and none of its workers. With two more nodes, the scaled gang fits.

use conformance_expect::Unit;

use super::competing_two_clique_gangs::is_atomic;
use crate::prelude::*;

marks! { BASE_BOUND = "base bound"; }

pub(crate) const CASE: Case = case!("A scaled gang is not bound if one of its cliques does not fit")
    .clauses(&[AON_07])
    .nodes(&[nodes(4).gpus(8), nodes(2).gpus(8).joining(1)])
    .with_feature(Feature::AtomicPodGang);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    if is_atomic(test.target).is_err() {
        return Ok(());
    }
    let gangs = test.submit("paired").await?;
    test.until_bound(3).await?;
    test.mark(BASE_BOUND, Value::Null);
    for gang in gangs.iter().filter(|gang| !gang.is_base) {
        test.until_released(gang).await?;
    }
    test.canaries().await?;
    test.add_nodes(1).await?;
    test.until_bound(6).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(AON_07, || {
        is_atomic(history.header.target)?;
        let (base_bound, _) = history.reached(BASE_BOUND)?;
        let (barrier, _) = history.reached(SharedMark::SchedulerPassed)?;
        let gangs = history.gangs("paired")?;
        let scaled = gangs.iter().filter(|gang| !gang.is_base);
        let scaled: Vec<Unit> = scaled.flat_map(|gang| gang.units(history.header.target)).collect();
        binding::never(history, &scaled, Some(barrier))?;
        binding::others_untouched(history, base_bound, &[])?;
        binding::all(&history.end(), &gangs)
    })]
}
