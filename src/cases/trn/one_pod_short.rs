//! 2 nodes x 8 GPUs; a TrainJob of 3 pods x 8 GPUs: one pod short. Then a third node joins.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_history::History;

use super::waited_whole;

pub(crate) const CASE: Case = Case::new(
    "A TrainJob one pod short waits, reports why, and is bound with another node",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["TRN-03", "TRN-18", "TRN-19"])
.nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1)]);

const NAME: &str = "short";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let train_job = test.submit_train_job(NAME).await?;
    test.until_looked_at("TRN-18", NAME, train_job.pods()).await?;
    test.scheduler_passes().await?;
    test.nodes_join(1).await?;
    test.until_tried_again("TRN-18", NAME, train_job.pods()).await
}

fn judge(history: &History) -> Vec<Finding> {
    waited_whole(history, NAME)
}
