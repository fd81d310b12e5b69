//! 1 node; a gang of 2 pods, one of which crashes as soon as both run.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Need, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::pod_health::Containers;
use conformance_history::{History, MarkName};
use conformance_judge::life::termination;
use conformance_judge::{finding, premise};
use serde_json::Value;

use super::{DELAY, replica};

const ANSWERED: MarkName = MarkName::of_case("early loss answered");

const CLIQUE: &str = "hasty-0-worker";

pub(crate) const CASE: Case = Case::new(
    "A gang breached as soon as it runs is terminated after terminationDelay",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["TERM-02", "TERM-22"])
.nodes(&[nodes(1)])
.needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("hasty").await?;
    test.until_converged("hasty").await?;
    let old = test.pods_of(CLIQUE);
    if let Some(pod) = old.first() {
        test.pod_becomes(pod, Containers::Crashing).await?;
    }
    test.until_recycled("hasty", "TERM-02", &[CLIQUE], &old, true).await?;
    test.mark(ANSWERED, Value::Null);
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("TERM-02", || {
            let hasty = replica(history, "hasty", 0)?;
            premise("TERM-22", termination::nothing_else_deleted(history, &hasty))?;
            termination::after_the_delay(history, &hasty, &hasty.scope(), DELAY)?;
            history.reached(ANSWERED)?;
            termination::times(history, &hasty, &hasty.scope(), 1)
        }),
        finding("TERM-22", || {
            let hasty = replica(history, "hasty", 0)?;
            termination::nothing_else_deleted(history, &hasty)?;
            history.reached(ANSWERED).map(drop)
        }),
    ]
}
