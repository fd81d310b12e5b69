//! A TrainJob is created, suspended and deleted. Then the audit log shows which requests of the trainer,
//! JobSet and the plugin the API server denied.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("The trainer, JobSet and the plugin are never denied an API request")
    .clauses(&[TRN_10])
    .needs(&[Need::AuditLog])
    .nodes(&[nodes(2).gpus(1)]);

const NAME: &str = "roles";

marks! { FORBIDDEN = "forbidden"; }

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let ended = create_suspend_and_delete(test).await;
    let forbidden = test.local()?.forbidden()?;
    let all: Vec<Value> =
        forbidden.into_iter().map(|one| json!({"user": one.user, "action": one.action})).collect();
    test.mark(FORBIDDEN, all.into());
    ended
}

async fn create_suspend_and_delete(test: &mut TestContext) -> Result<(), Stop> {
    let train_job = test.submit_train_job(NAME).await?;
    test.until_bound_of(TRN_18, NAME, train_job.pods()).await?;
    test.suspend(NAME, true).await?;
    test.until_pods_of(TRN_24, NAME, 0).await?;
    test.delete("TrainJob", NAME).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TRN_10, || {
        let (_, mark) = history.reached(FORBIDDEN)?;
        checks::nothing_forbidden(&mark.detail)?;
        history.reached(SharedMark::Deleted).map(drop)
    })]
}
