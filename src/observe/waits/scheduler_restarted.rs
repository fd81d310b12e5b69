//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: one pod short. The scheduler restarts. Then a node joins.

use conformance_driver::control_plane::restored;

use crate::causes::GANG;
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "The scheduler is killed and started again while a gang waits. Is the gang bound once it fits?",
    restored
)
.answers(&["bound", "waits", "bound-before-it-fits"])
.isolation(Isolation::Exclusive)
.nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit_waiting(test, &GANG, GANG.minimum).await?;
    test.kill_scheduler().await?;
    test.start_scheduler().await?;
    // The new scheduler may list these canaries together with the gang, so later ones are needed too.
    test.canaries().await?;
    steps::full_pass(test).await?;
    steps::changed(test);
    test.add_nodes(1).await?;
    steps::observe_bound(test, &GANG, 0..GANG.minimum).await
}

fn answer(history: &History) -> Answered {
    let answer = reports::by_binding(history, &GANG, 0..GANG.minimum, ["bound", "waits"])?;
    match seen::bound(&seen::before_change(history)?, &GANG) {
        0 => Ok(answer),
        _ => Ok(Answer::new("bound-before-it-fits")),
    }
}
