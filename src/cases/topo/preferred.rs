//! Rack a of one node x 24 GPUs, rack b of one x 8, rack c of 2 x 16. `possible`, 4 pods x 8 GPUs, would rather be in one
//! rack, and c has room for it; a scheduler that fills small nodes first, or large ones, goes elsewhere. That leaves a and
//! b: `impossible`, 4 pods x 8 GPUs too, would rather be in one rack, fits none, and is bound all the same. Rack d of one node
//! x 2 GPUs is for `both-levels`, 2 pods x 1 GPU, which must be in one rack and would rather be in one, too.

use conformance_contract::names::RACK;
use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::{binding, finding, placement};

/// TOPO-08.
pub(crate) const CASE: Case = Case::new(
    "A preferred rack is used where one has room, and is no obstacle where none has",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["TOPO-08"])
.nodes(&[
    nodes(1).gpus(24).rack("a"),
    nodes(1).gpus(8).rack("b"),
    nodes(2).gpus(16).rack("c"),
    nodes(1).gpus(2).rack("d"),
]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("possible").await?;
    test.until_bound(4).await?;
    test.submit("impossible").await?;
    test.until_bound(8).await?;
    test.submit("both-levels").await?;
    test.until_bound(10).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("TOPO-08", || {
        placement::gang_in_one_domain(history, &history.base("possible")?.name, RACK)?;
        let end = history.end();
        binding::all(&end, &history.gangs("possible")?)?;
        binding::all(&end, &history.gangs("impossible")?)?;
        binding::all(&end, &history.gangs("both-levels")?)?;
        placement::gang_in_one_domain(history, &history.base("both-levels")?.name, RACK)
    })]
}
