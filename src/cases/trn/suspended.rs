//! 2 nodes x 8 GPUs; a TrainJob of 2 pods x 8 GPUs runs, is suspended, and is resumed.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_history::{History, MarkName};
use conformance_judge::{finding, train_jobs};
use serde_json::Value;

pub(crate) const CASE: Case = Case::new(
    "A suspended TrainJob has no pods and is bound whole when resumed",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["TRN-24", "TRN-12"])
.nodes(&[nodes(2).gpus(8)]);

const NAME: &str = "paused";
const SUSPENDED: MarkName = MarkName::of_case("suspended");

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let train_job = test.submit_train_job(NAME).await?;
    test.until_bound_of("TRN-18", NAME, train_job.pods()).await?;
    test.suspend(NAME, true).await?;
    test.until_pods_of("TRN-24", NAME, 0).await?;
    test.scheduler_passes().await?;
    test.mark(SUSPENDED, Value::Null);
    test.suspend(NAME, false).await?;
    test.until_bound_of("TRN-12", NAME, train_job.pods()).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("TRN-24", || {
            let (suspended, _) = history.reached(SUSPENDED)?;
            train_jobs::has_no_pods(history, NAME, suspended)
        }),
        finding("TRN-12", || {
            history.reached(SUSPENDED)?;
            train_jobs::whole(&history.end(), &train_jobs::units(history, NAME)?)?;
            train_jobs::has_one_gang_each(history, NAME)
        }),
    ]
}
