//! A rack of 2 nodes x 8 GPUs and 4 nodes x 8 GPUs without a rack. `fills-rack`, a gang of 2 required and 2
//! surplus pods x 8 GPUs, fills the rack. `fits-no-rack`, 3 pods x 8 GPUs, never fits. `anywhere`, 2 pods,
//! shows that the nodes without a rack accept pods. An operator may add node affinity on the label's key.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A constrained gang is never bound to nodes without the level's label")
    .clauses(&[TOPO_11, KUBE_11])
    .nodes(&[nodes(2).gpus(8).rack("a"), nodes(4).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("fills-rack").await?;
    test.until_bound(2).await?;
    test.until(
        Awaited::demanded_by(GANG_07, "surplus pods released to the scheduler"),
        limits::REACTION,
        |live| live.pods().all(|pod| pod.gates().is_empty()),
    )
    .await?;
    for gang in test.submit("fits-no-rack").await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.submit("anywhere").await?;
    test.until_bound(4).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TOPO_11, || {
        let labelled = ["fills-rack", "fits-no-rack"]
            .map(|set| placement::never_unlabelled(history, &history.base(set)?.name, RACK));
        all([all(labelled), scheduler_passed(history)])?;
        let end = history.end();
        binding::exactly(&end, "fills-rack-0-worker", 2)?;
        binding::whole(&end, &history.units("anywhere")?)
    })]
}
