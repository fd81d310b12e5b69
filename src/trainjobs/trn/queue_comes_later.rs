//! 2 nodes x 1 GPU; a TrainJob of 2 pods x 1 GPU, which fits, in a queue that is created later.

use super::waits_until_it_fits;
use crate::prelude::*;

pub(crate) const CASE: Case = case!("A TrainJob waits until its queue exists and is then bound whole")
    .clauses(&[TRN_27, TRN_18, TRN_19])
    .nodes(&[nodes(2).gpus(1)])
    .with_feature(Feature::QueueLabel);

const NAME: &str = "queued";
const QUEUE: &str = "comes-later";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let train_job = test.submit_train_job(NAME).await?;
    test.until_considered(TRN_18, NAME, train_job.pods()).await?;
    test.scheduler_passes().await?;
    test.create_kai_queue(QUEUE).await?;
    test.until_bound_of(TRN_18, NAME, train_job.pods()).await
}

fn check(history: &History) -> Vec<Finding> {
    waits_until_it_fits(history, NAME, TRN_27)
}
