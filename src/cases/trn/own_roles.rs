//! The lifecycle of a TrainJob; then the audit log shows what the API server denied to the trainer, JobSet
//! and the plugin.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Need, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_history::{History, MarkName};
use conformance_judge::{finding, train_jobs};
use serde_json::{Value, json};

pub(crate) const CASE: Case = Case::new(
    "The trainer, JobSet and the plugin are never denied an API request",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["TRN-10"])
.needs(&[Need::AuditLog])
.nodes(&[nodes(2).gpus(1)]);

const NAME: &str = "roles";
const FORBIDDEN: MarkName = MarkName::of_case("forbidden");

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let train_job = test.submit_train_job(NAME).await?;
    let bound = test.until_bound_of("TRN-10", NAME, train_job.pods()).await;
    if bound.is_ok() {
        test.suspend(NAME, true).await?;
        test.until_pods_of("TRN-10", NAME, 0).await?;
        test.delete("TrainJob", NAME).await?;
    }
    let forbidden = test.local()?.forbidden()?;
    let all: Vec<Value> =
        forbidden.into_iter().map(|one| json!({"user": one.user, "action": one.action})).collect();
    test.mark(FORBIDDEN, all.into());
    bound
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("TRN-10", || {
        let (_, mark) = history.reached(FORBIDDEN)?;
        train_jobs::nothing_forbidden(&mark.detail)?;
        history.reached(conformance_history::SharedMark::Deleted).map(drop)
    })]
}
