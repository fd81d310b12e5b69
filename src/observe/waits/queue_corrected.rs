//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that fits, in a queue that does not exist. Then its gang
//! resource names a queue that exists.

use crate::causes::{self, GANG, WITHOUT_QUEUES};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "A gang resource names a missing queue, and then a queue that exists. Is its waiting gang bound?"
)
.answers(reports::ON_REPLY)
.not_on(WITHOUT_QUEUES)
.nodes(&[nodes(3).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    causes::missing_queue(test).await?;
    steps::full_pass(test).await?;
    steps::change_spec(test, &GANG).await?;
    steps::observe_bound(test, &GANG, 0..GANG.minimum).await
}

fn answer(history: &History) -> Answered {
    reports::by_reply(history, &GANG, 0..GANG.minimum)
}
