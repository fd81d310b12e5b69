//! 3 nodes x 8 GPUs; a TrainJob of 3 pods x 8 GPUs: it fits.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A TrainJob that fits is bound whole as one gang")
    .clauses(&[TRN_18, TRN_02, TRN_14, TRN_15])
    .nodes(&[nodes(3).gpus(8)]);

const NAME: &str = "whole";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let train_job = test.submit_train_job(NAME).await?;
    test.until_bound_of(TRN_18, NAME, train_job.pods()).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TRN_02, || checks::is_one_tree(history, NAME)),
        finding(TRN_18, || checks::whole(&history.end(), &checks::units(history, NAME)?)),
        finding(TRN_14, || checks::is_one_pod_group(history, NAME)),
        finding(TRN_15, || checks::each_job_is_a_gang(history, NAME)),
    ]
}
