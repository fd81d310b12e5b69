//! A running TrainJob is deleted. A second one of its name runs, and is deleted with its runtime.

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Deleting a TrainJob deletes its objects, and its name can be used again")
        .clauses(&[TRN_08, TRN_18])
        .nodes(&[nodes(2).gpus(1)]);

const NAME: &str = "gone";
const RUNTIME: &str = "two";

marks! {
    AGAIN = "submitted again";
    RUNS = "runs again";
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.take_baseline().await?;
    let train_job = test.submit_train_job(NAME).await?;
    test.until_bound_of(TRN_18, NAME, train_job.pods()).await?;
    test.delete("TrainJob", NAME).await?;
    test.until_nothing_left().await?;
    test.mark(AGAIN, Value::Null);
    test.submit_train_job(NAME).await?;
    test.until_bound_of(TRN_18, NAME, train_job.pods()).await?;
    test.mark(RUNS, Value::Null);
    test.delete("TrainJob", NAME).await?;
    test.delete("TrainingRuntime", RUNTIME).await?;
    let deleted = Awaited::demanded_by(TRN_08, "the TrainJob and its runtime deleted");
    test.until(deleted, limits::CLEANUP, |live| {
        live.get("TrainJob", NAME).is_none() && live.get("TrainingRuntime", RUNTIME).is_none()
    })
    .await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TRN_08, || {
            history.reached(SharedMark::Deleted)?;
            let (again, _) = history.reached(AGAIN)?;
            cleanup::nothing_left(&history.upto(again))
        }),
        finding(TRN_18, || {
            let (runs, _) = history.reached(RUNS)?;
            checks::whole(&history.before(runs), &checks::units(history, NAME)?)
        }),
    ]
}
