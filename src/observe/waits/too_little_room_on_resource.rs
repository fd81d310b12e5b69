//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: room for one pod less.

use crate::causes::{self, GANG};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("What does the gang resource report while the gang does not fit?")
        .answers(reports::ON_RESOURCE)
        .nodes(&[nodes(2).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    causes::too_little_room(test).await
}

fn answer(history: &History) -> Answered {
    reports::on_resource(&seen::passed(history)?, history.header.target, &GANG)
}
