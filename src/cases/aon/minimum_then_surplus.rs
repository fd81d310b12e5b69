//! A gang of 3 with 2 surplus pods, each x 8 GPUs. 2 nodes x 8 GPUs: not even the minimum. With a third node: the
//! minimum and nothing more. With a fourth and fifth: all.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::limits;
use conformance_expect::Expected;
use conformance_history::{History, MarkName};
use conformance_judge::{all, binding, finding};
use serde_json::Value;

const TOO_SMALL: MarkName = MarkName::of_case("too small even for the minimum");
const ROOM_FOR_MINIMUM: MarkName = MarkName::of_case("room for the minimum");

/// AON-05.
pub(crate) const CASE: Case = Case::new("Without room for the minimum nothing is bound, with just that room the minimum is, and surplus comes last", |test| Box::pin(drive(test)), judge)
    .clauses(&["AON-05"])
    .nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1), nodes(2).gpus(8).joining(2)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit("elastic").await?;
    for gang in &gangs {
        test.scheduler_passes_over(gang).await?;
    }
    test.mark(TOO_SMALL, Value::Null);
    test.nodes_join(1).await?;
    test.until_bound(3).await?;
    test.until("surplus released", limits::REACTION, |live| live.pods().all(|pod| pod.gates().is_empty()))
        .await?;
    test.canaries().await?;
    test.mark(ROOM_FOR_MINIMUM, Value::Null);
    test.nodes_join(2).await?;
    test.until_bound(5).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AON-05", || {
        let units = history.units("elastic")?;
        // Until the third node joins nothing may be bound, however far the case came.
        let too_small = history.marks(TOO_SMALL).next().map(|(place, _)| place);
        all([binding::never(history, &units, too_small), history.reached(TOO_SMALL).map(drop)])?;
        binding::all_or_nothing(history, &units)?;
        let (just_enough, _) = history.reached(ROOM_FOR_MINIMUM)?;
        binding::exactly(&history.before(just_enough), "elastic-0-worker", 3)?;
        binding::all(&history.end(), &history.gangs("elastic")?)
    })]
}
