//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs, which fits, in a queue with a limit of 8 GPUs: one pod short.

use super::{mark_end, submit_and_wait, until_bound};
use crate::prelude::*;

const SET: &str = "over-its-limit";

pub(crate) const CASE: Case = case!("A waiting gang is bound soon after the limit of its queue is raised")
    .clauses(&[WAKE_13])
    .nodes(&[nodes(2).gpus(8)])
    .on(Scheduler::KAI);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let queue = test.domain("queue");
    test.create_kai_queue(&queue).await?;
    test.limit_kai_queue(&queue, 8).await?;
    let mut pcs = test.manifest(SET)?;
    schedulers::of(test.target).enqueue(&mut pcs, &queue);
    submit_and_wait(test, pcs).await?;
    mark_end(test, SET);
    test.limit_kai_queue(&queue, -1).await?;
    until_bound(test, SET).await
}

fn check(history: &History) -> Vec<Finding> {
    super::check(history, WAKE_13, SET)
}
