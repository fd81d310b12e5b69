//! 3 racks of 2 nodes x 16 GPUs, with interleaved node names; a base gang with 2 replicas of a scaling group,
//! 2 + 2 pods x 8 GPUs each. A replica fills a rack, so the replicas can only be bound in different racks.

use conformance_contract::names::RACK;
use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::{binding, finding, placement};

pub(crate) const CASE: Case = Case::new(
    "Each scaling group replica is bound in one rack, different replicas in different racks",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["TOPO-05", "KUBE-11"])
.nodes(&[
    nodes(1).gpus(16).rack("a"),
    nodes(1).gpus(16).rack("b"),
    nodes(1).gpus(16).rack("c"),
    nodes(1).gpus(16).rack("a"),
    nodes(1).gpus(16).rack("b"),
    nodes(1).gpus(16).rack("c"),
]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("replicated").await?;
    test.until_bound(8).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("TOPO-05", || {
        let gangs = history.gangs("replicated")?;
        placement::replicas_in_one_domain(history, &gangs, RACK)?;
        binding::all(&history.end(), &gangs)
    })]
}
