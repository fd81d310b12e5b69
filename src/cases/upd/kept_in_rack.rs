//! Rack home of 2 nodes x 8 GPUs, rack away of one node x 8; a gang of 2 pods x 8 GPUs, both needed, that must be in one rack, is
//! bound in rack home while rack away is closed. Then rack home is closed instead, and the template changes: the only room
//! for the replacement of the first turn is in rack away. When the scheduler has passed over it, rack home is open again.

use conformance_contract::names::RACK;
use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits::SCHEDULING;
use conformance_expect::Expected;
use conformance_history::{History, MarkName};
use conformance_judge::life::updates::{self, is_of_revision};
use conformance_judge::{all, binding, finding, placement};
use serde_json::Value;

/// Mark: the scheduler has had the replacement, which has room in another domain alone.
const TRIED: MarkName = MarkName::of_case("the replacement was tried");
/// Mark: every pod is new.
const UPDATED: MarkName = MarkName::of_case("every pod is new");

const SET: &str = "homing";
/// Nodes at home; the others are away.
const HOME: usize = 2;

/// UPD-19.
pub(crate) const CASE: Case = Case::new(
    "What replaces a pod in its turn waits for room in its gang's rack, whatever room another one has",
    |test| Box::pin(drive(test, SET)),
    |history| judge(history, SET, RACK),
)
.clauses(&["UPD-19"])
.nodes(&[nodes(2).gpus(8).rack("home"), nodes(1).gpus(8).rack("away")]);

pub(super) async fn drive(test: &mut TestContext, set: &str) -> Result<(), Stop> {
    only_home_is_open(test, true).await?;
    test.submit(set).await?;
    test.until_converged(set).await?;
    only_home_is_open(test, false).await?;
    if !test.revise(set, "2").await? {
        return Ok(());
    }
    let clique = format!("{set}-0-pigeon");
    let released = Awaited::demanded_by("UPD-08", "the first replacement released to the scheduler");
    test.until(released, SCHEDULING, |live| {
        let mut pods = live.pods().filter(|pod| pod.pod_clique() == Some(&clique));
        pods.any(|pod| is_of_revision(pod, "2") && pod.gates().is_empty())
    })
    .await?;
    test.canaries().await?;
    test.mark(TRIED, Value::Null);
    only_home_is_open(test, true).await?;
    test.until_updated(set, "UPD-19").await?;
    test.mark(UPDATED, Value::Null);
    Ok(())
}

/// Closes the nodes of the one domain and opens those of the other.
async fn only_home_is_open(test: &TestContext, is_open: bool) -> Result<(), Stop> {
    for (index, node) in test.nodes.iter().enumerate() {
        test.cordon(&node.name, (index < HOME) != is_open).await?;
    }
    Ok(())
}

pub(super) fn judge(history: &History, set: &str, level: &str) -> Vec<Finding> {
    vec![finding("UPD-19", || {
        updates::are_admitted(history)?;
        let updated = history.waited_for(UPDATED)?;
        let live = history.before(updated);
        all([
            placement::gang_in_one_domain(history, &history.base(set)?.name, level),
            updates::one_turn_at_a_time(history, set),
            updates::through(&live, set),
            binding::whole(&live, &history.units(set)?),
        ])?;
        history.reached(TRIED)?;
        history.reached(UPDATED).map(drop)
    })]
}
