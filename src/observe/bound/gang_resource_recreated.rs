//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits. Its gang resource is deleted and created again with
//! the same name. Then one pod is replaced.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "The gang resource of a bound gang is deleted and created again. Is the replacement of a pod bound?"
)
.answers(reports::ON_REPLY)
.nodes(&[nodes(2).gpus(8)]);

const GANG: PlainGang = PlainGang::new("recreated", 2);
const REPLACEMENT: usize = 2;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit_bound(test, &GANG, 2).await?;
    steps::recreate_resource(test, &GANG).await?;
    // The scheduler learns of the change before it decides on the replacement.
    steps::full_pass(test).await?;
    steps::lose_pod(test, &GANG, 1).await?;
    steps::observe_replacement(test, &GANG, REPLACEMENT).await
}

fn answer(history: &History) -> Answered {
    reports::by_reply(history, &GANG, REPLACEMENT..REPLACEMENT + 1)
}
