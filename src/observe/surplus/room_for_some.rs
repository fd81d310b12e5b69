//! 3 nodes x 8 GPUs; a gang of 4 pods x 8 GPUs with minimum 2: room for one of two surplus pods.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("A gang fits with some of its surplus pods, but not with all. How many pods are bound?")
        .answers(&["as-many-as-fit", "minimum-only", "less-than-minimum", "none"])
        .nodes(&[nodes(3).gpus(8)]);

const GANG: PlainGang = PlainGang::new("surplus", 2);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit(test, &GANG, 4).await?;
    steps::observe(test, "three pods bound", |live| seen::bound(live, &GANG) == 3).await
}

fn answer(history: &History) -> Answered {
    let bound = seen::bound(&seen::observed(history)?, &GANG);
    let word = match bound {
        0 => "none",
        1 => "less-than-minimum",
        2 => "minimum-only",
        _ => "as-many-as-fit",
    };
    Ok(Answer::new(word).count("bound", bound, "pods"))
}
