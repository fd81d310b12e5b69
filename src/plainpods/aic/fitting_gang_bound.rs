//! 3 nodes x 8 GPUs; a gang of 3 plain pods x 8 GPUs: it fits.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A gang of plain pods that fits is bound whole and runs")
    .clauses(&[AIC_01])
    .nodes(&[nodes(3).gpus(8)]);

const NAME: &str = "whole";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gang = test.submit_plain_gang(NAME).await?;
    test.until_gang_ready(AIC_01, &gang).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(AIC_01, || checks::runs(&history.end(), &checks::gang(history, NAME)?))]
}
