//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits. Its minimum is lowered to 1. One pod replaces both.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "The minimum of a bound gang is lowered to 1. Then its pods are lost, and one is replaced. Is it bound?"
)
.answers(reports::ON_REPLY)
.nodes(&[nodes(2).gpus(8)]);

const GANG: PlainGang = PlainGang::new("lowered", 2);
const REPLACEMENT: usize = 2;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit_bound(test, &GANG, 2).await?;
    steps::change_spec(test, &GANG.minimum(1)).await?;
    for index in 0..2 {
        steps::lose_pod(test, &GANG, index).await?;
    }
    // The scheduler learns of the changes before it decides on the replacement.
    steps::full_pass(test).await?;
    steps::observe_replacement(test, &GANG, REPLACEMENT).await
}

fn answer(history: &History) -> Answered {
    reports::by_reply(history, &GANG, REPLACEMENT..REPLACEMENT + 1)
}
