//! 3 nodes x 8 GPUs; 2 pods x 8 GPUs of a gang with minimum 3: one pod is missing.

use crate::causes::{self, GANG};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("What reason do the pods report while their gang has too few pods?")
        .answers(reports::ON_PODS)
        .nodes(&[nodes(3).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    causes::too_few_pods(test).await
}

fn answer(history: &History) -> Answered {
    reports::on_pods(&seen::passed(history)?, &GANG)
}
