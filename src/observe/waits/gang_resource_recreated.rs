//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: one pod short. Its gang resource is deleted and created again
//! with the same name. Then a third node joins.

use crate::causes::GANG;
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "The gang resource of a waiting gang is deleted and created again. Is the gang bound once it fits?"
)
.answers(reports::ON_REPLY)
.nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit_waiting(test, &GANG, GANG.minimum).await?;
    steps::recreate_resource(test, &GANG).await?;
    // The scheduler learns of the change before there is room.
    steps::full_pass(test).await?;
    test.add_nodes(1).await?;
    steps::observe_bound(test, &GANG, 0..GANG.minimum).await
}

fn answer(history: &History) -> Answered {
    reports::by_reply(history, &GANG, 0..GANG.minimum)
}
