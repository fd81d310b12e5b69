//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs of another scheduler is bound, then one of the target is
//! submitted. The nodes are full of pods that the target's scheduler did not bind.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Need, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::binding::{self, scheduler_passed};
use conformance_judge::{all, finding};

use super::all_at_once::targets;

pub(crate) const CASE: Case = Case::new(
    "A gang is not bound to nodes filled by another scheduler's gang",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["COEX-03"])
.nodes(&[nodes(2).gpus(8)])
.needs(&[Need::SeveralSchedulers]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let scheduler = test.target.scheduler();
    let others = targets(test).into_iter().filter(|target| target.scheduler() != scheduler);
    for other in others.take(1) {
        let first = test.manifest_for(other, "first-there")?;
        test.submit_value(first).await?;
        test.until_bound(2).await?;
    }
    for gang in test.submit("second-there").await? {
        test.scheduler_passes_over(&gang).await?;
    }
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("COEX-03", || {
        binding::whole(&history.end(), &history.units("first-there")?)?;
        all([binding::never(history, &history.units("second-there")?, None), scheduler_passed(history)])
    })]
}
