//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: one pod short. Its minimum is raised to 4, and then two more
//! nodes join: room for all of its pods.

use crate::causes::GANG;
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "The minimum of a waiting gang is raised above its pods, and then there is room. Is the gang bound?"
)
.answers(reports::ON_REPLY)
.nodes(&[nodes(2).gpus(8), nodes(2).gpus(8).joining(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit_waiting(test, &GANG, GANG.minimum).await?;
    steps::change_spec(test, &GANG.minimum(GANG.minimum + 1)).await?;
    // The scheduler learns of the change before there is room.
    steps::full_pass(test).await?;
    test.add_nodes(1).await?;
    steps::observe_bound(test, &GANG, 0..GANG.minimum).await
}

fn answer(history: &History) -> Answered {
    reports::by_reply(history, &GANG, 0..GANG.minimum)
}
