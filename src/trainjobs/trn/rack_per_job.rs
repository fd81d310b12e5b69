//! Racks a and b of 2 nodes x 8 GPUs; a TrainJob of two replicated Jobs of 2 pods x 8 GPUs each. Each Job
//! requires one rack, and no rack has room for both Jobs.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("Each replicated Job of a TrainJob is bound in one rack")
    .clauses(&[TRN_20])
    .nodes(&[nodes(2).gpus(8).rack("a"), nodes(2).gpus(8).rack("b")])
    .with_feature(Feature::TopologyPerJob);

const NAME: &str = "two-racks";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let train_job = test.submit_train_job(NAME).await?;
    test.until_bound_of(TRN_20, NAME, train_job.pods()).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TRN_20, || {
        checks::each_job_in_one_domain(history, NAME, RACK)?;
        checks::whole(&history.end(), &checks::units(history, NAME)?)
    })]
}
