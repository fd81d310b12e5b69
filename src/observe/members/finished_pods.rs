//! 3 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits. Both succeed. Then one pod is created: together with
//! the finished ones, it reaches the minimum.

use conformance_driver::context::Awaited;
use conformance_driver::limits;
use conformance_driver::pod_health::Containers;
use conformance_history::text;

use super::WITHOUT_MINIMUM;
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("Do finished pods count towards the minimum of their gang?")
        .answers(&["count", "do-not-count"])
        .not_on(WITHOUT_MINIMUM)
        .nodes(&[nodes(3).gpus(8)]);

const GANG: PlainGang = PlainGang::new("finished", 2);
const LATER: usize = 2;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit_bound(test, &GANG, 2).await?;
    // KWOK would overwrite the phase of a pod that is not Running yet.
    until_phase(test, "Running").await?;
    for index in 0..2 {
        test.set_pod_status(&steps::pod_name(test, &GANG, index), Containers::Succeeded).await?;
    }
    until_phase(test, "Succeeded").await?;
    steps::changed(test);
    steps::observe_replacement(test, &GANG, LATER).await
}

async fn until_phase(test: &TestContext, phase: &str) -> Result<(), Stop> {
    let state = Awaited::of_harness(format!("the pods {phase}"));
    let is_in_phase = |live: &Live| {
        let pods = seen::pods(live, &GANG);
        pods.iter().all(|pod| text(&pod.0["status"]["phase"]) == phase)
    };
    test.until(state, limits::CONTAINERS, is_in_phase).await
}

fn answer(history: &History) -> Answered {
    reports::by_binding(history, &GANG, LATER..LATER + 1, ["count", "do-not-count"])
}
