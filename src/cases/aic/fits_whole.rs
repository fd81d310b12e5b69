//! 3 nodes x 8 GPUs; a gang of 3 plain pods x 8 GPUs: it fits.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_history::History;
use conformance_judge::{finding, plain_gangs};

pub(crate) const CASE: Case =
    Case::new("A gang of plain pods that fits is bound whole and runs", |test| Box::pin(drive(test)), judge)
        .clauses(&["AIC-01"])
        .nodes(&[nodes(3).gpus(8)]);

const NAME: &str = "whole";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gang = test.submit_plain_gang(NAME).await?;
    test.until_gang_ready("AIC-01", &gang).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AIC-01", || plain_gangs::runs(&history.end(), &plain_gangs::gang(history, NAME)?))]
}
