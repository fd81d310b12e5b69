//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs of another scheduler is bound and fills both nodes. Then a
//! gang like it is submitted for the target's scheduler, which did not bind the pods on the nodes.

use super::each_scheduler_own_gangs::targets;
use crate::prelude::*;

pub(crate) const CASE: Case = case!("A gang is not bound to nodes filled by another scheduler's gang")
    .clauses(&[COEX_03])
    .nodes(&[nodes(2).gpus(8)])
    .needs(&[Need::SeveralSchedulers]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let scheduler = test.target.scheduler();
    let others = targets(test).into_iter().filter(|target| target.scheduler() != scheduler);
    for other in others.take(1) {
        let first = test.manifest_for(other, "first-there")?;
        test.submit_value(first).await?;
        test.until_bound(2).await?;
    }
    for gang in test.submit("second-there").await? {
        test.scheduler_passes_over(&gang).await?;
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(COEX_03, || {
        binding::whole(&history.end(), &history.units("first-there")?)?;
        all([binding::never(history, &history.units("second-there")?, None), scheduler_passed(history)])
    })]
}
