//! A scaling group of 3 replicas, minimum 1: two scaled PodGangs of 2 pods; scaled in to 1.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::scaling;
use conformance_history::{History, SharedMark};
use conformance_judge::{cleanup, finding};

pub(crate) const CASE: Case = Case::new(
    "Scaling a scaling group in deletes its scaled PodGangs, pods and gang resources",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["DEL-03"])
.nodes(&[nodes(1)]);

const SET: &str = "narrowed";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    let converged = test.converged_or_not(SET).await?;
    test.scale("PodCliqueScalingGroup", "narrowed-0-model", 1).await?;
    let gangs = scaling::lost(&test.history(), SET);
    test.converged_or_not(SET).await?.and(converged)?;
    test.until_gone(&gangs).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("DEL-03", || {
        history.reached(SharedMark::Scaled)?;
        cleanup::removed(history, &scaling::lost(history, SET))
    })]
}
