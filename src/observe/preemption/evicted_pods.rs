//! 2 nodes x 8 GPUs; a bound gang of 2 pods x 8 GPUs, then a pod x 8 GPUs with a higher priority.

use conformance_driver::control_plane::restored;

use super::{GANG, URGENT, WITHOUT_PREEMPTION, preempt};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "A pod with a higher priority needs the node of a pod of a gang. Which pods are evicted?",
    restored
)
.answers(&["none", "one-pod", "whole-gang"])
.not_on(WITHOUT_PREEMPTION)
.isolation(Isolation::Exclusive)
.nodes(&[nodes(2).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    preempt(test).await?;
    steps::observe_bound(test, &URGENT, 0..1).await
}

fn answer(history: &History) -> Answered {
    let word = match seen::bound(&seen::observed(history)?, &GANG) {
        0 => "whole-gang",
        1 => "one-pod",
        _ => "none",
    };
    let after = seen::seconds_after_change(history, |live| seen::is_bound(live, &URGENT, 0));
    Ok(Answer::new(word).seconds("creation to binding", after))
}
