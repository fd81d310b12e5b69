//! 1 node x 8 GPUs; clique `many`, 4 pods without GPUs (minimum 1), and clique `few`, 2 pods x 8 GPUs. The
//! gang requires 3 pods: 1 of `many` and 2 of `few`. The node has room for 5 pods, only one of them of `few`.

use conformance_driver::pending::Retry;

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A gang is not bound if one clique cannot reach its own minimum")
    .clauses(&[AON_09])
    .nodes(&[nodes(1).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit("uneven").await? {
        test.scheduler_passes_over(&gang).await?;
        test.retry_pending_gang(&gang, &[Retry::PodReplaced, Retry::AnotherGang]).await?;
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(AON_09, || {
        let mut units = history.units("uneven")?;
        if !history.header.target.declares(Feature::AtomicPodGang) {
            units.retain(|unit| unit.minimums.iter().any(|(clique, _)| clique == "uneven-0-few"));
        }
        all([binding::never(history, &units, None), scheduler_passed(history)])
    })]
}
