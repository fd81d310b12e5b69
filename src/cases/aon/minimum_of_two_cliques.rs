//! Two cliques of a pod that the gang needs and a surplus pod, each x 8 GPUs. 1 node x 8 GPUs: not even the minimum. With a
//! second node: one pod of each clique and nothing more, though the surplus of either would fit in the place of the other's
//! minimum. With a third and a fourth: all.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::limits;
use conformance_expect::Expected;
use conformance_history::{History, MarkName};
use conformance_judge::{all, binding, finding};
use serde_json::Value;

use super::room_for_one_of_two_cliques::{ATOMIC, is_atomic};

const TOO_SMALL: MarkName = MarkName::of_case("too small even for the minimum");
const ROOM_FOR_MINIMUM: MarkName = MarkName::of_case("room for the minimum");

/// AON-05, of two cliques.
pub(crate) const CASE: Case = Case::new(
    "With room for the minimum of two cliques one pod of each is bound, whatever surplus would fit there",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["AON-05"])
.nodes(&[nodes(1).gpus(8), nodes(1).gpus(8).joining(1), nodes(2).gpus(8).joining(2)])
.only(ATOMIC);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    if is_atomic(test.target).is_err() {
        return Ok(());
    }
    for gang in test.submit("stretched-pair").await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.mark(TOO_SMALL, Value::Null);
    test.nodes_join(1).await?;
    test.until_bound(2).await?;
    test.until("surplus released", limits::REACTION, |live| live.pods().all(|pod| pod.gates().is_empty()))
        .await?;
    test.canaries().await?;
    test.mark(ROOM_FOR_MINIMUM, Value::Null);
    test.nodes_join(2).await?;
    test.until_bound(4).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AON-05", || {
        is_atomic(history.header.target)?;
        let units = history.units("stretched-pair")?;
        // Until the second node joins nothing may be bound, however far the case came.
        let too_small = history.marks(TOO_SMALL).next().map(|(place, _)| place);
        all([binding::never(history, &units, too_small), history.reached(TOO_SMALL).map(drop)])?;
        binding::all_or_nothing(history, &units)?;
        let (just_enough, _) = history.reached(ROOM_FOR_MINIMUM)?;
        let then = history.before(just_enough);
        binding::exactly(&then, "stretched-pair-0-left", 1)?;
        binding::exactly(&then, "stretched-pair-0-right", 1)?;
        binding::all(&history.end(), &history.gangs("stretched-pair")?)
    })]
}
