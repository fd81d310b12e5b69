//! 3 nodes x 8 GPUs; two gangs of 2 plain pods x 8 GPUs each: room for one. Then the running gang is deleted.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("With room for one of two plain-pod gangs, they run one after another")
    .clauses(&[AIC_03, AIC_04])
    .nodes(&[nodes(3).gpus(8)]);

const NAMES: [&str; 2] = ["first", "second"];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let mut gangs = Vec::new();
    for name in NAMES {
        gangs.push(test.submit_plain_gang(name).await?);
    }
    let place = test.until_one_gang_ready(AIC_03, &gangs).await?;
    test.scheduler_passes().await?;
    let first = gangs.remove(place);
    test.delete_plain_gang(AIC_04, &first).await?;
    test.until_one_gang_ready(AIC_04, &gangs).await.map(drop)
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(AIC_03, || checks::one_of(history, &NAMES)),
        finding(AIC_04, || checks::another_runs_in_freed_capacity(history, &NAMES)),
    ]
}
