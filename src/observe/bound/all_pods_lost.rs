//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits. Then both pods are deleted, and one is created.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("All pods of a bound gang are lost, and only one is replaced. Is the replacement bound alone?")
        .answers(&["bound", "waits"])
        .nodes(&[nodes(2).gpus(8)]);

const GANG: PlainGang = PlainGang::new("lost", 2);
const REPLACEMENT: usize = 2;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit_bound(test, &GANG, 2).await?;
    for index in 0..2 {
        steps::lose_pod(test, &GANG, index).await?;
    }
    // The scheduler learns of the deletions before it decides on the replacement.
    steps::full_pass(test).await?;
    steps::changed(test);
    steps::observe_replacement(test, &GANG, REPLACEMENT).await
}

fn answer(history: &History) -> Answered {
    reports::by_binding(history, &GANG, REPLACEMENT..REPLACEMENT + 1, ["bound", "waits"])
}
