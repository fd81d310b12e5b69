//! 3 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits. Both succeed. Then one pod is created: with the
//! finished ones it reaches the minimum.

use conformance_driver::context::Awaited;
use conformance_driver::limits;
use conformance_history::text;
use serde_json::json;

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("Do finished pods count towards the minimum of their gang?")
        .answers(&["count", "do-not-count"])
        .nodes(&[nodes(3).gpus(8)]);

const GANG: PlainGang = PlainGang::new("finished", 2);
/// The index of the pod that is created later.
const LATER: usize = 2;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit_bound(test, &GANG, 2).await?;
    // KWOK would set a pod that finishes earlier to Running.
    until_phase(test, "Running").await?;
    for index in 0..2 {
        let finished = json!({"status": {"phase": "Succeeded"}});
        test.patch_sub("Pod", &steps::pod_name(test, &GANG, index), "status", finished).await?;
    }
    until_phase(test, "Succeeded").await?;
    steps::changed(test);
    steps::create_pods(test, &GANG, LATER..LATER + 1).await?;
    steps::observe_bound(test, &GANG, LATER..LATER + 1).await
}

/// Waits until all pods of the gang are in a phase.
async fn until_phase(test: &TestContext, phase: &str) -> Result<(), Stop> {
    let state = Awaited::of_harness(format!("the pods {phase}"));
    let is_in_phase = |live: &Live| {
        let pods = seen::pods(live, &GANG);
        pods.iter().all(|pod| text(&pod.0["status"]["phase"]) == phase)
    };
    test.until(state, limits::CONTAINERS, is_in_phase).await
}

fn answer(history: &History) -> Answered {
    let live = seen::observed(history)?;
    let is_bound = |live: &Live| seen::is_bound(live, &GANG, LATER);
    let after = seen::seconds_after_change(history, is_bound);
    let word = if is_bound(&live) { "count" } else { "do-not-count" };
    Ok(Answer::new(word).seconds("creation to binding", after).notes(reports::pod_messages(&live, &GANG)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::prelude::*;

    #[rstest::rstest]
    #[case(Some("n"), "count")]
    #[case(None, "do-not-count")]
    fn the_binding_of_the_later_pod_is_the_answer(#[case] node: Option<&str>, #[case] wanted: &'static str) {
        let created = story().mark(CHANGED, Value::Null).added(pod(&GANG, LATER, node));
        assert_eq!(word(&OBSERVATION, created.mark(OBSERVED, Value::Null)), Ok(wanted));
    }
}
