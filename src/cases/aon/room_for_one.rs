//! 4 nodes x 8 GPUs; two gangs of 3 pods x 8 GPUs, from one PodCliqueSet and so at the same time: room for one of
//! them, and half for each. A third gang of 1 pod finds the node that the loser must not hold.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::binding::{self, scheduler_passed};
use conformance_judge::finding;

/// AON-04.
pub(crate) const CASE: Case = Case::new(
    "Of two gangs with room for one, one is bound whole and the other neither bound nor in the way",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["AON-04"])
.nodes(&[nodes(4).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit("rival").await? {
        test.until_released(&gang).await?;
    }
    test.scheduler_passes().await?;
    test.submit("tiny").await?;
    test.until_bound(4).await?;
    test.canaries().await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AON-04", || {
        let rivals: Vec<_> =
            history.gangs("rival")?.iter().map(|gang| gang.units(history.header.target)).collect();
        // Who wins is known when the scheduler has had its pass.
        scheduler_passed(history)?;
        binding::some_whole_others_never(history, &rivals, 1, None)?;
        binding::whole(&history.end(), &history.units("tiny")?)
    })]
}
