//! 2 nodes x 8 GPUs; a TrainJob of 2 pods x 8 GPUs runs, is suspended, and is resumed.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A suspended TrainJob has no pods and is bound whole when resumed")
    .clauses(&[TRN_24, TRN_12])
    .nodes(&[nodes(2).gpus(8)]);

const NAME: &str = "paused";

marks! { SUSPENDED = "suspended"; }

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let train_job = test.submit_train_job(NAME).await?;
    test.until_bound_of(TRN_18, NAME, train_job.pods()).await?;
    test.suspend(NAME, true).await?;
    test.until_pods_of(TRN_24, NAME, 0).await?;
    test.scheduler_passes().await?;
    test.mark(SUSPENDED, Value::Null);
    test.suspend(NAME, false).await?;
    test.until_bound_of(TRN_12, NAME, train_job.pods()).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TRN_24, || {
            let (suspended, _) = history.reached(SUSPENDED)?;
            checks::has_no_pods(history, NAME, suspended)
        }),
        finding(TRN_12, || {
            history.reached(SUSPENDED)?;
            checks::whole(&history.end(), &checks::units(history, NAME)?)?;
            checks::has_one_gang_each(history, NAME)
        }),
    ]
}
