//! 2 nodes x 8 GPUs; a TrainJob of two replicated Jobs, 1 pod and 2 pods x 8 GPUs: only the first Job fits.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A TrainJob is not bound if its second replicated Job does not fit")
    .clauses(&[TRN_04])
    .nodes(&[nodes(2).gpus(8)]);

const NAME: &str = "half";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let train_job = test.submit_train_job(NAME).await?;
    test.until_considered(TRN_18, NAME, train_job.pods()).await?;
    test.scheduler_passes().await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TRN_04, || {
        let (barrier, _) = history.reached(SharedMark::SchedulerPassed)?;
        checks::never(history, &checks::units(history, NAME)?, Some(barrier))
    })]
}
