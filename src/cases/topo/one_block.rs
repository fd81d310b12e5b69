//! Block `large` has 2 racks of one node x 24 GPUs. A filler pod takes 16 GPUs, so there is room for 4 pods x
//! 8 GPUs: 3 in one rack and 1 in the other. Block `small` has 2 nodes x 15 GPUs and one x 7. All 37 GPUs are
//! free (32 in `large`), but there is room for only 2 pods. Two gangs require one block each: one of 3
//! required pods and a surplus pod fits only in `large`, one of 5 pods fits the cluster but no block.

use conformance_contract::names::BLOCK;

use crate::prelude::*;

pub(crate) const CASE: Case = Case::new(
    "A gang that requires one block uses the only block with room, or waits",
    |test| Box::pin(drive(test, SETS, 4)),
    |history| vec![finding(TOPO_13, || in_the_only_domain(history, SETS, BLOCK))],
)
.clauses(&[TOPO_13])
.nodes(&[
    nodes(1).gpus(24).block("large").rack("l1"),
    nodes(1).gpus(24).block("large").rack("l2"),
    nodes(1).gpus(15).block("small").rack("s1"),
    nodes(1).gpus(15).block("small").rack("s2"),
    nodes(1).gpus(7).block("small").rack("s2"),
]);

const SETS: Sets = Sets { filler: "block-filler", too_large: "no-block", fits: "one-block" };

#[derive(Clone, Copy)]
pub(crate) struct Sets {
    pub filler: &'static str,
    pub too_large: &'static str,
    pub fits: &'static str,
}

pub(crate) async fn drive(test: &mut TestContext, sets: Sets, pods: usize) -> Result<(), Stop> {
    test.submit(sets.filler).await?;
    test.until_bound(1).await?;
    for gang in test.submit(sets.too_large).await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.submit(sets.fits).await?;
    test.until_bound(1 + pods).await
}

pub(crate) fn in_the_only_domain(history: &History, sets: Sets, key: &str) -> Ruling {
    binding::never(history, &history.units(sets.too_large)?, None)?;
    history.reached(SharedMark::SchedulerPassed)?;
    binding::all(&history.end(), &history.gangs(sets.fits)?)?;
    placement::gang_in_one_domain(history, &history.base(sets.fits)?.name, key)
}
