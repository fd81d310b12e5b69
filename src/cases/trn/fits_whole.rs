//! 3 nodes x 8 GPUs; a TrainJob of 3 pods x 8 GPUs: it fits.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_history::History;
use conformance_judge::{finding, train_jobs};

pub(crate) const CASE: Case =
    Case::new("A TrainJob that fits is bound whole as one gang", |test| Box::pin(drive(test)), judge)
        .clauses(&["TRN-18", "TRN-02", "TRN-14", "TRN-15"])
        .nodes(&[nodes(3).gpus(8)]);

const NAME: &str = "whole";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let train_job = test.submit_train_job(NAME).await?;
    test.until_bound_of("TRN-18", NAME, train_job.pods()).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("TRN-02", || train_jobs::is_one_tree(history, NAME)),
        finding("TRN-18", || train_jobs::whole(&history.end(), &train_jobs::units(history, NAME)?)),
        finding("TRN-14", || train_jobs::is_one_pod_group(history, NAME)),
        finding("TRN-15", || train_jobs::each_job_is_a_gang(history, NAME)),
    ]
}
