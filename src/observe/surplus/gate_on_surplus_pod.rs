//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs with minimum 2; one pod has a gate, which is removed later.

use crate::prelude::*;
use crate::seen::OBSERVED;

pub(crate) const OBSERVATION: Observation =
    question!("A surplus pod has a scheduling gate. Are the other pods of its gang bound?")
        .answers(&["bound", "held", "less-than-minimum"])
        .nodes(&[nodes(3).gpus(8)]);

const GANG: PlainGang = PlainGang::new("gated", 2);
const GATED: usize = 2;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::create_resource(test, &GANG, |_| {}).await?;
    // The other pods come later: otherwise they may be bound before the gate exists.
    steps::create_pod(test, &GANG, GATED, steps::gated).await?;
    steps::create_pods(test, &GANG, 0..GATED).await?;
    steps::settle(test, "two pods bound", |live| seen::bound(live, &GANG) == 2).await?;
    steps::changed(test);
    steps::remove_gate(test, &GANG, GATED).await?;
    steps::observe_bound(test, &GANG, 0..3).await
}

fn answer(history: &History) -> Answered {
    // The figure needs the state after the removal of the gate.
    history.reached(OBSERVED)?;
    let word = match seen::bound(&seen::before_change(history)?, &GANG) {
        0 => "held",
        1 => "less-than-minimum",
        _ => "bound",
    };
    let all = seen::seconds_after_change(history, |live| seen::bound(live, &GANG) == 3);
    Ok(Answer::new(word).seconds("gate removed to all bound", all))
}
