//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits. A second gang of 1 pod x 8 GPUs waits. Then a pod of
//! the first gang is deleted, and its replacement is created.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("A younger gang waits for the place of a lost pod. Which of them gets it?")
        .answers(&["the-replacement", "the-waiting-gang", "neither"])
        .nodes(&[nodes(2).gpus(8)]);

const GANG: PlainGang = PlainGang::new("holder", 2);
const FILLER: PlainGang = PlainGang::new("filler", 1);
const REPLACEMENT: usize = 2;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit_bound(test, &GANG, 2).await?;
    steps::submit_waiting(test, &FILLER, 1).await?;
    steps::changed(test);
    steps::lose_pod(test, &GANG, 1).await?;
    steps::create_pods(test, &GANG, REPLACEMENT..REPLACEMENT + 1).await?;
    steps::observe(test, "one of them bound", |live| has_replacement(live) || has_filler(live)).await
}

fn has_replacement(live: &Live) -> bool {
    seen::is_bound(live, &GANG, REPLACEMENT)
}

fn has_filler(live: &Live) -> bool {
    seen::bound(live, &FILLER) > 0
}

fn answer(history: &History) -> Answered {
    let states: [reports::State; 2] =
        [("the-replacement", has_replacement), ("the-waiting-gang", has_filler)];
    reports::first_of(history, states)
}
