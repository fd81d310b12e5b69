//! 2 nodes x 8 GPUs; 2 pods x 8 GPUs, and after a full pass of the scheduler their gang resource: they fit.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("Pods exist before the gang resource that they name. When are they bound?")
        .answers(&["before-it-exists", "after-it-exists", "never"])
        .nodes(&[nodes(2).gpus(8)]);

const GANG: PlainGang = PlainGang::new("early", 2);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::create_pods(test, &GANG, 0..2).await?;
    steps::settle(test, "a pod bound", |live| seen::bound(live, &GANG) > 0).await?;
    steps::changed(test);
    steps::create_resource(test, &GANG, |_| {}).await?;
    steps::observe_bound(test, &GANG, 0..2).await
}

fn answer(history: &History) -> Answered {
    let answer = reports::by_binding(history, &GANG, 0..2, ["after-it-exists", "never"])?;
    match seen::bound(&seen::before_change(history)?, &GANG) {
        0 => Ok(answer),
        _ => Ok(Answer::new("before-it-exists")),
    }
}
