//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits. A second gang of 1 pod x 8 GPUs waits. Then a pod of
//! the first gang is deleted. A finalizer keeps it Terminating on its node, until its replacement waits too.

use conformance_driver::limits;

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "A replacement and a younger gang wait for the place of a Terminating pod. Which of them gets it?"
)
.answers(&["the-replacement", "the-waiting-gang", "neither"])
.nodes(&[nodes(2).gpus(8)]);

const GANG: PlainGang = PlainGang::new("holder", 2);
const FILLER: PlainGang = PlainGang::new("filler", 1);
const LOST: usize = 1;
const REPLACEMENT: usize = 2;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let observed = observe_place(test).await;
    // If the driver stopped early, the pod may still exist.
    let _ = steps::release(test, &GANG, LOST).await;
    observed
}

async fn observe_place(test: &mut TestContext) -> Result<(), Stop> {
    steps::create_resource(test, &GANG, |_| {}).await?;
    steps::create_pods(test, &GANG, 0..LOST).await?;
    steps::create_pod(test, &GANG, LOST, steps::kept).await?;
    steps::until_bound(test, &GANG, 2).await?;
    steps::next_second(test).await?;
    steps::submit_waiting(test, &FILLER, 1).await?;
    test.delete("Pod", &steps::pod_name(test, &GANG, LOST)).await?;
    steps::create_pods(test, &GANG, REPLACEMENT..REPLACEMENT + 1).await?;
    // Otherwise the pauses between two tries would decide, which grow with the number of tries.
    test.watch_for(limits::ANOTHER_TRY.length).await?;
    steps::full_pass(test).await?;
    steps::changed(test);
    steps::release(test, &GANG, LOST).await?;
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
