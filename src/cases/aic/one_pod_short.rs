//! 2 nodes x 8 GPUs; a gang of 3 plain pods x 8 GPUs: one pod short. Then a third node joins.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_history::History;
use conformance_judge::{finding, plain_gangs};

pub(crate) const CASE: Case = Case::new(
    "A gang of plain pods is bound only after the missing node joins",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["AIC-02", "AIC-04"])
.nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1)]);

const NAME: &str = "short";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gang = test.submit_plain_gang(NAME).await?;
    test.scheduler_passes().await?;
    test.room_comes(1).await?;
    test.until_gang_ready("AIC-04", &gang).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("AIC-02", || plain_gangs::waits(history, NAME)),
        finding("AIC-04", || plain_gangs::runs_in_new_room(history, NAME)),
    ]
}
