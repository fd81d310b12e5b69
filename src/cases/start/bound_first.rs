//! 4 nodes x 8 GPUs; in order a leader and a scaling group of 2 replicas, of which one is in the base, of 1 worker each, and
//! another clique of 1, each pod x 8 GPUs: room for exactly all. Simulated nodes leave their containers unstarted, so
//! nothing that is waited for is ever Ready.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits::SCHEDULING;
use conformance_expect::Expected;
use conformance_history::{History, MarkName};
use conformance_judge::{binding, finding};
use serde_json::Value;

/// Mark: all is bound.
const BOUND: MarkName = MarkName::of_case("bound before anything starts");

const SET: &str = "drill";

/// START-05.
pub(crate) const CASE: Case = Case::new(
    "A gang of cliques that start in order is bound whole, and so is what is scaled, before any container starts",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["START-05"])
.nodes(&[nodes(4).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    let bound = Awaited::demanded_by("START-05", "all pods bound, though none is Ready");
    test.until(bound, SCHEDULING, |live| live.bound() == 4).await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("START-05", || {
        let bound = history.waited_for(BOUND)?;
        let gangs = history.gangs(SET)?;
        binding::base_first(history, &gangs)?;
        binding::whole(&history.before(bound), &history.units(SET)?)?;
        history.reached(BOUND).map(drop)
    })]
}
