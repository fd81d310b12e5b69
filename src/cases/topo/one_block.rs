//! Block large: 2 racks of one node x 24 GPUs, of which a filler pod takes 16: places for 4 pods of 8 GPUs, 3 in one rack
//! and 1 in the other. Block small: 2 nodes x 15 GPUs and one x 7, all 37 free against 32: places for 2. Of two gangs that
//! must be in one block, one of 3 with a surplus pod has room in large only, across its racks; one of 5 has room in the
//! cluster, but in no block.

use conformance_contract::names::BLOCK;
use conformance_contract::ruling::Ruling;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::Expected;
use conformance_history::{History, SharedMark};
use conformance_judge::{binding, finding, placement};

/// TOPO-13.
pub(crate) const CASE: Case = Case::new(
    "A gang that must be in one block is in the only one with room; one that no block has room for is not bound",
    |test| Box::pin(drive(test, 4)),
    |history| vec![finding("TOPO-13", || in_the_only_domain(history, BLOCK))],
)
.clauses(&["TOPO-13"])
.nodes(&[
    nodes(1).gpus(24).block("large").rack("l1"),
    nodes(1).gpus(24).block("large").rack("l2"),
    nodes(1).gpus(15).block("small").rack("s1"),
    nodes(1).gpus(15).block("small").rack("s2"),
    nodes(1).gpus(7).block("small").rack("s2"),
]);

/// Submits a filler of one pod, a gang that is too large, and one of so many pods that fits.
pub(crate) async fn drive(test: &mut TestContext, fits: usize) -> Result<(), Stop> {
    test.submit("filler").await?;
    test.until_bound(1).await?;
    for gang in test.submit("too-large").await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.submit("fits").await?;
    test.until_bound(1 + fits).await
}

pub(crate) fn in_the_only_domain(history: &History, key: &str) -> Ruling {
    binding::never(history, &history.units("too-large")?, None)?;
    history.reached(SharedMark::SchedulerPassed)?;
    binding::all(&history.end(), &history.gangs("fits")?)?;
    placement::gang_in_one_domain(history, &history.base("fits")?.name, key)
}
