//! 1 node; two gangs of 2 pods. Of one a pod has started, has ended in an error and is not Ready; of the other one is still
//! being created and one still in an init container, for as long as two termination delays.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::pod_health::Containers;
use conformance_history::{History, MarkName};
use conformance_judge::finding;
use conformance_judge::life::termination;

use super::{DELAY, replica};

/// Mark: the delay has run out twice since.
const WAITED: MarkName = MarkName::of_case("two delays of unreadiness");

const CRASHES: &str = "crashes-0-worker";
const STARTS: &str = "starts-0-worker";

/// TERM-11.
pub(crate) const CASE: Case = Case::new(
    "A gang whose pods crash is recycled after the termination delay, one whose pods are being created never",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["TERM-11"])
.nodes(&[nodes(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("crashes").await?;
    test.submit("starts").await?;
    test.until_converged("crashes").await?;
    test.until_started("starts").await?;
    let clock = test.clock("2s").await?;
    for (pod, state) in test.pods_of(STARTS).iter().zip([Containers::Creating, Containers::Waiting]) {
        test.pod_becomes(pod, state).await?;
    }
    let old = test.pods_of(CRASHES);
    if let Some(pod) = old.first() {
        test.pod_becomes(pod, Containers::Crashing).await?;
    }
    test.clock_runs(&clock, 2, WAITED).await?;
    test.until_recycled("crashes", "TERM-11", &[CRASHES], &old, true).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("TERM-11", || {
        let (crashes, starts) = (replica(history, "crashes", 0)?, replica(history, "starts", 0)?);
        history.waited_for(WAITED)?;
        termination::times(history, &starts, &starts.scope(), 0)?;
        termination::nothing_else_deleted(history, &starts)?;
        history.reached(WAITED)?;
        termination::after_the_delay(history, &crashes, &crashes.scope(), DELAY)?;
        termination::times(history, &crashes, &crashes.scope(), 1)
    })]
}
