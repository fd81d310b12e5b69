//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that fits, in a queue that does not exist.

use crate::causes::{self, GANG, WITHOUT_QUEUES};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("Which objects are events about while the queue of a gang is missing?")
        .answers(reports::IN_EVENTS)
        .not_on(WITHOUT_QUEUES)
        .nodes(&[nodes(3).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    causes::missing_queue(test).await
}

fn answer(history: &History) -> Answered {
    reports::in_events(&seen::passed(history)?, history.header.target, &GANG)
}
