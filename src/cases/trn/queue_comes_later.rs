//! 2 nodes x 1 GPU; a TrainJob of 2 pods x 1 GPU in a queue that does not exist: there is room, but nothing
//! may be bound. Then the queue is created.

use conformance_contract::ruling::Finding;
use conformance_contract::target::Target;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_history::History;

use super::waited_whole;

pub(crate) const CASE: Case = Case::new(
    "A TrainJob waits until its queue exists and is then bound whole",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["TRN-03", "TRN-18", "TRN-19"])
.nodes(&[nodes(2).gpus(1)])
.only(&[Target::TRAINJOB_KAI]);

const NAME: &str = "queued";
const QUEUE: &str = "comes-later";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let train_job = test.submit_train_job(NAME).await?;
    test.until_looked_at("TRN-18", NAME, train_job.pods()).await?;
    test.scheduler_passes().await?;
    test.make_kai_queue(QUEUE).await?;
    test.until_bound_of("TRN-18", NAME, train_job.pods()).await
}

fn judge(history: &History) -> Vec<Finding> {
    waited_whole(history, NAME)
}
