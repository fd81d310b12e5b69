//! 4 nodes x 8 GPUs; a gang of 4 pods x 8 GPUs, which fits. Of its 4 bindings the harness lets 2 pass and holds 2; then
//! the scheduler is killed. The next one finds half a gang, and room for the other half.

use conformance_contract::ruling::{Broken, Finding};
use conformance_driver::binding_webhook::BindingHold;
use conformance_driver::case::{Case, Isolation, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::control_plane::restored;
use conformance_expect::Expected;
use conformance_history::{History, MarkName};
use conformance_judge::{binding, finding};
use serde_json::Value;

const KILLED: MarkName = MarkName::of_case("scheduler killed");

/// Bindings that pass before the scheduler is killed.
const PASSING: usize = 2;

/// AON-12, with a gang half bound.
pub(crate) const CASE: Case = Case::new(
    "The scheduler is killed between two bindings of a gang, and the one that follows binds the rest",
    |test| Box::pin(restored(test, |test| Box::pin(drive(test)))),
    judge,
)
.clauses(&["AON-12"])
.nodes(&[nodes(4).gpus(8)])
.isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let hold = BindingHold::begin(test, PASSING).await?;
    let killed = kill_half_way(test, &hold).await;
    hold.refuse_held(test).await?;
    killed?;
    test.start_scheduler().await?;
    test.until_bound(4).await
}

async fn kill_half_way(test: &mut TestContext, hold: &BindingHold) -> Result<(), Stop> {
    test.submit("half").await?;
    hold.until_held(test, 4 - PASSING).await?;
    test.until_bound(PASSING).await?;
    test.kill_scheduler().await?;
    test.mark(KILLED, Value::Null);
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AON-12", || {
        let (killed, _) = history.reached(KILLED)?;
        binding::exactly(&history.before(killed), "half-0-worker", PASSING)
            .map_err(|_| Broken::NotReached(format!("the gang was not caught with {PASSING} pods bound")))?;
        binding::others_untouched(history, killed, &[])?;
        binding::whole(&history.end(), &history.units("half")?)
    })]
}
