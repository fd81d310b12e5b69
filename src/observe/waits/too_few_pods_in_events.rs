//! 3 nodes x 8 GPUs; 2 pods x 8 GPUs of a gang with minimum 3: one pod is missing.

use crate::causes::{self, GANG};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("Which objects are events about while a gang has too few pods?")
        .answers(reports::IN_EVENTS)
        .nodes(&[nodes(3).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    causes::too_few_pods(test).await
}

fn answer(history: &History) -> Answered {
    reports::in_events(&seen::passed(history)?, history.header.target, &GANG)
}
