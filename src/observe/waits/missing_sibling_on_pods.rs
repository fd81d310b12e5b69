//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that fits. Its sibling does not exist.

use crate::causes::{self, GANG, WITHOUT_SIBLINGS};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("What reason do the pods report while a sibling of their gang is missing?")
        .answers(reports::ON_PODS)
        .not_on(WITHOUT_SIBLINGS)
        .nodes(&[nodes(3).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    causes::missing_sibling(test).await
}

fn answer(history: &History) -> Answered {
    reports::on_pods(&seen::passed(history)?, &GANG)
}
