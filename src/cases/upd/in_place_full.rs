//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs, all required: no room for another pod. Its template changes.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::Expected;
use conformance_history::{History, MarkName};
use conformance_judge::life::updates;
use conformance_judge::{binding, finding};
use serde_json::Value;

const UPDATED: MarkName = MarkName::of_case("every pod is new");

const SET: &str = "brimful";

pub(crate) const CASE: Case = Case::new(
    "An update of a gang that fills its nodes proceeds pod by pod",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["UPD-05"])
.nodes(&[nodes(3).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_converged(SET).await?;
    if test.revise(SET, "2").await? {
        test.until_updated(SET, "UPD-05").await?;
        test.mark(UPDATED, Value::Null);
    }
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("UPD-05", || {
        updates::are_admitted(history)?;
        updates::one_turn_at_a_time(history, SET)?;
        updates::only_old_is_taken(history, SET)?;
        let updated = history.waited_for(UPDATED)?;
        let live = history.before(updated);
        updates::through(&live, SET)?;
        binding::whole(&live, &history.units(SET)?)?;
        history.reached(UPDATED).map(drop)
    })]
}
