//! Racks a and b have one node x 8 GPUs, rack c has 2 nodes x 8 GPUs; three TrainJobs of 2 pods x 8 GPUs
//! each, submitted one after the other. The first requires one rack, and c has room. The second also requires
//! one rack, but the 2 free nodes are in two racks. The third has no constraint and uses these two nodes.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A TrainJob that requires one rack is bound in one or waits")
    .clauses(&[TRN_05, TRN_14, TRN_18])
    .nodes(&[nodes(1).gpus(8).rack("a"), nodes(1).gpus(8).rack("b"), nodes(2).gpus(8).rack("c")])
    // TRN-14 also applies to other targets, but their TrainJobs cannot require a rack.
    .with_feature(Feature::TopologyRequired);

const TOGETHER: &str = "together";
const APART: &str = "apart";
const ANYWHERE: &str = "anywhere";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let train_job = test.submit_train_job(TOGETHER).await?;
    test.until_bound_of(TRN_18, TOGETHER, train_job.pods()).await?;
    test.submit_train_job(APART).await?;
    test.until_considered(TRN_18, APART, train_job.pods()).await?;
    test.scheduler_passes().await?;
    test.submit_train_job(ANYWHERE).await?;
    test.until_bound_of(TRN_18, ANYWHERE, train_job.pods()).await
}

fn check(history: &History) -> Vec<Finding> {
    let bound = |job| checks::whole(&history.end(), &checks::units(history, job)?);
    let placed = finding(TRN_05, || {
        checks::in_one_domain(history, TOGETHER, RACK)?;
        history.reached(SharedMark::SchedulerPassed)?;
        checks::never(history, &checks::units(history, APART)?, None)?;
        // Otherwise the two nodes may be unusable, regardless of their racks.
        precondition(TRN_18, bound(ANYWHERE))
    });
    let fitting = finding(TRN_18, || {
        bound(TOGETHER)?;
        bound(ANYWHERE)
    });
    vec![placed, finding(TRN_14, || checks::is_one_pod_group(history, TOGETHER)), fitting]
}
