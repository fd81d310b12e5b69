//! 3 nodes x 8 GPUs; two TrainJobs of 2 pods x 8 GPUs each: room for one.

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("With room for one of two TrainJobs, one is bound whole, the other waits")
        .clauses(&[TRN_03, TRN_18])
        .nodes(&[nodes(3).gpus(8)]);

const NAMES: [&str; 2] = ["first", "second"];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for name in NAMES {
        let train_job = test.submit_train_job(name).await?;
        test.until_considered(TRN_18, name, train_job.pods()).await?;
    }
    test.scheduler_passes().await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TRN_03, || {
            history.reached(SharedMark::SchedulerPassed)?;
            checks::whole_or_never(history, &NAMES)
        }),
        finding(TRN_18, || {
            history.reached(SharedMark::SchedulerPassed)?;
            checks::one_is_whole(history, &NAMES)
        }),
    ]
}
