//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: it fits. Then one pod is deleted and another one is created.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("A pod of a bound gang is lost and replaced. Is the replacement bound alone?")
        .answers(&["bound", "waits"])
        .nodes(&[nodes(3).gpus(8)]);

const GANG: PlainGang = PlainGang::new("losing", 3);
const REPLACEMENT: usize = 3;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit_bound(test, &GANG, 3).await?;
    steps::lose_pod(test, &GANG, 2).await?;
    steps::changed(test);
    steps::observe_replacement(test, &GANG, REPLACEMENT).await
}

fn answer(history: &History) -> Answered {
    reports::by_binding(history, &GANG, REPLACEMENT..REPLACEMENT + 1, ["bound", "waits"])
}
