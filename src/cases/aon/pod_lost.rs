//! 4 nodes x 8 GPUs; a gang of 4 pods x 8 GPUs runs and loses one: only the lost pod's node has room.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::limits;
use conformance_expect::Expected;
use conformance_history::{History, SharedMark};
use conformance_judge::{binding, finding};

/// AON-11.
pub(crate) const CASE: Case = Case::new(
    "A lost pod of a running gang is replaced in the gang, and the others stay where they are",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["AON-11"])
.nodes(&[nodes(4).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("steady").await?;
    test.until_bound(4).await?;
    let lost = test.look(|live| live.pods().map(|pod| pod.name().to_owned()).next()).unwrap_or_default();
    test.lose_pod(&lost).await?;
    let replaced = format!("{lost} replaced");
    test.until(&replaced, limits::SCHEDULING, |live| live.get("Pod", &lost).is_none() && live.bound() == 4)
        .await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AON-11", || {
        let (since, mark) = history.reached(SharedMark::PodLost)?;
        let lost = mark.detail["name"].as_str().unwrap_or_default();
        binding::replaced(history, since, lost)?;
        binding::others_untouched(history, since, &[lost])?;
        binding::whole(&history.end(), &history.units("steady")?)
    })]
}
