//! 3 nodes x 8 GPUs; 2 pods x 8 GPUs of a gang with minimum 3: one pod is missing.

use crate::causes::{self, GANG};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("What does the gang resource report while the gang has too few pods?")
        .answers(reports::ON_RESOURCE)
        .nodes(&[nodes(3).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    causes::too_few_pods(test).await
}

fn answer(history: &History) -> Answered {
    reports::on_resource(&seen::passed(history)?, history.header.target, &GANG)
}
