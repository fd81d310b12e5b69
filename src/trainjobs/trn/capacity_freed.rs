//! 2 nodes x 8 GPUs; three TrainJobs of 2 pods x 8 GPUs each: one runs, two wait. A waiting TrainJob is
//! deleted, then the running TrainJob.

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Deleting a waiting TrainJob binds nothing; deleting a running one frees its room")
        .clauses(&[TRN_09, TRN_03, TRN_18])
        .nodes(&[nodes(2).gpus(8)]);

const RUNS: &str = "runs";
const WITHDRAWN: &str = "withdrawn";
const NEXT: &str = "next";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let train_job = test.submit_train_job(RUNS).await?;
    test.until_bound_of(TRN_18, RUNS, train_job.pods()).await?;
    for name in [WITHDRAWN, NEXT] {
        let train_job = test.submit_train_job(name).await?;
        test.until_considered(TRN_18, name, train_job.pods()).await?;
    }
    test.scheduler_passes().await?;
    test.delete("TrainJob", WITHDRAWN).await?;
    test.until_pods_of(TRN_09, WITHDRAWN, 0).await?;
    test.delete("TrainJob", RUNS).await?;
    test.until_bound_of(TRN_18, NEXT, train_job.pods()).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TRN_09, || {
            let (deleted, _) = history.reached(SharedMark::Deleted)?;
            let units = checks::units(history, WITHDRAWN)?;
            precondition(TRN_03, checks::never(history, &units, Some(deleted)))?;
            checks::never(history, &units, None)
        }),
        finding(TRN_03, || {
            let (passed, _) = history.reached(SharedMark::SchedulerPassed)?;
            checks::never(history, &checks::units(history, NEXT)?, Some(passed))
        }),
        finding(TRN_18, || {
            let (passed, _) = history.reached(SharedMark::SchedulerPassed)?;
            checks::whole(&history.before(passed), &checks::units(history, RUNS)?)?;
            if !history.marks(SharedMark::Deleted).any(|(_, mark)| mark.detail["name"] == RUNS) {
                return Err(Broken::NotReached(format!("TrainJob {RUNS} was not deleted")));
            }
            checks::whole(&history.end(), &checks::units(history, NEXT)?)
        }),
    ]
}
