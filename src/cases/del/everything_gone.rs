//! 2 replicas with surplus, a scaling group and scaled PodGangs run; then the PodCliqueSet is deleted. The
//! case lists every kind that the API server serves in the namespace, not only the kinds in the history.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_history::{History, SharedMark};
use conformance_judge::{cleanup, finding};

pub(crate) const CASE: Case = Case::new(
    "Deleting a running PodCliqueSet deletes every object that was created for it",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["DEL-01"])
.nodes(&[nodes(1)]);

const SET: &str = "gone";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.take_baseline().await?;
    test.submit(SET).await?;
    let converged = test.converged_or_not(SET).await?;
    test.delete("PodCliqueSet", SET).await?;
    test.until_nothing_left().await?;
    converged
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("DEL-01", || {
        history.reached(SharedMark::Deleted)?;
        cleanup::nothing_left(history)
    })]
}
