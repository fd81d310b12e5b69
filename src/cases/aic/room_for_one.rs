//! 3 nodes x 8 GPUs; two gangs of 2 plain pods x 8 GPUs each: room for one. Then the running one is deleted.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_history::History;
use conformance_judge::{finding, plain_gangs};

pub(crate) const CASE: Case = Case::new(
    "With room for one of two plain-pod gangs, they run one after another",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["AIC-03", "AIC-04"])
.nodes(&[nodes(3).gpus(8)]);

const NAMES: [&str; 2] = ["first", "second"];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let mut gangs = Vec::new();
    for name in NAMES {
        gangs.push(test.submit_plain_gang(name).await?);
    }
    let place = test.until_one_gang_ready("AIC-03", &gangs).await?;
    test.scheduler_passes().await?;
    let first = gangs.remove(place);
    test.delete_plain_gang("AIC-04", &first).await?;
    test.until_one_gang_ready("AIC-04", &gangs).await.map(drop)
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("AIC-03", || plain_gangs::one_of(history, &NAMES)),
        finding("AIC-04", || plain_gangs::another_runs_in_its_room(history, &NAMES)),
    ]
}
