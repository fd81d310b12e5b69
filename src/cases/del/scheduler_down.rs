//! 4 nodes x 8 GPUs; a gang of 5 required pods and 1 surplus pod, each x 8 GPUs, waits: one pod short. The
//! case kills the scheduler, deletes the gang and restarts the scheduler. Then 2 more nodes join.

use super::pending_deleted;
use crate::prelude::*;

pub(crate) const CASE: Case = Case::new(
    "A restarted scheduler binds no pod of a gang deleted while it was down",
    |test| Box::pin(restored(test, |test| Box::pin(drive(test)))),
    pending_deleted::check,
)
.clauses(&[DEL_04, DEL_11])
.nodes(&[nodes(4).gpus(8), nodes(2).gpus(8).joining(1)])
.isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.take_baseline().await?;
    for gang in test.submit("pending").await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.kill_scheduler().await?;
    test.delete("PodCliqueSet", "pending").await?;
    test.until_nothing_left().await?;
    test.start_scheduler().await?;
    test.add_nodes(1).await?;
    test.canaries().await
}
