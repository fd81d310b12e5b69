//! 1 node x 8 GPUs; a gang of 2 pods x 8 GPUs in a queue that only this case uses: one pod short. The
//! operator admits the gang. Then the case closes the queue to new gangs, and a second node joins.

use conformance_contract::names::VOLCANO_QUEUE;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A gang admitted to its queue is bound although the queue is closed later")
        .clauses(&[AON_03])
        .nodes(&[nodes(1).gpus(8), nodes(1).gpus(8).joining(1)])
        .on(Scheduler::VOLCANO);

const OPEN: &[Attempt] = &[admitted("a PodCliqueSet in the open queue", |_| {})];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let queue = test.domain("queue");
    test.create_volcano_queue(&queue).await?;
    let mut gang = test.manifest("locked-in")?;
    gang["metadata"]["annotations"][VOLCANO_QUEUE] = queue.clone().into();
    test.retry_creates_until(&gang, OPEN, REACTION).await?;
    for gang in test.submit_value(gang).await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.close_queue(&queue).await?;
    test.add_nodes(1).await?;
    test.until_bound(2).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(AON_03, || {
        let units = history.units("locked-in")?;
        precondition(AON_02, binding::never_until(history, &units, SharedMark::QueueClosed))?;
        binding::whole(&history.end(), &units)
    })]
}
