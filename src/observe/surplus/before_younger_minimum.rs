//! 1 node x 8 GPUs; a gang of 2 pods x 8 GPUs with minimum 1: one surplus pod waits. A younger gang of
//! 1 pod x 8 GPUs waits too. Then a second node joins: room for one of them.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("A surplus pod of an older gang and a whole younger gang wait. Which of them gets free room?")
        .answers(&["the-surplus-pod", "the-younger-gang", "neither"])
        .nodes(&[nodes(1).gpus(8), nodes(1).gpus(8).joining(1)]);

const OLDER: PlainGang = PlainGang::new("older", 1);
const YOUNGER: PlainGang = PlainGang::new("younger", 1);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit(test, &OLDER, 2).await?;
    steps::until_bound(test, &OLDER, 1).await?;
    steps::submit_waiting(test, &YOUNGER, 1).await?;
    steps::changed(test);
    test.add_nodes(1).await?;
    steps::observe(test, "one of them bound", |live| has_surplus(live) || has_younger(live)).await
}

fn has_surplus(live: &Live) -> bool {
    seen::bound(live, &OLDER) == 2
}

fn has_younger(live: &Live) -> bool {
    seen::bound(live, &YOUNGER) == 1
}

fn answer(history: &History) -> Answered {
    let states: [reports::State; 2] = [("the-surplus-pod", has_surplus), ("the-younger-gang", has_younger)];
    reports::first_of(history, states)
}
