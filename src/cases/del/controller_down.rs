//! A running PodCliqueSet is deleted while the controller is down; then the controller is restarted.

use conformance_cluster::local::Part;
use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Isolation, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::control_plane;
use conformance_history::{History, SharedMark};
use conformance_judge::{cleanup, finding};
use futures::future::BoxFuture;

pub(crate) const CASE: Case = Case::new(
    "A PodCliqueSet deleted while the controller is down is removed after it restarts",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["DEL-06"])
.nodes(&[nodes(1)])
.isolation(Isolation::Dedicated);

const SET: &str = "orphaned";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.take_baseline().await?;
    test.submit(SET).await?;
    let converged = test.converged_or_not(SET).await?;
    control_plane::restored(test, without_controller).await?;
    test.until_nothing_left().await?;
    converged
}

fn without_controller(test: &mut TestContext) -> BoxFuture<'_, Result<(), Stop>> {
    Box::pin(async {
        test.take_away(Part::Controller).await?;
        test.delete("PodCliqueSet", SET).await
    })
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("DEL-06", || {
        history.reached(SharedMark::PartTakenAway)?;
        history.reached(SharedMark::Deleted)?;
        cleanup::nothing_left(history)
    })]
}
