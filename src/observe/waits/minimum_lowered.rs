//! 3 nodes x 8 GPUs; 2 pods x 8 GPUs of a gang with minimum 3, which is then lowered to 2.

use crate::causes::GANG;
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("The minimum of a waiting gang is lowered to its number of pods. Is the gang bound?")
        .answers(reports::ON_REPLY)
        .nodes(&[nodes(3).gpus(8)]);

const LOWERED: usize = 2;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit_waiting(test, &GANG, LOWERED).await?;
    steps::change_spec(test, &GANG.minimum(LOWERED)).await?;
    steps::observe_bound(test, &GANG, 0..LOWERED).await
}

fn answer(history: &History) -> Answered {
    reports::by_reply(history, &GANG, 0..LOWERED)
}
