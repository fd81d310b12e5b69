//! 3 racks of 2 nodes with room for 4 pods each. Clique packed, 5 pods, must be in one rack; clique loose, 10
//! pods, has no constraint and fits no rack (8). Wherever loose is bound, room for 14 pods is left, and some
//! rack has room for 5.

use conformance_contract::names::RACK;
use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::{all, binding, finding, placement};

pub(crate) const CASE: Case = Case::new(
    "A constraint on one clique does not constrain the other clique",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["TOPO-06", "KUBE-11"])
.nodes(&[nodes(2).pods(4).rack("a"), nodes(2).pods(4).rack("b"), nodes(2).pods(4).rack("c")]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("mixed").await?;
    test.until_bound(15).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("TOPO-06", || {
        let placed = placement::clique_in_one_domain(history, "mixed-0-packed", RACK);
        all([placed, binding::all(&history.end(), &history.gangs("mixed")?)])
    })]
}
