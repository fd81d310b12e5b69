//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: room for one pod less.

use crate::causes::{self, GANG};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("Which objects are events about while a gang does not fit?")
        .answers(reports::IN_EVENTS)
        .nodes(&[nodes(2).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    causes::too_little_room(test).await
}

fn answer(history: &History) -> Answered {
    reports::in_events(&seen::passed(history)?, history.header.target, &GANG)
}
