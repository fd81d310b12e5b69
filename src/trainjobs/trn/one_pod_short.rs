//! 2 nodes x 8 GPUs; a TrainJob of 3 pods x 8 GPUs: one pod short. Then a third node joins.

use super::waits_until_it_fits;
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A TrainJob one pod short waits, reports why, and is bound with another node")
        .clauses(&[TRN_03, TRN_18, TRN_19])
        .nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1)]);

const NAME: &str = "short";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let train_job = test.submit_train_job(NAME).await?;
    test.until_considered(TRN_18, NAME, train_job.pods()).await?;
    test.scheduler_passes().await?;
    test.add_nodes(1).await?;
    test.until_tried_again(TRN_18, NAME, train_job.pods()).await
}

fn check(history: &History) -> Vec<Finding> {
    waits_until_it_fits(history, NAME, TRN_03)
}
