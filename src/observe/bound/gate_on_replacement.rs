//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs with minimum 2: it fits. Two pods are replaced. One
//! replacement has a scheduling gate, which is removed later.

use crate::prelude::*;
use crate::seen::OBSERVED;

pub(crate) const OBSERVATION: Observation =
    question!("A replacement in a bound gang has a scheduling gate. Is another replacement bound?")
        .answers(&["bound", "held"])
        .nodes(&[nodes(3).gpus(8)]);

const GANG: PlainGang = PlainGang::new("replaced", 2);
const GATED: usize = 3;
const FREE: usize = 4;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit_bound(test, &GANG, 3).await?;
    for lost in [1, 2] {
        steps::lose_pod(test, &GANG, lost).await?;
    }
    steps::create_pod(test, &GANG, GATED, steps::gated).await?;
    steps::create_pods(test, &GANG, FREE..FREE + 1).await?;
    steps::settle(test, "the replacement bound", |live| seen::is_bound(live, &GANG, FREE)).await?;
    steps::changed(test);
    steps::remove_gate(test, &GANG, GATED).await?;
    steps::observe_bound(test, &GANG, GATED..FREE + 1).await
}

fn answer(history: &History) -> Answered {
    // The figure needs the state after the removal of the gate.
    history.reached(OBSERVED)?;
    let is_bound = seen::is_bound(&seen::before_change(history)?, &GANG, FREE);
    let both = seen::seconds_after_change(history, |live| {
        seen::is_bound(live, &GANG, GATED) && seen::is_bound(live, &GANG, FREE)
    });
    Ok(Answer::new(if is_bound { "bound" } else { "held" }).seconds("gate removed to all bound", both))
}
