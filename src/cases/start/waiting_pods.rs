//! 1 node; three PodCliqueSets of cliques `a`, `a-b` on their own and `b`, `b-a` in a scaling group of 3
//! replicas, 2 of them in the base. Startup is in order, explicit, and, with the cliques of the first, in any
//! order.

use conformance_contract::ruling::{Finding, Ruling};
use conformance_driver::case::{Case, Need, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_history::{History, MarkName};
use conformance_judge::{all, finding, startup};
use serde_json::Value;

const MADE: MarkName = MarkName::of_case("all pods made");

const IN_ORDER: &str = "queue";
const EXPLICIT: &str = "graph";
const ANY_ORDER: &str = "crowd";
const SETS: [&str; 3] = [IN_ORDER, EXPLICIT, ANY_ORDER];

pub(crate) const CASE: Case = Case::new(
    "Only pods of dependent cliques get an init container, for exactly their dependencies",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["START-01", "START-02", "START-10"])
.nodes(&[nodes(1)])
.needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for set in SETS {
        test.submit(set).await?;
    }
    for set in SETS {
        test.until_converged(set).await?;
    }
    test.mark(MADE, Value::Null);
    Ok(())
}

fn of_each(history: &History, sentence: fn(&History, &str) -> Ruling) -> Ruling {
    all(SETS.map(|set| sentence(history, set)))
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("START-01", || {
            of_each(history, startup::pods_wait)?;
            history.reached(MADE).map(drop)
        }),
        finding("START-02", || {
            of_each(history, startup::for_the_right_ones)?;
            history.reached(MADE).map(drop)
        }),
        finding("START-10", || {
            startup::same_hashes(history, IN_ORDER, ANY_ORDER)?;
            history.reached(MADE).map(drop)
        }),
    ]
}
