//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs, which fits. Volcano's admission requires the queue, so there
//! it exists until the gang waits for a cordoned node.

use conformance_driver::queues::QUEUE;

use super::{last_node, mark_end, submit_and_wait, until_bound};
use crate::prelude::*;

const SET: &str = "queueless";

pub(crate) const CASE: Case = case!("A waiting gang is bound soon after its queue is created")
    .clauses(&[WAKE_12])
    .nodes(&[nodes(2).gpus(8)]);

const OPEN: &[Attempt] = &[admitted("a PodCliqueSet in the open queue", |_| {})];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let queue = test.domain("queue");
    let mut pcs = test.manifest(SET)?;
    schedulers::of(test.target).enqueue(&mut pcs, &queue);
    if test.target.scheduler() == Scheduler::KAI {
        submit_and_wait(test, pcs).await?;
        mark_end(test, SET);
        test.create_kai_queue(&queue).await?;
    } else {
        test.create_volcano_queue(&queue).await?;
        test.retry_creates_until(&pcs, OPEN, REACTION).await?;
        wait_for_room(test, pcs, &queue).await?;
        mark_end(test, SET);
        test.create_volcano_queue(&queue).await?;
    }
    until_bound(test, SET).await
}

async fn wait_for_room(test: &mut TestContext, pcs: Value, queue: &str) -> Result<(), Stop> {
    let node = last_node(test);
    test.cordon(&node, true).await?;
    submit_and_wait(test, pcs).await?;
    test.delete(QUEUE, queue).await?;
    test.cordon(&node, false).await?;
    test.scheduler_passes().await
}

fn check(history: &History) -> Vec<Finding> {
    super::check(history, WAKE_12, SET)
}
