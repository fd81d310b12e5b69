//! 2 nodes x 8 GPUs; a TrainJob of 2 pods x 8 GPUs, bound; one of its pods is lost.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A lost pod of a TrainJob is replaced and bound; the other pod stays")
    .clauses(&[TRN_11])
    .nodes(&[nodes(2).gpus(8)]);

const NAME: &str = "lost";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let train_job = test.submit_train_job(NAME).await?;
    test.until_bound_of(TRN_18, NAME, train_job.pods()).await?;
    let first = |live: &Live| live.pods().next().map(|pod| pod.name().to_owned());
    let lost = test.look(first).unwrap_or_default();
    test.force_delete_pod(&lost).await?;
    test.until("the lost pod deleted", REACTION, |live| live.get("Pod", &lost).is_none()).await?;
    test.until_bound_of(TRN_11, NAME, train_job.pods()).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TRN_11, || checks::is_replaced(history, NAME))]
}
