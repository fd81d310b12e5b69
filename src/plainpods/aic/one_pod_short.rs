//! 2 nodes x 8 GPUs; a gang of 3 plain pods x 8 GPUs: one pod short. Then a third node joins.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A gang of plain pods is bound only after the missing node joins")
    .clauses(&[AIC_02, AIC_04])
    .nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1)]);

const NAME: &str = "short";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gang = test.submit_plain_gang(NAME).await?;
    test.scheduler_passes().await?;
    test.add_capacity(1).await?;
    test.until_gang_ready(AIC_04, &gang).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(AIC_02, || checks::waits(history, NAME)),
        finding(AIC_04, || checks::runs_in_new_capacity(history, NAME)),
    ]
}
