//! 3 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits. Both are deleted, and a finalizer keeps them
//! Terminating on their nodes. Then one pod is created: together with these, it reaches the minimum.

use conformance_driver::context::Awaited;
use conformance_driver::limits;

use super::WITHOUT_MINIMUM;
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("Do Terminating pods count towards the minimum of their gang?")
        .answers(&["count", "do-not-count"])
        .not_on(WITHOUT_MINIMUM)
        .nodes(&[nodes(3).gpus(8)]);

const GANG: PlainGang = PlainGang::new("terminating", 2);
const LATER: usize = 2;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let observed = observe_while_terminating(test).await;
    for index in 0..2 {
        // If the driver stopped early, the pod may not exist.
        let _ = steps::release(test, &GANG, index).await;
    }
    observed
}

async fn observe_while_terminating(test: &mut TestContext) -> Result<(), Stop> {
    steps::create_resource(test, &GANG, |_| {}).await?;
    for index in 0..2 {
        steps::create_pod(test, &GANG, index, steps::kept).await?;
    }
    steps::until_bound(test, &GANG, 2).await?;
    for index in 0..2 {
        test.delete("Pod", &steps::pod_name(test, &GANG, index)).await?;
    }
    let terminating = Awaited::of_harness("both pods Terminating");
    test.until(terminating, limits::CLEANUP, |live| seen::bound(live, &GANG) == 0).await?;
    steps::changed(test);
    steps::observe_replacement(test, &GANG, LATER).await
}

fn answer(history: &History) -> Answered {
    reports::by_binding(history, &GANG, LATER..LATER + 1, ["count", "do-not-count"])
}
