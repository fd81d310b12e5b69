//! 3 nodes x 8 GPUs; two TrainJobs of 2 pods x 8 GPUs each: room for one.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_history::{History, SharedMark};
use conformance_judge::{finding, train_jobs};

pub(crate) const CASE: Case = Case::new(
    "With room for one of two TrainJobs, one is bound whole, the other waits",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["TRN-03", "TRN-18"])
.nodes(&[nodes(3).gpus(8)]);

const NAMES: [&str; 2] = ["first", "second"];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for name in NAMES {
        let train_job = test.submit_train_job(name).await?;
        test.until_looked_at("TRN-18", name, train_job.pods()).await?;
    }
    test.scheduler_passes().await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("TRN-03", || {
            history.reached(SharedMark::SchedulerPassed)?;
            train_jobs::whole_or_never(history, &NAMES)
        }),
        finding("TRN-18", || {
            history.reached(SharedMark::SchedulerPassed)?;
            train_jobs::one_is_whole(history, &NAMES)
        }),
    ]
}
